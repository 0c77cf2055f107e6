import { errnoOf, findDiskFailure } from './errno.ts';

/**
 * Every error that people can see: its stable code, the command's exit code, and whether a retry can help. Codes never
 * change their meaning; messages may.
 *
 * Exit codes: 1 the run or check failed, 2 usage or configuration, 3 held or partly delivered.
 */
export const ERRORS = {
  'usage.invalid': { exit: 2, retryable: false },
  'config.invalid': { exit: 2, retryable: false },
  'config.secret_missing': { exit: 2, retryable: false },
  'config.secret_refused': { exit: 2, retryable: false },
  'auth.forbidden': { exit: 2, retryable: false },
  'auth.invalid': { exit: 2, retryable: false },
  'auth.expired': { exit: 2, retryable: false },
  'request.not_found': { exit: 2, retryable: false },
  'definition.invalid': { exit: 1, retryable: false },
  'definition.busy': { exit: 1, retryable: true },
  'definition.not_found': { exit: 2, retryable: false },
  'plan.invalid': { exit: 1, retryable: false },
  'catalog.missing': { exit: 1, retryable: true },
  'api.unreachable': { exit: 1, retryable: true },
  'api.timeout': { exit: 1, retryable: true },
  'api.unavailable': { exit: 1, retryable: true },
  'api.unreadable': { exit: 1, retryable: true },
  'api.throttled': { exit: 1, retryable: true },
  'api.unauthorized': { exit: 1, retryable: false },
  'api.forbidden': { exit: 1, retryable: false },
  'api.not_found': { exit: 1, retryable: false },
  'api.refused': { exit: 1, retryable: false },
  'api.unsafe': { exit: 1, retryable: false },
  'oidc.unavailable': { exit: 1, retryable: true },
  'oidc.client_refused': { exit: 2, retryable: false },
  'oidc.refused': { exit: 1, retryable: false },
  'oidc.invalid_response': { exit: 1, retryable: false },
  'redis.unreachable': { exit: 1, retryable: true },
  'redis.unauthorized': { exit: 1, retryable: true },
  'redis.out_of_memory': { exit: 1, retryable: true },
  'redis.unwritable': { exit: 1, retryable: true },
  'redis.wrong_type': { exit: 1, retryable: false },
  'redis.script_failed': { exit: 1, retryable: false },
  'redis.unsuitable': { exit: 2, retryable: false },
  'search.not_ready': { exit: 1, retryable: true },
  'run.incomplete': { exit: 1, retryable: false },
  'run.held': { exit: 3, retryable: false },
  'run.comments_missing': { exit: 3, retryable: false },
  'run.awaiting_approval': { exit: 3, retryable: false },
  'run.cancelled': { exit: 1, retryable: false },
  'run.not_found': { exit: 2, retryable: false },
  'run.ambiguous': { exit: 2, retryable: false },
  'run.unreadable': { exit: 1, retryable: false },
  'run.conflict': { exit: 2, retryable: false },
  'review.not_approved': { exit: 1, retryable: false },
  already_delivered: { exit: 2, retryable: false },
  'period.not_begun': { exit: 2, retryable: false },
  'period.unfinished': { exit: 2, retryable: false },
  'review.content_changed': { exit: 2, retryable: false },
  'review.not_allowed': { exit: 2, retryable: false },
  'review.comment_invalid': { exit: 2, retryable: false },
  'approval.unreachable': { exit: 2, retryable: false },
  'run.skipped': { exit: 1, retryable: false },
  'run.unfinished': { exit: 1, retryable: false },
  'run.deadline': { exit: 1, retryable: false },
  'run.abandoned': { exit: 1, retryable: false },
  'run.poison': { exit: 1, retryable: false },
  'render.failed': { exit: 1, retryable: false },
  'template.invalid': { exit: 1, retryable: false },
  'disk.unavailable': { exit: 1, retryable: true },
  'archive.corrupt': { exit: 1, retryable: false },
  'archive.unwritable': { exit: 1, retryable: true },
  'archive.unreachable': { exit: 1, retryable: true },
  'archive.key_unknown': { exit: 1, retryable: true },
  'archive.unconditional': { exit: 2, retryable: false },
  'archive.marker_missing': { exit: 1, retryable: true },
  'archive.marker_changed': { exit: 1, retryable: true },
  'deployment.conflict': { exit: 2, retryable: true },
  'deployment.mass_removal': { exit: 2, retryable: false },
  'reading.wrong_day': { exit: 1, retryable: true },
  'reading.too_old': { exit: 1, retryable: true },
  'reading.late': { exit: 1, retryable: false },
  'reading.incomplete': { exit: 1, retryable: true },
  'correction.not_found': { exit: 2, retryable: false },
  'correction.conflict': { exit: 2, retryable: false },
  'selection.not_found': { exit: 2, retryable: false },
  'selection.conflict': { exit: 2, retryable: false },
  'archive.locked': { exit: 1, retryable: false },
  'delivery.not_found': { exit: 2, retryable: false },
  'delivery.ambiguous': { exit: 2, retryable: false },
  'delivery.conflict': { exit: 2, retryable: false },
  'delivery.stopped': { exit: 3, retryable: false },
  'switch.unreadable': { exit: 1, retryable: true },
  'deliver.recipient_refused': { exit: 3, retryable: false },
  'deliver.recipient_denied': { exit: 3, retryable: false },
  'deliver.target_refused': { exit: 3, retryable: false },
  'deliver.target_failed': { exit: 3, retryable: true },
  'deliver.unknown': { exit: 3, retryable: false },
  'internal.defect': { exit: 1, retryable: true },
} as const satisfies Record<string, { exit: 1 | 2 | 3; retryable: boolean }>;

