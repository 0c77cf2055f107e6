import { DocketError, type ErrorCode, type ErrorDetail } from '../base/error.ts';
import type { Redact } from '../base/redactor.ts';
import { retryAfterMs } from '../base/retry-after.ts';
import { type Problem, problemSchema } from '../contract/problem.ts';
import { clip, clipName } from './clip.ts';
import { parseForeign } from './foreign-json.ts';

/** An answer that is not a 200, as far as it could be read. */
export interface Refusal {
  readonly status: number;
  /** `METHOD path`. */
  readonly where: string;
  readonly header: (name: string) => string | undefined;
  /** Whatever it is. */
  readonly body: Buffer;
  /** Takes out of it what the service was told and must not be repeated. `header` does so by itself. */
  readonly redact: Redact;
}

/** A longer problem document is not read: the status alone says what to do. */
const MAX_PROBLEM_BYTES = 64 * 1024;
/** Of any other form it is no code, but a text. */
const CODE = /^[a-z][\w.-]{0,99}$/i;

/**
 * Status → what to do, decided once (specification §7): 408 and 5xx are tried again, 429 waits, everything else stops.
 * A redirect is refused, not followed: it would take the key elsewhere.
 */
export function refusalError(refusal: Refusal, now: number): DocketError {
  const { status, where } = refusal;
  const problem = readProblem(refusal);
  const said = saying(problem);
  const correlationId = problem.correlation_id ?? refusal.header('x-correlation-id');
  const detail: ErrorDetail = {
    where,
    got: `HTTP ${status}${problem.code !== undefined && CODE.test(problem.code) ? ` ${problem.code}` : ''}`,
    ...(correlationId === undefined ? {} : { correlationId: clipName(correlationId) }),
  };
  const error = (code: ErrorCode, message: string, next: string, more: ErrorDetail = {}) =>
    new DocketError(code, `${message}${said}`, { ...detail, next, ...more });

  if (status === 429) {
    const wait = retryAfterMs(refusal.header('retry-after'), refusal.header('date'), now);
    return error(
      'api.throttled',
      'The service answers that too many calls were made with this key.',
      'Nothing: Docket waits and goes on. If it happens often, somebody else uses the same key.',
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
      'The API key may not do this.',
      "The key and its owner's role need the permission analytics.read (lists need a key that is not limited to it), and `org` in org.yaml must be an organization of the key.",
    );
  }
  if (status === 404) {
    return error(
      'api.not_found',
      'The service does not know this organization.',
      'Check `org` in org.yaml (GET /api/orgs/ lists what the key reaches), and COMPLIANCE_API_URL.',
    );
  }
  if (status >= 300 && status < 400) {
    return error(
      'api.unsafe',
      'The service answered with a redirect, which is never followed: it would take the API key elsewhere.',
      'Set COMPLIANCE_API_URL to the address that answers itself.',
    );
  }
  if (status === 408 || status >= 500) {
    return error('api.unavailable', 'The service cannot answer now.', 'Try again later; quote the correlation id.');
  }
  return error(
    'api.refused',
    'The service refuses the request.',
    'Correct what the message names; `docket check` online finds most of it before a call is made.',
  );
}

function readProblem({ body, redact }: Refusal): Problem {
  try {
    const parsed = problemSchema.safeParse(parseForeign(body.subarray(0, MAX_PROBLEM_BYTES), redact));
    return parsed.success ? parsed.data : {};
  } catch {
    return {};
  }
}

/** What the service says, in its own words, with pointer and metadata of each entry; empty when it says nothing. */
function saying({ detail, errors = [] }: Problem): string {
  const entries = errors.slice(0, 20).map((entry) => {
    const metadata =
      entry.metadata === undefined || Object.keys(entry.metadata).length === 0
        ? ''
        : ` ${JSON.stringify(entry.metadata)}`;
    return `${entry.pointer ?? '(body)'}: ${entry.detail ?? entry.code ?? 'refused'}${metadata}`;
  });
  return `${detail === undefined ? '' : ` It says: ${clip(detail)}`}${entries.map((entry) => `\n  ${clip(entry)}`).join('')}`;
}
