import { DocketError, type ErrorCode, type ErrorDetail } from '../../base/error.ts';
import { parseRetryAfter } from '../../base/net/retry-after.ts';
import type { Redact } from '../../base/secrets/redactor.ts';
import { type Problem, problemSchema } from '../../contract/problem.ts';
import { parseUntrustedJson, truncateId, truncateLine } from './untrusted-input.ts';

/** A response with a status other than 200, as far as it could be read. */
export interface HttpErrorResponse {
  readonly status: number;
  /** `METHOD path`. */
  readonly where: string;
  readonly header: (name: string) => string | undefined;
  /** May have any content type. */
  readonly body: Buffer;
  /** Removes our secrets from the body. They are already removed from `header`. */
  readonly redact: Redact;
}

/** A longer problem document is ignored, and only the status counts. */
const MAX_PROBLEM_BYTES = 64 * 1024;
/** Text of any other form is not a code. */
const PROBLEM_CODE = /^[a-z][\w.-]{0,99}$/i;

/**
 * HTTP status → error (specification §7): 408 and 5xx are retryable, 429 waits, everything else fails. A redirect is
 * never followed: it would send the key elsewhere.
 */
export function httpError(response: HttpErrorResponse, now: number): DocketError {
  const { status, where } = response;
  const problem = readProblem(response);
  const serviceMessage = problemText(problem);
  const correlationId = problem.correlation_id ?? response.header('x-correlation-id');
  const detail: ErrorDetail = {
    where,
    got: `HTTP ${status}${problem.code !== undefined && PROBLEM_CODE.test(problem.code) ? ` ${problem.code}` : ''}`,
    ...(correlationId === undefined ? {} : { correlationId: truncateId(correlationId) }),
  };
  const error = (code: ErrorCode, message: string, next: string, more: ErrorDetail = {}) =>
    new DocketError(code, `${message}${serviceMessage}`, { ...detail, next, ...more });

  if (status === 429) {
    const wait = parseRetryAfter(response.header('retry-after'), response.header('date'), now);
    return error(
      'api.throttled',
      'The service rate-limited this key (429).',
      'Nothing: Docket waits and continues. If it happens often, something else uses the same key.',
      wait === undefined ? {} : { retryAfterMs: wait },
    );
  }
  if (status === 401) {
    return error(
      'api.unauthorized',
      problem.code === 'auth.token_expired' ? 'The API key has expired.' : 'The service does not accept the API key.',
      "Check the secret that `api_key` in the organization's org.yaml refers to; a key expires after a year and is written prefix.secret.",
    );
  }
  if (status === 403) {
    return error(
      'api.forbidden',
      'The API key lacks a permission.',
      "Grant it in the service: the key and its owner's role need analytics.read (lists need a key without restrictions), and `org` in org.yaml must be an organization that the key can access. A new key with the same permissions would be refused as well.",
    );
  }
  if (status === 404) {
    return error(
      'api.not_found',
      'The service does not know this organization.',
      'Check `org` in org.yaml (GET /api/orgs/ lists the organizations of the key), and COMPLIANCE_API_URL.',
    );
  }
  if (status >= 300 && status < 400) {
    return error(
      'api.unsafe',
      'The service answered with a redirect, which is never followed: it would send the API key elsewhere.',
      'Set COMPLIANCE_API_URL to the final address.',
    );
  }
  if (status === 408 || status >= 500) {
    return error('api.unavailable', 'The service cannot answer now.', 'Try again later; quote the correlation id.');
  }
  return error(
    'api.refused',
    'The service refuses the request.',
    'Correct what the message names; `docket check` online finds most of it before a run.',
  );
}

function readProblem({ body, redact }: HttpErrorResponse): Problem {
  try {
    const parsed = problemSchema.safeParse(parseUntrustedJson(body.subarray(0, MAX_PROBLEM_BYTES), redact));
    return parsed.success ? parsed.data : {};
  } catch {
    return {};
  }
}

/** The service's message, with pointer and metadata of each entry; empty if it sent none. */
function problemText({ detail, errors = [] }: Problem): string {
  const entries = errors.slice(0, 20).map((entry) => {
    const metadata =
      entry.metadata === undefined || Object.keys(entry.metadata).length === 0
        ? ''
        : ` ${JSON.stringify(entry.metadata)}`;
    return `${entry.pointer ?? '(body)'}: ${entry.detail ?? entry.code ?? 'refused'}${metadata}`;
  });
  return `${detail === undefined ? '' : ` Service message: ${truncateLine(detail)}`}${entries.map((entry) => `\n  ${truncateLine(entry)}`).join('')}`;
}
