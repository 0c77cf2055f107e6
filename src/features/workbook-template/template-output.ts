import { z } from 'zod';
import type { Output, OutputFile } from '../../definitions/schema/kinds.ts';
import { lineSchema } from '../../definitions/schema/values/primitives.ts';

/** The fields of an xlsx output that uses a workbook of the organization. */
export const TEMPLATE_FIELDS = {
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
};

export type TemplateOutput = z.output<z.ZodObject<typeof TEMPLATE_FIELDS>>;

/** The template file of an output, if it has one. @param output parsed by its format */
export const templateFiles = ({ template }: Output | TemplateOutput): readonly OutputFile[] =>
  typeof template === 'string' ? [{ path: ['template'], file: template, what: 'workbook template' }] : [];

/** Whether the output's file has macros. The file is always a workbook, not another template. */
export const keepsMacros = ({ template, macros = 'keep' }: TemplateOutput): boolean =>
  template !== undefined && /\.(xlsm|xltm)$/i.test(template) && macros === 'keep';
