import { diskFaultOf } from './disk-fault.ts';

/**
 * Every failure a person may meet, in one table: its stable code, the exit code of the command that
 * meets it, and whether trying again later can help. Codes never change their meaning; messages may.
 *
 * Exit codes: 1 the run or check failed, 2 usage or configuration, 3 held or partly delivered.
 */
export const ERRORS = {
  'usage.invalid': { exit: 2, retryable: false },
  'config.invalid': { exit: 2, retryable: false },
  'config.secret_missing': { exit: 2, retryable: false },
  'config.secret_refused': { exit: 2, retryable: false },
  'auth.forbidden': { exit: 2, retryable: false },
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
  'redis.unreachable': { exit: 1, retryable: true },
  'redis.unauthorized': { exit: 1, retryable: true },
  'redis.out_of_memory': { exit: 1, retryable: true },
  'redis.unwritable': { exit: 1, retryable: true },
  'redis.wrong_type': { exit: 1, retryable: false },
  'redis.script_failed': { exit: 1, retryable: false },
  'redis.unsuitable': { exit: 2, retryable: false },
  'run.incomplete': { exit: 1, retryable: false },
  'run.held': { exit: 3, retryable: false },
  'run.cancelled': { exit: 1, retryable: false },
  'run.not_found': { exit: 2, retryable: false },
  'run.ambiguous': { exit: 2, retryable: false },
  'run.unreadable': { exit: 1, retryable: false },
  'run.conflict': { exit: 2, retryable: false },
  already_delivered: { exit: 2, retryable: false },
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
  'archive.marker_missing': { exit: 1, retryable: true },
  'archive.marker_changed': { exit: 1, retryable: true },
  'deployment.conflict': { exit: 2, retryable: true },
  'deployment.mass_removal': { exit: 2, retryable: false },
  'archive.locked': { exit: 1, retryable: false },
  'delivery.not_found': { exit: 2, retryable: false },
  'delivery.ambiguous': { exit: 2, retryable: false },
  'delivery.conflict': { exit: 2, retryable: false },
  'deliver.recipient_refused': { exit: 3, retryable: false },
  'deliver.target_refused': { exit: 3, retryable: false },
  'deliver.target_failed': { exit: 3, retryable: true },
  'deliver.unknown': { exit: 3, retryable: false },
  'internal.defect': { exit: 1, retryable: true },
} as const satisfies Record<string, { exit: 1 | 2 | 3; retryable: boolean }>;

export type ErrorCode = keyof typeof ERRORS;

/** What the reader of an error needs beside its sentence. Every field is optional because not every failure has it. */
export interface ErrorDetail {
  /** What would have been right, e.g. `an IANA time zone`. */
  expected?: string;
  /** What was there instead, e.g. `"Mars/Olympus"`. Never a secret. */
  got?: string;
  /** `file:line:column` for definitions, the variable's name for configuration, `METHOD path` for calls. */
  where?: string;
  /** What the reader should do now, as an imperative sentence. */
  next?: string;
  /** The API's `correlation_id`, to be quoted to its support (specification §7). */
  correlationId?: string;
  /** Overrides the table, for a failure that is retryable only in some of its forms. */
  retryable?: boolean;
  /** Of `archive.*`, where what was asked says it: whether it passes by itself. By the code and the disk when absent. */
  passes?: boolean;
  /** Of a 429: how long the service asks to wait, ms. */
  retryAfterMs?: number;
  /** Of `already_delivered`: the delivery that was found. */
  delivered?: DeliveredJson;
  cause?: unknown;
}

/** The delivery that an `already_delivered` tells of. */
export interface DeliveredJson {
  /** The run that delivered. */
  run: string;
  period: { from: string; to: string; timezone: string; label: string };
  /** ISO 8601, UTC: its last delivery. */
  at: string;
  /** Mailboxes that have received it. */
  people: number;
  /** SFTP servers, buckets and webhooks that have received it. */
  targets: number;
  /** Deliveries of the run of which nobody knows whether they arrived. */
  uncertain: number;
}

