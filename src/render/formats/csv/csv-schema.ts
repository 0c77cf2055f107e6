import { z } from 'zod';
import { sectionFileNameSchema } from '../../../definitions/schema/template-fields.ts';

const csvOptionsSchema = z.strictObject({
  values: z
    .enum(['raw', 'formatted'])
    .optional()
    .describe(
      'raw, the default: numbers, ratios from 0 to 1, seconds, ISO dates. formatted: texts as a reader reads them, with their unit.',
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
      'false: no byte order mark at the start, for programs that stumble over it. Default true: Excel needs it.',
    ),
});
export type CsvOptions = z.output<typeof csvOptionsSchema>;

export const csvSchema = z.strictObject({
  format: z.literal('csv'),
  name: sectionFileNameSchema
    .optional()
    .describe('File name, one file a section, e.g. "{{ section.id }} {{ period.label }}.csv".'),
  csv: csvOptionsSchema.optional().describe('How the values are written.'),
});
export type CsvOutput = z.output<typeof csvSchema>;
