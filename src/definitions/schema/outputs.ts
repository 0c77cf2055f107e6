import { z } from 'zod';
import type { DefinitionKinds, Output } from './kinds.ts';

/** One entry of `outputs`: the schema of the format that it names. Throws without any format. */
export function createOutputSchema({ formats }: Pick<DefinitionKinds, 'formats'>): z.ZodType<Output> {
  const [first, ...others] = formats.map(({ schema }) => schema);
  if (first === undefined) throw new Error('No output format is registered.');
  // Each of them has a literal `format`, see FormatSchema.
  return z.discriminatedUnion('format', [first, ...others]) as z.ZodType<unknown> as z.ZodType<Output>;
}