export type ErrorCode = keyof typeof ERRORS;

/** The parts of an error besides its message. */
export interface ErrorDetail {
  /** E.g. `an IANA time zone`. */
  expected?: string;
  /** The actual value, e.g. `"Mars/Olympus"`. Never a secret. */
  got?: string;
  /** `file:line:column` for definitions, the variable's name for configuration, `METHOD path` for calls. */
  where?: string;
  /** What to do, as an imperative sentence. */
  next?: string;
  /** The API's `correlation_id`, for its support (specification §7). */
  correlationId?: string;
  /** Overrides the table, for codes that are retryable only in some cases. */
  retryable?: boolean;
  /**
   * Whether the failure is transient: the run then waits without using an attempt. Default: by code and disk failure.
   */
  transient?: boolean;
  /** For a 429: `Retry-After`, ms. */
  retryAfterMs?: number;
  /** Facts for programs, as JSON. In `already_delivered`: the earlier delivery. */
  delivered?: object;
  cause?: unknown;
}

/** Docket's only error class. Any other thrown value is a defect, shown as `internal.defect`. */
export class DocketError extends Error {
  override readonly name = 'DocketError';
  readonly code: ErrorCode;
  readonly expected: string | undefined;
  readonly got: string | undefined;
  readonly where: string | undefined;
  readonly next: string | undefined;
  readonly correlationId: string | undefined;
  readonly retryable: boolean;
  readonly transient: boolean | undefined;
  readonly retryAfterMs: number | undefined;
  readonly delivered: object | undefined;

  constructor(code: ErrorCode, message: string, detail: ErrorDetail = {}) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.code = code;
    this.expected = detail.expected;
    this.got = detail.got;
    this.where = detail.where;
    this.next = detail.next;
    this.correlationId = detail.correlationId;
    this.retryable = detail.retryable ?? ERRORS[code].retryable;
    this.transient = detail.transient;
    this.retryAfterMs = detail.retryAfterMs;
    this.delivered = detail.delivered;
  }

  get exitCode(): 1 | 2 | 3 {
    return ERRORS[this.code].exit;
  }

  /** The form for records, logs and responses. Never contains `cause` or the stack. */
  toJSON(): ErrorJson {
    return {
      code: this.code,
      message: this.message,
      ...(this.expected === undefined ? {} : { expected: this.expected }),
      ...(this.got === undefined ? {} : { got: this.got }),
      ...(this.where === undefined ? {} : { where: this.where }),
      ...(this.next === undefined ? {} : { next: this.next }),
      ...(this.correlationId === undefined ? {} : { correlation_id: this.correlationId }),
      ...(this.delivered === undefined ? {} : { delivered: this.delivered }),
    };
  }
}

