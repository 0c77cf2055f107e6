import { z } from 'zod';
import { sectionFileNameSchema } from '../../../definitions/schema/template-fields.ts';
import { compressSchema } from '../compress-schema.ts';

const csvOptionsSchema = z.strictObject({
  values: z
    .enum(['raw', 'formatted'])
    .optional()
    .describe(
      'raw, the default: numbers, ratios from 0 to 1, seconds, ISO dates. formatted: texts as a reader reads them, with their unit. In fr-CH they have a decimal comma, where LibreOffice expects a point: import them as French (France).',
    ),
  separator: z
    .enum(['comma', 'semicolon', 'tab'])
    .optional()
    .describe(
      'What separates the columns. Default: comma; in formatted files what Excel expects in the locale of the report, e.g. semicolon for de-CH and fr-FR.',
    ),
  raw: z
    .boolean()
    .optional()
    .describe(
      'true: texts that begin like a formula stay as they are. Dangerous: a spreadsheet that opens the file runs them. Default false: they get an apostrophe in front.',
    ),
  bom: z
    .boolean()
    .optional()
    .describe(
      'false: no byte order mark at the start, for programs that cannot read it. Default true: Excel needs it.',
    ),
});
export type CsvOptions = z.output<typeof csvOptionsSchema>;

export const csvSchema = z.strictObject({
  format: z.literal('csv'),
  name: sectionFileNameSchema
    .optional()
    .describe('File name, one file a section, e.g. "{{ section.id }} {{ period.label }}.csv".'),
  compress: compressSchema,
  csv: csvOptionsSchema.optional().describe('How the values are written.'),
});
export type CsvOutput = z.output<typeof csvSchema>;
