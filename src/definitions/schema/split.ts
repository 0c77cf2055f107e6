import { z } from 'zod';
import { lineSchema } from './values/primitives.ts';

/** The most values with recipients, in a report or in its list file. */
export const MAX_SPLIT_VALUES = 2000;
const MAX_ADDRESSES = 100;

/** Used in place of a list of addresses: the delivery goes to those of each value. */
export const TO_SPLIT = 'split';

const addressesSchema = z
  .array(lineSchema(320))
  .min(1)
  .max(MAX_ADDRESSES, `at most ${MAX_ADDRESSES} addresses of one value`);

/** The form in which keys are compared, so that two that look the same are one value. */
export const valueKey = (value: string): string => value.normalize('NFC');

const recipientsSchema = z.record(lineSchema(200), addressesSchema).superRefine((values, context) => {
  const add = (path: string[], message: string, next: string) =>
    context.addIssue({ code: 'custom', path, message, params: { next } });
  const keys = Object.keys(values);
  if (keys.length === 0) add([], 'at least one value with its addresses', 'add one');
  if (keys.length > MAX_SPLIT_VALUES) add([], `at most ${MAX_SPLIT_VALUES} values`, 'make several reports of it');
  const first = new Map<string, string>();
  for (const key of keys) {
    if (first.has(valueKey(key)))
      add([key], 'each value once, compared after Unicode normalization', 'remove one of the two');
    else first.set(valueKey(key), key);
  }
});

/** `split` of a report. */
export const splitSchema = z.strictObject({
  by: lineSchema(200).describe(
    'Id of a dimension that the metrics of all split sections accept: each of its values gets a pack.',
  ),
  to: z
    .union([lineSchema(200), recipientsSchema], {
      error: 'addresses by value, or the name of a CSV file beside org.yaml',
    })
    .describe(
      'The addresses of each value; or a CSV file beside org.yaml with the columns value and address, one address per line, at most 2,000 lines.',
    ),
  others: z
    .union([z.enum(['hold', 'skip']), addressesSchema], { error: 'hold, skip, or a list of addresses' })
    .default('hold')
    .describe(
      'What happens to a value that has rows and no recipients. hold: its pack is created and not sent, and the owner is notified; skip: no pack; a list of addresses: each such pack is sent there.',
    ),
});
export type SplitSettings = z.infer<typeof splitSchema>;

/** A value of a split report, with the names that templates use. */
export interface Desk {
  readonly value: string;
  /** The catalog's name of the value. */
  readonly label: string;
  /** Letters, digits and a hash: safe as a file name, and different for every value. */
  readonly slug: string;
}

/** The addresses for each value. Throws if the list file was not read. */
export function splitRecipients({ to }: SplitSettings): ReadonlyMap<string, readonly string[]> {
  if (typeof to === 'string') throw new Error(`The list file ${to} was not read.`);
  return new Map(Object.entries(to));
}
