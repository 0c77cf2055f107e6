import { z } from 'zod';
import { secretRefSchema } from '../base/secret.ts';
import { csvNameSchema, deliveryTextSchema, workbookNameSchema } from './template.ts';
import { lineSchema, notYet } from './words.ts';

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

const emailSchema = z.strictObject({
  to: z.array(lineSchema(320)).min(1).max(100).describe("Recipients; each must match the organization's `recipients`."),
  subject: deliveryTextSchema.optional().describe('Defaults to the title and the period.'),
  attach: z
    .array(z.enum(OUTPUT_FORMATS))
    .max(OUTPUT_FORMATS.length)
    .default([])
    .describe('Which of the outputs to attach.'),
});
const directorySchema = z.strictObject({
  path: deliveryTextSchema.describe('Folder, e.g. "out/{{ period.label }}"; made when it is not there.'),
});

const TARGETS = ['email', 'directory'] as const;

export const deliverySchema = z
  .strictObject({
    email: emailSchema.optional(),
    directory: directorySchema.optional(),
    s3: notYet('"s3" is'),
    sftp: notYet('"sftp" is'),
  })
  .superRefine((delivery, context) => {
    // A misspelt target is one fault, not also a missing one.
    if (context.issues.length > 0) return;
    const named = TARGETS.filter((target) => delivery[target] !== undefined);
    if (named.length === 1) return;
    context.addIssue({
      code: 'custom',
      message: 'exactly one target (email or directory) per entry of the list',
      params: {
        got: named.length === 0 ? 'none' : named.join(' and '),
        next: named.length === 0 ? 'add one' : 'begin a new entry ("- ") for each',
      },
    });
  });
export type DeliverySpec = z.infer<typeof deliverySchema>;
