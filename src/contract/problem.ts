import { z } from 'zod';

/** Stable problem codes, with their status (specification §7). */
export const PROBLEM_CODES = {
  'auth.invalid_credentials': 401,
  'auth.token_expired': 401,
  permission_denied: 403,
  'auth.permission_denied': 403,
  'analytics.unknown_metric': 422,
  'analytics.incompatible_dimension': 422,
  'analytics.invalid_filter': 422,
  'analytics.range_too_large': 422,
  'analytics.cardinality_exceeded': 422,
  'validation.failed': 422,
  'rate.throttled': 429,
} as const;

const textSchema = z.string().optional().catch(undefined);

/**
 * An error body (specification §7). A 422 has `errors`. Every field is optional, because a proxy may have responded.
 * Invalid fields count as missing.
 */
export const problemSchema = z.looseObject({
  detail: textSchema,
  code: textSchema,
  correlation_id: textSchema,
  errors: z
    .array(
      z.looseObject({
        pointer: textSchema,
        code: textSchema,
        detail: textSchema,
        metadata: z.record(z.string(), z.unknown()).optional().catch(undefined),
      }),
    )
    .optional()
    .catch(undefined),
});
export type Problem = z.infer<typeof problemSchema>;
