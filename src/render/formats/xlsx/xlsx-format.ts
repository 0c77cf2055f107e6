import { z } from 'zod';
import { secretRefSchema } from '../../../base/secrets/secret.ts';
import { fileNameSchema } from '../../../definitions/schema/template-fields.ts';
import { renderFileName } from '../../file-names.ts';
import type { Format } from '../format.ts';

const schema = z.strictObject({
  format: z.literal('xlsx'),
  name: fileNameSchema.optional().describe('File name, e.g. "KPIs {{ period.label }}.xlsx".'),
  password: secretRefSchema
    .optional()
    .describe('Encrypts the file (AES-256); a reference, { env: NAME } or { file: PATH }, never the password itself.'),
});

const DEFAULT_NAME_TEMPLATE = '{{ title }} {{ period.label }}';

/** An Excel workbook with one or more sheets per section. */
export const xlsxFormat: Format<z.output<typeof schema>> = {
  format: 'xlsx',
  schema,
  severalFiles: false,
  diagnostics: () => [],
  secrets: ({ password }) => (password === undefined ? {} : { password }),
  render: async (dataset, { name = DEFAULT_NAME_TEMPLATE }, context) => [
    {
      name: renderFileName(name, context.variables, '.xlsx'),
      format: 'xlsx',
      mediaType: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
      label: 'the workbook',
      write: async (path) => {
        const { writeWorkbook } = await import('./workbook.ts');
        await writeWorkbook(path, dataset, { ...context, password: context.secrets.password });
      },
    },
  ],
};
