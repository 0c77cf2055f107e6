import { z } from 'zod';
import { secretRefSchema } from '../../../base/secrets/secret.ts';
import { fileNameSchema } from '../../../definitions/schema/template-fields.ts';
import type { FilledWorkbook } from '../../artifact.ts';
import { renderFileName } from '../../file-names.ts';
import type { Format, FormatContext, PlannedFile } from '../format.ts';

/** An entry of `outputs` with the format xlsx. */
const xlsxOutputSchema = z.strictObject({
  format: z.literal('xlsx'),
  name: fileNameSchema.optional().describe('File name, e.g. "KPIs {{ period.label }}.xlsx".'),
  password: secretRefSchema
    .optional()
    .describe('Encrypts the file (AES-256); a reference, { env: NAME } or { file: PATH }, never the password itself.'),
});
export type XlsxOutput = z.output<typeof xlsxOutputSchema>;

/** How the files of workbooks with macros differ from those without. */
interface WorkbookKind {
  readonly extension: '.xlsx' | '.xlsm';
  readonly mediaType: string;
}

export const WITHOUT_MACROS: WorkbookKind = {
  extension: '.xlsx',
  mediaType: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
};
export const WITH_MACROS: WorkbookKind = {
  extension: '.xlsm',
  mediaType: 'application/vnd.ms-excel.sheet.macroEnabled.12',
};

const DEFAULT_NAME_TEMPLATE = '{{ title }} {{ period.label }}';

/**
 * Plans the file of a workbook. It is encrypted if the output has a password.
 * @param write writes the unencrypted file
 */
export const planWorkbook = (
  { name = DEFAULT_NAME_TEMPLATE }: Pick<XlsxOutput, 'name'>,
  { variables, secrets: { password } }: Pick<FormatContext, 'variables' | 'secrets'>,
  write: (path: string) => Promise<FilledWorkbook | undefined>,
  { extension, mediaType } = WITHOUT_MACROS,
): PlannedFile => ({
  name: renderFileName(name, variables, extension),
  format: 'xlsx',
  mediaType,
  label: 'the workbook',
  write: async (path) => {
    if (password === undefined) return write(path);
    const { writeEncrypted } = await import('./encryption.ts');
    return writeEncrypted(path, password, write);
  },
});

/** An Excel workbook: one or more sheets per section. */
export const xlsxFormat = {
  format: 'xlsx',
  label: 'Excel workbook',
  schema: xlsxOutputSchema,
  severalFiles: false,
  diagnostics: () => [],
  secrets: ({ password }) => (password === undefined ? {} : { password }),
  render: async (dataset, output, context) => [
    planWorkbook(output, context, async (path) => {
      const { writeWorkbook } = await import('./workbook.ts');
      await writeWorkbook(path, dataset, context);
      return undefined;
    }),
  ],
} satisfies Format<XlsxOutput>;
