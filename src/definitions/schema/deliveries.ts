import { z } from 'zod';
import type { DefinitionKinds, DeliverySpec } from './kinds.ts';
import { sendIfSchema } from './send-condition.ts';

/** One entry of `deliveries`: the field of exactly one target, `send_if` and `unprotected`. */
export function createDeliverySchema({ targets, formats }: DefinitionKinds): z.ZodType<DeliverySpec> {
  const kinds = targets.map(({ kind }) => kind);
  const formatNames = formats.map(({ format }) => format);
  const fields = Object.fromEntries(targets.map(({ kind, schema }) => [kind, schema(formatNames).optional()]));
  return z
    .strictObject({
      ...fields,
      send_if: sendIfSchema.optional(),
      unprotected: z
        .boolean()
        .optional()
        .describe(
          'true: this delivery may send figures in the clear that another output protects with a password. Default: false.',
        ),
    })
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
