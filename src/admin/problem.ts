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
  'request.misdirected': { status: 421, title: 'This host is not served here' },
  'request.malformed': { status: 400, title: 'The request cannot be read' },
  'request.invalid': { status: 422, title: 'The request is not valid' },
  'request.not_found': { status: 404, title: 'There is nothing here' },
  'request.method_not_allowed': { status: 405, title: 'This method is not supported here' },
  'request.too_large': { status: 413, title: 'The body is too large' },
  'request.unsupported_media_type': { status: 415, title: 'The body must be JSON' },
  'request.timeout': { status: 408, title: 'The request took too long to arrive' },
  'request.headers_too_large': { status: 431, title: 'The headers are too large' },
  'server.failed': { status: 500, title: 'Something went wrong here' },
} as const;
/** A key of the table above. */
export type ProblemCode = keyof typeof REQUEST_PROBLEMS;

/** RFC 9457, with our own members `code`, `expected`, `got`, `next` and `errors`. */
export interface ProblemDetail {
  readonly detail?: string;
  readonly expected?: string;
  readonly got?: string;
  readonly next?: string;
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[];
}

/** A problem of the table as a response. */
export function problem(
  code: ProblemCode,
  detail: ProblemDetail = {},
  headers: Readonly<Record<string, string>> = {},
): Response {
  const { status, title } = REQUEST_PROBLEMS[code];
  return answer(status, { type: `urn:docket:problem:${code}`, title, status, code, ...detail }, headers);
}

const STATUS: Partial<Record<ErrorCode, number>> = {
  'usage.invalid': 422,
  'definition.invalid': 422,
  'plan.invalid': 422,
  'definition.not_found': 404,
  'run.not_found': 404,
  'run.conflict': 409,
  'delivery.not_found': 404,
  'delivery.conflict': 409,
  'redis.unreachable': 503,
  'redis.unsuitable': 503,
};

/** An error of Docket's table as a problem; what is nobody's mistake says nothing of its inside. */
export function problemOf(error: DocketError): Response {
  const status = STATUS[error.code];
  if (status === undefined) {
    return problem('server.failed', { detail: 'The log of the server has the reason.', next: 'Ask its operator.' });
  }
  const { code, message, expected, got, next } = error.toJSON();
  const outside = status < 500 ? { expected, got } : {};
  return answer(
    status,
    { type: `urn:docket:problem:${code}`, title: message, status, code, ...outside, next },
    ERRORS[code].retryable ? { 'Retry-After': '5' } : {},
  );
}

const answer = (status: number, body: unknown, headers: Readonly<Record<string, string>>): Response =>
  new Response(JSON.stringify(body), {
    status,
    headers: { 'Content-Type': 'application/problem+json', ...headers },
  });