/** The one error class of Docket. Anything else that is thrown is a defect and is shown as `internal.defect`. */
export class DocketError extends Error {
  override readonly name = 'DocketError';
  readonly code: ErrorCode;
  readonly expected: string | undefined;
  readonly got: string | undefined;
  readonly where: string | undefined;
  readonly next: string | undefined;
  readonly correlationId: string | undefined;
  readonly retryable: boolean;
  readonly passes: boolean | undefined;
  readonly retryAfterMs: number | undefined;
  readonly delivered: DeliveredJson | undefined;

  constructor(code: ErrorCode, message: string, detail: ErrorDetail = {}) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.code = code;
    this.expected = detail.expected;
    this.got = detail.got;
    this.where = detail.where;
    this.next = detail.next;
    this.correlationId = detail.correlationId;
    this.retryable = detail.retryable ?? ERRORS[code].retryable;
    this.passes = detail.passes;
    this.retryAfterMs = detail.retryAfterMs;
    this.delivered = detail.delivered;
  }

  get exitCode(): 1 | 2 | 3 {
    return ERRORS[this.code].exit;
  }

  /** Only the fields above, never `cause` or the stack: what may leave the process in a record, a log or an answer. */
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

/** What whatever was thrown says of itself, be it an `Error` or not. */
export const wordsOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));

export interface ErrorJson {
  code: ErrorCode;
  message: string;
  expected?: string;
  got?: string;
  where?: string;
  next?: string;
  correlation_id?: string;
  delivered?: DeliveredJson;
}

/** Anything thrown → a `DocketError`; what we did not foresee becomes `internal.defect` with its cause kept. */
export function toDocketError(thrown: unknown): DocketError {
  if (thrown instanceof DocketError) return thrown;
  const message = wordsOf(thrown);
  const fault = diskFaultOf(thrown);
  if (fault !== undefined) {
    return new DocketError('disk.unavailable', `A file cannot be used: ${fault.words}.`, {
      got: message,
      next: 'Free space on the disk, mount it again for writing, or raise the limit of open files.',
      cause: thrown,
    });
  }
  return new DocketError('internal.defect', `Unexpected failure: ${message}`, {
    cause: thrown,
    next: 'This is a defect of Docket: please report it with the log lines around it.',
  });
}

const REDIS_OUTAGES: ReadonlySet<ErrorCode> = new Set([
  'redis.unreachable',
  'redis.unauthorized',
  'redis.out_of_memory',
  'redis.unwritable',
]);

/**
 * Redis cannot be used just now, for whatever reason, and may be again without a change to what it holds. Says nothing of
 * the record, the run or the version that was asked for.
 */
export const isRedisOutage = ({ code }: Pick<DocketError, 'code'>): boolean => REDIS_OUTAGES.has(code);

const STORAGE_OUTAGES: ReadonlySet<ErrorCode> = new Set([
  'disk.unavailable',
  'archive.unreachable',
  'archive.key_unknown',
  'archive.marker_missing',
  'archive.marker_changed',
  'deployment.conflict',
]);

/**
 * What files are made in or kept in cannot be used just now: a disk that is full or read-only, an archive that is not
 * mounted or does not answer, or one of another deployment. Says nothing of the run, which waits without spending an attempt.
 * A refusal that stays until somebody mends it (permissions, a name, a store's 403) is none: its run fails, and is told of.
 */
export const isStorageOutage = (error: DocketError): boolean =>
  error.retryable &&
  (error.passes ??
    (STORAGE_OUTAGES.has(error.code) || (error.code === 'archive.unwritable' && diskFaultOf(error) !== undefined)));

/** The error as lines for a terminal: the sentence first, then expected, got, where and what to do. */
export function formatError(error: DocketError): string {
  const lines = [`${error.where === undefined ? '' : `${error.where}: `}${error.message} [${error.code}]`];
  if (error.expected !== undefined) lines.push(`  expected: ${error.expected}`);
  if (error.got !== undefined) lines.push(`  got:      ${error.got}`);
  if (error.correlationId !== undefined) lines.push(`  correlation_id: ${error.correlationId}`);
  if (error.next !== undefined) lines.push(`  do:       ${error.next}`);
  return lines.join('\n');
}
