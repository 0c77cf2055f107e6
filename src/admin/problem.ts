import { z } from 'zod';
import { type DocketError, ERRORS, type ErrorCode } from '../base/error.ts';

/** Problems of requests; those of Docket's error table come with their own codes. */
export const REQUEST_PROBLEMS = {
  'auth.missing': { status: 401, title: 'A bearer token is needed' },
  'auth.invalid': { status: 401, title: 'The token is not accepted' },
  'auth.expired': { status: 401, title: 'The token has expired' },
  'auth.forbidden': { status: 403, title: 'The token may not do this' },
  'auth.throttled': { status: 429, title: 'Too many refused tokens from this address' },
  'auth.cross_site': { status: 403, title: 'The request did not come from a page of this site' },
  'request.throttled': { status: 429, title: 'Too many requests' },
  'request.too_many_streams': { status: 429, title: 'Too many streams are open' },
  'request.misdirected': { status: 421, title: 'This host is not served here' },
  'request.malformed': { status: 400, title: 'The request cannot be read' },
  'request.invalid': { status: 422, title: 'The request is not valid' },
  'request.not_found': { status: 404, title: 'There is nothing here' },
  'request.method_not_allowed': { status: 405, title: 'This method is not supported here' },
  'request.too_large': { status: 413, title: 'The body is too large' },
  'request.unsupported_media_type': { status: 415, title: 'The body is of another type than is declared' },
  'request.timeout': { status: 408, title: 'The request took too long to arrive' },
  'request.headers_too_large': { status: 431, title: 'The headers are too large' },
  'server.failed': { status: 500, title: 'Something went wrong here' },
} as const;
/** A key of the table above. */
export type ProblemCode = keyof typeof REQUEST_PROBLEMS;

/** RFC 9457, with our own members `code`, `expected`, `got`, `next` and `errors`. */
export const problemSchema = z
  .object({
    type: z
      .string()
      .describe('`urn:docket:problem:` and the code.')
      .meta({ example: 'urn:docket:problem:run.conflict' }),
    title: z.string().describe('The same for every problem of its type.'),
    status: z.int(),
    code: z.string().describe('Stable: programs may go by it.').meta({ example: 'run.conflict' }),
    detail: z.string().optional().describe('What happened this time, in one sentence.'),
    expected: z.string().optional(),
    got: z.string().optional(),
    next: z.string().optional().describe('What to do.'),
    errors: z
      .array(
        z.object({
          pointer: z.string().describe('JSON Pointer into the body or the query; empty: all of it.'),
          detail: z.string(),
        }),
      )
      .readonly()
      .optional()
      .describe('Each fault of an invalid request; values are not repeated.'),
    delivered: z
      .object({
        run: z.string().describe('The run that delivered.'),
        period: z.object({ from: z.string(), to: z.string(), timezone: z.string(), label: z.string() }),
        at: z.string().describe('Its last delivery, ISO 8601.'),
        people: z.int().describe('Mailboxes that have received it.'),
        targets: z.int().describe('SFTP servers, buckets and webhooks that have received it.'),
        uncertain: z.int().describe('Deliveries of which nobody knows whether they arrived.'),
      })
      .optional()
      .describe('Of `already_delivered`: the delivery that was found.'),
  })
  .meta({ id: 'Problem', description: 'RFC 9457.' });

/** The members that a problem may have beside those of its code. */
export type ProblemDetail = Partial<
  Pick<z.infer<typeof problemSchema>, 'detail' | 'expected' | 'got' | 'next' | 'errors'>
>;

/** A problem of the table as a response. */
export function problem(
  code: ProblemCode,
  detail: ProblemDetail = {},
  headers: Readonly<Record<string, string>> = {},
): Response {
  const { status, title } = REQUEST_PROBLEMS[code];
  return answer({ type: `urn:docket:problem:${code}`, title, status, code, ...detail }, headers);
}

const SERVICE_AWAY = { status: 503, title: 'The Compliance Service does not answer' };

