import { z } from 'zod';
import { secretRefSchema } from '../../../base/secrets/secret.ts';
import type { Output } from '../../../definitions/schema/kinds.ts';
import { fileNameSchema } from '../../../definitions/schema/template-fields.ts';
import { lineSchema } from '../../../definitions/schema/values/primitives.ts';

/** One entry of `outputs` in the format xlsx. */
export const xlsxOutputSchema = z.strictObject({
  format: z.literal('xlsx'),
  name: fileNameSchema.optional().describe('File name, e.g. "KPIs {{ period.label }}.xlsx".'),
  password: secretRefSchema
    .optional()
    .describe('Encrypts the file (AES-256); a reference, { env: NAME } or { file: PATH }, never the password itself.'),
  template: lineSchema(1000)
    .regex(/\.(xlsx|xlsm|xltx|xltm)$/i, 'a path that ends in .xlsx, .xlsm, .xltx or .xltm')
    .optional()
    .describe(
      'Your own workbook, whose tables and names are filled: its path from the folder of org.yaml, e.g. board.xlsx.',
    ),
  macros: z
    .enum(['keep', 'remove'])
    .optional()
    .describe('How the macros of a .xlsm or .xltm template are treated; they are kept by default.'),
});

export type XlsxOutput = z.output<typeof xlsxOutputSchema>;

/** The template of an output as its definition names it; undefined for other formats and without a template. */
export const templateOf = ({ format, template }: Output): string | undefined =>
  format === 'xlsx' && typeof template === 'string' ? template : undefined;

/** What distinguishes the files of workbooks with macros from those of others. */
export interface WorkbookKind {
  readonly extension: '.xlsx' | '.xlsm';
  readonly mediaType: string;
}

const PLAIN: WorkbookKind = {
  extension: '.xlsx',
  mediaType: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
};
const WITH_MACROS: WorkbookKind = {
  extension: '.xlsm',
  mediaType: 'application/vnd.ms-excel.sheet.macroEnabled.12',
};

/** The kind of file that an output makes. A template makes a workbook, not another template. */
export const workbookKind = ({ template, macros = 'keep' }: Pick<XlsxOutput, 'template' | 'macros'>): WorkbookKind =>
  template !== undefined && /\.(xlsm|xltm)$/i.test(template) && macros === 'keep' ? WITH_MACROS : PLAIN;
