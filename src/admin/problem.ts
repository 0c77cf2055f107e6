import { z } from 'zod';
import { type DocketError, ERRORS, type ErrorCode } from '../base/error.ts';

/** Problems of requests. Errors of Docket's error table become problems with their own codes. */
export const REQUEST_PROBLEMS = {
  'auth.missing': { status: 401, title: 'A bearer token is required' },
  'auth.invalid': { status: 401, title: 'The token is not accepted' },
  'auth.expired': { status: 401, title: 'The token has expired' },
  'auth.forbidden': { status: 403, title: 'The token may not do this' },
  'auth.throttled': { status: 429, title: 'Too many refused tokens from this address' },
  'auth.cross_site': { status: 403, title: 'The request did not come from a page of this site' },
  'request.throttled': { status: 429, title: 'Too many requests' },
  'request.too_many_streams': { status: 429, title: 'Too many streams are open' },
  'request.misdirected': { status: 421, title: 'Unknown host name' },
  'request.malformed': { status: 400, title: 'The request is malformed' },
  'request.invalid': { status: 422, title: 'The request is not valid' },
  'request.not_found': { status: 404, title: 'Not found' },
  'request.method_not_allowed': { status: 405, title: 'This method is not supported here' },
  'request.too_large': { status: 413, title: 'The body is too large' },
  'request.unsupported_media_type': { status: 415, title: 'Unsupported media type' },
  'request.timeout': { status: 408, title: 'The request took too long to arrive' },
  'request.headers_too_large': { status: 431, title: 'The headers are too large' },
  'server.failed': { status: 500, title: 'Internal error' },
} as const;
/** A key of the table above. */
export type ProblemCode = keyof typeof REQUEST_PROBLEMS;

const deliveredSchema = z.object({
  run: z.string().describe('The run that delivered.'),
  period: z.object({ from: z.string(), to: z.string(), timezone: z.string(), label: z.string() }),
  at: z.string().describe('Its last delivery, ISO 8601.'),
  people: z.int().describe('Mailboxes that have received it.'),
  targets: z.int().describe('SFTP servers, buckets, webhooks and channels that have received it.'),
  uncertain: z.int().describe('Deliveries that may have arrived.'),
});

/** A problem (RFC 9457), extended by `code`, `expected`, `got`, `next`, `errors` and `delivered`. */
export const problemSchema = z
  .object({
    type: z
      .string()
      .describe('`urn:docket:problem:` and the code.')
      .meta({ example: 'urn:docket:problem:run.conflict' }),
    title: z.string().describe('The same for every problem of its type.'),
    status: z.int(),
    code: z.string().describe('Stable, for programs.').meta({ example: 'run.conflict' }),
    detail: z.string().optional().describe('This occurrence, in one sentence.'),
    expected: z.string().optional(),
    got: z.string().optional(),
    next: z.string().optional().describe('What to do.'),
    errors: z
      .array(
        z.object({
          pointer: z.string().describe('JSON Pointer into the body or the query; empty for the whole.'),
          detail: z.string(),
        }),
      )
      .readonly()
      .optional()
      .describe('Each error of an invalid request, without the values.'),
    delivered: deliveredSchema.optional().describe('Only for `already_delivered`: the earlier delivery.'),
  })
  .meta({ id: 'Problem', description: 'RFC 9457.' });

/** Optional members of a problem. */
export type ProblemDetail = Partial<
  Pick<z.infer<typeof problemSchema>, 'detail' | 'expected' | 'got' | 'next' | 'errors'>
>;

/** A response with a problem of the table. */
export function problem(
  code: ProblemCode,
  detail: ProblemDetail = {},
  headers: Readonly<Record<string, string>> = {},
): Response {
  const { status, title } = REQUEST_PROBLEMS[code];
  return toResponse({ type: `urn:docket:problem:${code}`, title, status, code, ...detail }, headers);
}

const SERVICE_UNAVAILABLE = { status: 503, title: 'The Compliance Service does not answer' };

