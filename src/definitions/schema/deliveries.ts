import { z } from 'zod';
import { secretRefSchema } from '../../base/secrets/secret.ts';
import type { DefinitionKinds, DeliverySpec } from './kinds.ts';
import { sendIfSchema } from './send-condition.ts';
import { csvNameSchema, workbookNameSchema } from './template-fields.ts';

const csvSchema = z.strictObject({
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

export const outputSchema = z.discriminatedUnion('format', [
  z.strictObject({
    format: z.literal('xlsx'),
    name: workbookNameSchema.optional().describe('File name, e.g. "KPIs {{ period.label }}.xlsx".'),
    password: secretRefSchema
      .optional()
      .describe(
        'Encrypts the file (AES-256); a reference, { env: NAME } or { file: PATH }, never the password itself.',
      ),
  }),
  z.strictObject({
    format: z.literal('csv'),
    name: csvNameSchema
      .optional()
      .describe('File name, one file a section, e.g. "{{ section.id }} {{ period.label }}.csv".'),
    csv: csvSchema.optional().describe('How the values are written.'),
  }),
]);
export type Output = z.infer<typeof outputSchema>;
export type CsvOptions = z.infer<typeof csvSchema>;
export type OutputFormat = Output['format'];
export const OUTPUT_FORMATS = ['xlsx', 'csv'] as const satisfies readonly OutputFormat[];

/** One entry of `deliveries`: the field of exactly one target, and `send_if`. */
export function createDeliverySchema({ targets, formats }: DefinitionKinds): z.ZodType<DeliverySpec> {
  const kinds = targets.map(({ kind }) => kind);
  const formatNames = formats.map(({ format }) => format);
  const fields = Object.fromEntries(targets.map(({ kind, schema }) => [kind, schema(formatNames).optional()]));
  return z
    .strictObject({ ...fields, send_if: sendIfSchema.optional() })
    .superRefine((delivery: DeliverySpec, context) => {
      // A misspelt target is one error, not also a missing one.
      if (context.issues.length > 0) return;
      const named = kinds.filter((kind) => delivery[kind] !== undefined);
      if (named.length === 1) return;
      context.addIssue({
        code: 'custom',
        message: `exactly one target (${kinds.slice(0, -1).join(', ')} or ${kinds.at(-1)}) per entry of the list`,
        params: {
          got: named.length === 0 ? 'none' : named.join(' and '),
          next: named.length === 0 ? 'add one' : 'begin a new entry ("- ") for each',
        },
      });
    });
}
