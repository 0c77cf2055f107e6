import { sectionNameDiagnostics } from '../data-files.ts';
import type { Format } from '../format.ts';
import { type CsvOutput, csvSchema } from './csv-schema.ts';

/**
 * One CSV file per section, another for its totals, and a Table Schema for each. If there are several, an e-mail
 * attaches them as one zip.
 */
export const csvFormat: Format<CsvOutput> = {
  format: 'csv',
  label: 'CSV',
  schema: csvSchema,
  severalFiles: true,
  diagnostics: sectionNameDiagnostics,
  render: async (dataset, output, context) => {
    const { csvFiles } = await import('./csv-files.ts');
    return csvFiles(dataset, output, context);
  },
  bundle: async (files, context) => {
    const { zipFile } = await import('./csv-files.ts');
    return zipFile(files, context);
  },
};