/** Errors of Docket's table that a request can cause. All others count as internal errors. */
const ERROR_PROBLEMS: Partial<Record<ErrorCode, { readonly status: number; readonly title: string }>> = {
  'usage.invalid': { status: 422, title: 'The request is not valid' },
  'definition.invalid': { status: 422, title: 'The definition is invalid' },
  'plan.invalid': { status: 422, title: 'The report cannot be planned' },
  'deliver.recipient_refused': { status: 422, title: 'A recipient is not allowed' },
  'deliver.recipient_denied': { status: 422, title: 'A recipient is on the deny list' },
  'catalog.missing': { status: 409, title: 'No metric catalog is available' },
  'api.unreachable': SERVICE_UNAVAILABLE,
  'api.timeout': SERVICE_UNAVAILABLE,
  'api.unavailable': SERVICE_UNAVAILABLE,
  'api.unreadable': SERVICE_UNAVAILABLE,
  'api.throttled': SERVICE_UNAVAILABLE,
  'api.unauthorized': SERVICE_UNAVAILABLE,
  'api.forbidden': SERVICE_UNAVAILABLE,
  'api.not_found': SERVICE_UNAVAILABLE,
  'definition.busy': { status: 503, title: 'Too many definitions are being checked' },
  'definition.not_found': { status: 404, title: 'The report does not exist' },
  'run.not_found': { status: 404, title: 'The run does not exist' },
  'delivery.not_found': { status: 404, title: 'The delivery does not exist' },
  'run.ambiguous': { status: 409, title: 'Several runs have this id' },
  'delivery.ambiguous': { status: 409, title: 'Several deliveries have this id' },
  'run.conflict': { status: 409, title: 'The run does not allow this' },
  'period.not_begun': { status: 422, title: 'The period has not begun' },
  'period.unfinished': { status: 422, title: 'The period has not ended' },
  already_delivered: { status: 409, title: 'The report was delivered for this period already' },
  'review.content_changed': { status: 409, title: 'The content has changed since it was reviewed' },
  'review.not_allowed': { status: 403, title: 'The account may not decide this' },
  'review.comment_invalid': { status: 422, title: 'The comment is not valid' },
  'approval.unreachable': { status: 409, title: 'Not enough people could approve it' },
  'delivery.conflict': { status: 409, title: 'The delivery does not allow this' },
  'correction.not_found': { status: 404, title: 'The correction does not exist' },
  'selection.not_found': { status: 404, title: 'The selection does not exist' },
  'selection.conflict': { status: 409, title: 'The selection was decided otherwise' },
  'correction.conflict': { status: 409, title: 'The correction does not allow this' },
  'archive.corrupt': { status: 500, title: 'The archived files were changed' },
  'archive.unreachable': { status: 503, title: 'The archive does not answer' },
  'archive.unwritable': { status: 503, title: 'The archive cannot be written' },
  'archive.key_unknown': { status: 503, title: 'The archive is signed with a key that is not known' },
  'archive.unconditional': { status: 503, title: 'The store of the archive does not support conditional writes' },
  'archive.marker_missing': { status: 503, title: 'The archive has no marker' },
  'archive.marker_changed': { status: 503, title: 'The archive has another marker' },
  'deployment.conflict': { status: 503, title: 'The archive and Redis belong to different deployments' },
  'oidc.unavailable': { status: 503, title: 'The OpenID provider does not answer' },
  'search.not_ready': { status: 503, title: 'The search indexes are being built' },
  'redis.unreachable': { status: 503, title: 'Redis does not answer' },
  'redis.unauthorized': { status: 503, title: 'Redis rejected the credentials' },
  'redis.out_of_memory': { status: 503, title: 'Redis is out of memory' },
  'redis.unwritable': { status: 503, title: 'Redis accepts no writes' },
  'redis.wrong_type': { status: 500, title: 'A key in Redis holds another type' },
  'redis.script_failed': { status: 500, title: 'A script failed in Redis' },
  'redis.unsuitable': { status: 503, title: 'Redis cannot be used' },
};

const isRequestProblem = (code: string): code is ProblemCode => code in REQUEST_PROBLEMS;

/** A response with an error of Docket's table as a problem. Internal errors reveal no details. */
export function toProblemResponse(error: DocketError): Response {
  const { code, message, expected, got, next, delivered } = error.toJSON();
  const detail = { ...(expected === undefined ? {} : { expected }), ...(got === undefined ? {} : { got }) };
  const hint = next === undefined ? {} : { next };
  if (isRequestProblem(code)) return problem(code, { detail: message, ...detail, ...hint });
  const known = ERROR_PROBLEMS[code];
  if (known === undefined) {
    return problem('server.failed', { detail: 'The reason is in the log of the server.', next: 'Ask its operator.' });
  }
  const { status, title } = known;
  return toResponse(
    {
      type: `urn:docket:problem:${code}`,
      title,
      status,
      code,
      ...(status < 500 ? { detail: message, ...detail, ...hint } : {}),
      ...(delivered === undefined ? {} : { delivered: deliveredSchema.parse(delivered) }),
    },
    ERRORS[code].retryable ? { 'Retry-After': '5' } : {},
  );
}

const toResponse = (body: z.infer<typeof problemSchema>, headers: Readonly<Record<string, string>>): Response =>
  new Response(JSON.stringify(body), {
    status: body.status,
    headers: { 'Content-Type': 'application/problem+json', ...headers },
  });
