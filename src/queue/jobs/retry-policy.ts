import { DocketError, type ErrorCode } from '../../base/error.ts';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../../base/time.ts';
import type { RunOrder, RunRecord, WorkerCrashes } from '../../run/run-record.ts';

interface BackoffPolicy {
  readonly initialMs: number;
  readonly maxMs: number;
}

const DEFAULT_POLICY: BackoffPolicy = { initialMs: 30 * SECOND_MS, maxMs: 15 * MINUTE_MS };
/**
 * Backoff by error code, for codes that the default does not fit. A target that defers (greylisting, a full mailbox)
 * needs minutes; an unreachable Redis or archive usually returns within seconds.
 */
const POLICIES: Partial<Record<ErrorCode, BackoffPolicy>> = {
  'api.throttled': { initialMs: MINUTE_MS, maxMs: 15 * MINUTE_MS },
  'deliver.target_failed': { initialMs: MINUTE_MS, maxMs: 30 * MINUTE_MS },
  'redis.unreachable': { initialMs: 5 * SECOND_MS, maxMs: 2 * MINUTE_MS },
  'redis.out_of_memory': { initialMs: 10 * SECOND_MS, maxMs: 5 * MINUTE_MS },
  'redis.unwritable': { initialMs: 10 * SECOND_MS, maxMs: 5 * MINUTE_MS },
  'archive.unwritable': { initialMs: 10 * SECOND_MS, maxMs: 5 * MINUTE_MS },
  'archive.key_unknown': { initialMs: 10 * SECOND_MS, maxMs: 5 * MINUTE_MS },
  'archive.marker_missing': { initialMs: 10 * SECOND_MS, maxMs: 5 * MINUTE_MS },
  'archive.marker_changed': { initialMs: 10 * SECOND_MS, maxMs: 5 * MINUTE_MS },
  'deployment.conflict': { initialMs: 10 * SECOND_MS, maxMs: 5 * MINUTE_MS },
};
const STORAGE_POLICY: BackoffPolicy = { initialMs: 10 * SECOND_MS, maxMs: 5 * MINUTE_MS };

/** The part of an error that decides the delay. */
export interface RetryReason {
  readonly code: ErrorCode;
  /** `Retry-After` of the service, ms. */
  readonly retryAfterMs?: number | undefined;
}

/**
 * Exponential backoff, ms. Half of it is random, so that runs that failed together do not retry together. Never shorter
 * than the service's `Retry-After`.
 *
 * @param attempts number of failed attempts, at least 1
 * @param random from 0 to 1, e.g. `Math.random()`
 */
export function retryDelayMs(attempts: number, random: number, failure?: RetryReason): number {
  const { initialMs, maxMs } = (failure === undefined ? undefined : POLICIES[failure.code]) ?? DEFAULT_POLICY;
  const delay = Math.min(initialMs * 2 ** (attempts - 1), maxMs);
  return Math.round((failure?.retryAfterMs ?? 0) + delay / 2 + (delay / 2) * random);
}

/**
 * How long a run waits for its storage, ms: a quarter of the time since its start, half of that random. A short outage
 * costs seconds, and in a long outage runs seldom poll the storage.
 */
export function storageRetryDelayMs(sinceStartMs: number, random: number): number {
  const { initialMs, maxMs } = STORAGE_POLICY;
  const delay = Math.min(Math.max(sinceStartMs / 4, initialMs), maxMs);
  return Math.round(delay / 2 + (delay / 2) * random);
}

/**
 * Thrown to BullMQ to retry a failed attempt after `delayMs`. Contains only the error's code, because BullMQ stores it.
 */
export class RetryLater extends Error {
  override readonly name = 'RetryLater';
  readonly delayMs: number;

  constructor(code: string, delayMs: number) {
    super(code);
    this.delayMs = delayMs;
  }
}

/** A run that makes progress each time still fails after this many times `maxCrashes`. */
const TOTAL_CRASH_FACTOR = 4;
/** For runs opened by older versions. */
const DEFAULT_DEADLINE_MS = DAY_MS;

export const deadlineMsOf = ({ deadlineMs }: RunOrder): number => deadlineMs ?? DEFAULT_DEADLINE_MS;

/** @param all number of workers that crashed with the run since its job was added */
export function countCrashes({ losses, calls, deliveries, tokenWaitMs }: RunRecord, all: number): WorkerCrashes {
  const progress = calls.made + deliveries.length + tokenWaitMs;
  // A job that was added again counts from 0.
  const more = all - (all < losses.all ? 0 : losses.all);
  return { all, stuck: more === 0 || progress > losses.far ? more : losses.stuck + more, far: progress };
}

export const isPoisoned = ({ all, stuck }: WorkerCrashes, maxCrashes: number): boolean =>
  stuck >= maxCrashes || all >= maxCrashes * TOTAL_CRASH_FACTOR;

export const poisonError = ({ all, stuck }: WorkerCrashes): DocketError =>
  new DocketError('run.poison', `The run crashed ${all} workers, the last ${stuck} at the same point.`, {
    next: 'Check the memory of the workers, their logs and the size of the report, then retry it.',
  });

/** @param last the last error, or the reason for the last snooze */
export const deadlineError = (deadlineMs: number, last?: string): DocketError =>
  new DocketError('run.deadline', 'The run exceeded its deadline.', {
    expected: `an end within ${Math.round(deadlineMs / MINUTE_MS)} minutes of its first start`,
    ...(last === undefined ? {} : { got: `its last failure was: ${last}` }),
    next: 'Check what it waited for: `docket doctor` tests the service, the mail servers and the archive; `docket budget` shows the tokens of its API key. Then retry it. `deadline` in its definition allows more time.',
  });
