import { z } from 'zod';
import { fileNameSchema } from '../../../definitions/schema/template-fields.ts';
import { renderFileName } from '../../file-names.ts';
import type { Format } from '../format.ts';
import { rowIssues } from './pdf-limits.ts';

const schema = z.strictObject({
  format: z.literal('pdf'),
  name: fileNameSchema.optional().describe('File name, e.g. "Board pack {{ period.label }}.pdf".'),
});

const DEFAULT_NAME_TEMPLATE = '{{ title }} {{ period.label }}';

/** The summary and the printed sections as one PDF/UA-1 document. Typst makes it in a process of its own. */
export const pdfFormat: Format<z.output<typeof schema>> = {
  format: 'pdf',
  label: 'PDF',
  schema,
  severalFiles: false,
  diagnostics: (_, sections) => rowIssues(sections),
  render: async (dataset, { name = DEFAULT_NAME_TEMPLATE }, context) => [
    {
      name: renderFileName(name, context.variables, '.pdf'),
      format: 'pdf',
      mediaType: 'application/pdf',
      label: 'the PDF',
      write: async (path) => {
        const { writePdf } = await import('./write-pdf.ts');
        await writePdf(path, dataset, context);
      },
    },
  ],
};
