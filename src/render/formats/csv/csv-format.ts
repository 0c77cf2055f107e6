import { usesSection } from '../../../definitions/schema/template-fields.ts';
import type { Format } from '../format.ts';
import { type CsvOutput, csvSchema } from './csv-schema.ts';

/** One CSV file per section, another for its totals, and a Table Schema for each. An e-mail attaches several as one zip. */
export const csvFormat: Format<CsvOutput> = {
  format: 'csv',
  schema: csvSchema,
  severalFiles: true,
  diagnostics: ({ name }, sections) =>
    name === undefined || sections.length < 2 || usesSection(name)
      ? []
      : [
          {
            path: ['name'],
            expected: 'a name of its own for the file of each section',
            next: 'put {{ section.id }} into the name',
          },
        ],
  render: async (dataset, output, context) => {
    const { csvFiles } = await import('./csv-files.ts');
    return csvFiles(dataset, output, context);
  },
  bundle: async (files, context) => {
    const { zipFile } = await import('./csv-files.ts');
    return zipFile(files, context);
  },
};