/** The message of any thrown value. For an `Error` without a message, such as an `AggregateError`, its code or name. */
export const errorMessage = (thrown: unknown): string =>
  thrown instanceof Error ? thrown.message || (errnoOf(thrown) ?? toErrorName(thrown)) : String(thrown);

/** Some libraries set `name` to other values than strings. */
const toErrorName = ({ name }: { readonly name: unknown }): string => (typeof name === 'string' ? name : 'Error');

export interface ErrorJson {
  code: ErrorCode;
  message: string;
  expected?: string;
  got?: string;
  where?: string;
  next?: string;
  correlation_id?: string;
  delivered?: object;
}

/**
 * Converts any thrown value to a `DocketError`: disk failures become `disk.unavailable`, unexpected errors
 * `internal.defect`.
 */
export function toDocketError(thrown: unknown): DocketError {
  if (thrown instanceof DocketError) return thrown;
  const message = errorMessage(thrown);
  const failure = findDiskFailure(thrown);
  if (failure !== undefined) {
    return new DocketError('disk.unavailable', `File access failed: ${failure.description}.`, {
      got: message,
      next: failure.remedy,
      cause: thrown,
    });
  }
  return new DocketError('internal.defect', `Unexpected error: ${message}`, {
    cause: thrown,
    next: 'This is a defect of Docket. Please report it with the surrounding log lines.',
  });
}

const REDIS_OUTAGES: ReadonlySet<ErrorCode> = new Set([
  'redis.unreachable',
  'redis.unauthorized',
  'redis.out_of_memory',
  'redis.unwritable',
]);

/** Whether Redis is temporarily unusable. Such an error says nothing about the record that was read. */
export const isRedisOutage = ({ code }: Pick<DocketError, 'code'>): boolean => REDIS_OUTAGES.has(code);

const STORAGE_OUTAGES: ReadonlySet<ErrorCode> = new Set([
  'disk.unavailable',
  'archive.unreachable',
  'archive.key_unknown',
  'archive.marker_missing',
  'archive.marker_changed',
  'deployment.conflict',
  'switch.unreadable',
]);

/**
 * Whether the staging folder or the archive is temporarily unusable: its disk is full or read-only, or the archive is
 * not mounted, does not respond, or belongs to another deployment. Also true if the machine is too busy for a PDF. The
 * run then waits without using an attempt. Permanent failures (permissions, a name, HTTP 403) are not outages: the run
 * fails.
 */
export const isStorageOutage = (error: DocketError): boolean =>
  error.retryable &&
  (error.transient ??
    (STORAGE_OUTAGES.has(error.code) || (error.code === 'archive.unwritable' && findDiskFailure(error) !== undefined)));

/** Formats an error for a terminal: the message, then expected, got, correlation id and next step, one line each. */
export function formatError(error: DocketError): string {
  const lines = [`${error.where === undefined ? '' : `${error.where}: `}${error.message} [${error.code}]`];
  if (error.expected !== undefined) lines.push(`  expected: ${error.expected}`);
  if (error.got !== undefined) lines.push(`  got:      ${error.got}`);
  if (error.correlationId !== undefined) lines.push(`  correlation_id: ${error.correlationId}`);
  if (error.next !== undefined) lines.push(`  do:       ${error.next}`);
  return lines.join('\n');
}

/** An error as one line of sentences, for a delivery's detail. */
export const errorSentence = ({
  message,
  expected,
  got,
  next,
}: Pick<DocketError, 'message' | 'expected' | 'got' | 'next'>): string =>
  [message, expected && `Expected ${expected}.`, got && `Got ${got}.`, next].filter(Boolean).join(' ');
