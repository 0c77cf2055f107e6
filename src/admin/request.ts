import { z } from 'zod';
import { toDocketError } from '../base/error.ts';
import { type PeriodSpec, periodSpecSchema } from '../define/definition.ts';
import { parsePeriod } from '../define/period.ts';
import { DELIVERY_STATES } from '../queue/decisions.ts';
import { type ProblemDetail, problem } from './problem.ts';

/** Bytes of a body. */
const MOST_BODY = 64 * 1024;

/** A period as people write it (`2026-09`, `last_30_days`) or as a definition does (`{ from, to }`). */
const periodSchema = z.unknown().transform((value, context): PeriodSpec => {
  if (typeof value !== 'string') {
    const spec = periodSpecSchema.safeParse(value);
    if (spec.success) return spec.data;
    for (const { message, path } of spec.error.issues) context.addIssue({ code: 'custom', message, path: [...path] });
    return z.NEVER;
  }
  try {
    return parsePeriod(value);
  } catch (error) {
    context.addIssue({ code: 'custom', message: `expected ${toDocketError(error).expected ?? 'a period'}` });
    return z.NEVER;
  }
});

/** The body of `POST /api/reports/{org}/{report}/runs`; all of it may be left out. */
export const triggerBodySchema = z.strictObject({
  period: periodSchema.optional(),
  deliver: z.boolean().default(true),
});
/** The body, with its defaults. */
export type TriggerBody = z.infer<typeof triggerBodySchema>;

const reasonSchema = z
  .string()
  .trim()
  .min(1)
  .max(500)
  .regex(/^\P{Cc}*$/u, 'one line');

/** The body of `POST /api/runs/{id}/retry`, `…/release` and `…/cancel`. */
export const reasonBodySchema = z.strictObject({ reason: reasonSchema });
/** The body of `POST /api/deliveries/{id}/resolve`. */
export const resolveBodySchema = z.strictObject({ as: z.enum(['sent', 'resend']), reason: reasonSchema });

/** The query of `GET /api/deliveries`. */
export const deliveriesQuerySchema = z.strictObject({
  org: z.string().optional(),
  report: z.string().optional(),
  run: z
    .string()
    .regex(/^[0-9a-f]{32}$/, '32 hex digits')
    .optional(),
  state: z.enum(DELIVERY_STATES).optional(),
  limit: z.coerce.number({ error: 'a number from 1 to 500' }).int().min(1).max(500).default(50),
});

/** The query of `GET /api/runs`. */
export const listQuerySchema = z.strictObject({
  org: z.string().optional(),
  report: z.string().optional(),
  limit: z.coerce.number({ error: 'a number from 1 to 500' }).int().min(1).max(500).default(50),
});

/** The header by which a trigger may be repeated. */
export const idempotencyKeySchema = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, 'Idempotency-Key: 1 to 255 visible ASCII characters');

/** Where and what each fault is, without the values: they may be anything. */
export const faults = (error: z.ZodError): NonNullable<ProblemDetail['errors']> =>
  error.issues.map(({ path, message }) => ({
    pointer: path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''),
    detail: message,
  }));

/** The body, or the problem with it. An empty body is an empty object, whatever it says it is. */
export async function readBody<Body>(request: Request, schema: z.ZodType<Body>): Promise<Body | Response> {
  const text = await readText(request);
  if (text === undefined) {
    return problem('request.too_large', { expected: `at most ${MOST_BODY} bytes` }, { Connection: 'close' });
  }
  let body: unknown = {};
  if (text !== '') {
    const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
    if (type !== 'application/json') {
      return problem(
        'request.unsupported_media_type',
        { expected: 'Content-Type: application/json' },
        { Accept: 'application/json' },
      );
    }
    try {
      body = JSON.parse(text);
    } catch {
      return problem('request.malformed', { detail: 'The body is not JSON.' });
    }
  }
  const parsed = schema.safeParse(body);
  return parsed.success ? parsed.data : problem('request.invalid', { errors: faults(parsed.error) });
}

/** The body as text; undefined as soon as it grows past the limit, however its length was announced. */
async function readText(request: Request): Promise<string | undefined> {
  if (request.body === null) return '';
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of request.body) {
    size += piece.byteLength;
    if (size > MOST_BODY) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}