/** Errors of Docket's table that a request may meet and that are no defect. */
const ERROR_PROBLEMS: Partial<Record<ErrorCode, { readonly status: number; readonly title: string }>> = {
  'usage.invalid': { status: 422, title: 'The request is not valid' },
  'definition.invalid': { status: 422, title: 'The definition has a fault' },
  'plan.invalid': { status: 422, title: 'The report cannot be planned' },
  'deliver.recipient_refused': { status: 422, title: 'A recipient is not allowed' },
  'catalog.missing': { status: 409, title: 'No metric catalog is at hand' },
  'api.unreachable': SERVICE_AWAY,
  'api.timeout': SERVICE_AWAY,
  'api.unavailable': SERVICE_AWAY,
  'api.unreadable': SERVICE_AWAY,
  'api.throttled': SERVICE_AWAY,
  'api.unauthorized': SERVICE_AWAY,
  'api.forbidden': SERVICE_AWAY,
  'api.not_found': SERVICE_AWAY,
  'definition.busy': { status: 503, title: 'Too many definitions are being checked' },
  'definition.not_found': { status: 404, title: 'There is no such report' },
  'run.not_found': { status: 404, title: 'There is no such run' },
  'delivery.not_found': { status: 404, title: 'There is no such delivery' },
  'run.ambiguous': { status: 409, title: 'Several runs have this id' },
  'delivery.ambiguous': { status: 409, title: 'Several deliveries have this id' },
  'run.conflict': { status: 409, title: 'The run does not allow this' },
  already_delivered: { status: 409, title: 'The report was delivered for this period already' },
  'delivery.conflict': { status: 409, title: 'The delivery does not allow this' },
  'archive.corrupt': { status: 500, title: 'The archived files are not what was sealed' },
  'archive.unreachable': { status: 503, title: 'The archive does not answer' },
  'archive.unwritable': { status: 503, title: 'The archive cannot be written' },
  'archive.key_unknown': { status: 503, title: 'The archive is signed with a key that is not known' },
  'archive.marker_missing': { status: 503, title: 'The archive is not there' },
  'archive.marker_changed': { status: 503, title: 'The archive is another one' },
  'deployment.conflict': { status: 503, title: 'The archive and Redis belong to different deployments' },
  'redis.unreachable': { status: 503, title: 'Redis does not answer' },
  'redis.unauthorized': { status: 503, title: 'Redis rejected the credentials' },
  'redis.out_of_memory': { status: 503, title: 'Redis is out of memory' },
  'redis.unwritable': { status: 503, title: 'Redis accepts no writes' },
  'redis.wrong_type': { status: 500, title: 'A key in Redis holds another type' },
  'redis.script_failed': { status: 500, title: 'A script failed in Redis' },
  'redis.unsuitable': { status: 503, title: 'Redis cannot be used' },
};

const isOwn = (code: string): code is ProblemCode => code in REQUEST_PROBLEMS;

/** An error of Docket's table as a problem; what is nobody's mistake says nothing of its inside. */
export function problemOf(error: DocketError): Response {
  const { code, message, expected, got, next, delivered } = error.toJSON();
  const said = { ...(expected === undefined ? {} : { expected }), ...(got === undefined ? {} : { got }) };
  const todo = next === undefined ? {} : { next };
  if (isOwn(code)) return problem(code, { detail: message, ...said, ...todo });
  const known = ERROR_PROBLEMS[code];
  if (known === undefined) {
    return problem('server.failed', { detail: 'The log of the server has the reason.', next: 'Ask its operator.' });
  }
  const { status, title } = known;
  return answer(
    {
      type: `urn:docket:problem:${code}`,
      title,
      status,
      code,
      ...(status < 500 ? { detail: message, ...said, ...todo } : {}),
      ...(delivered === undefined ? {} : { delivered }),
    },
    ERRORS[code].retryable ? { 'Retry-After': '5' } : {},
  );
}

const answer = (body: z.infer<typeof problemSchema>, headers: Readonly<Record<string, string>>): Response =>
  new Response(JSON.stringify(body), {
    status: body.status,
    headers: { 'Content-Type': 'application/problem+json', ...headers },
  });
