import type { ErrorCode } from '../base/error.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

interface Pace {
  readonly firstMs: number;
  readonly mostMs: number;
}

const SLOW: Pace = { firstMs: 30 * SECOND_MS, mostMs: 15 * MINUTE_MS };
/**
 * How fast a failed try is made again, by what it failed of; `SLOW` where nothing is said. A target that says "later"
 * (greylisting, a full mailbox) means minutes; a Redis or an archive that is away is back in seconds, or is everybody's
 * concern already.
 */
const PACES: Partial<Record<ErrorCode, Pace>> = {
  'api.throttled': { firstMs: MINUTE_MS, mostMs: 15 * MINUTE_MS },
  'deliver.target_failed': { firstMs: MINUTE_MS, mostMs: 30 * MINUTE_MS },
  'redis.unreachable': { firstMs: 5 * SECOND_MS, mostMs: 2 * MINUTE_MS },
  'redis.out_of_memory': { firstMs: 10 * SECOND_MS, mostMs: 5 * MINUTE_MS },
  'redis.unwritable': { firstMs: 10 * SECOND_MS, mostMs: 5 * MINUTE_MS },
  'archive.unwritable': { firstMs: 10 * SECOND_MS, mostMs: 5 * MINUTE_MS },
  'archive.key_unknown': { firstMs: 10 * SECOND_MS, mostMs: 5 * MINUTE_MS },
  'archive.marker_missing': { firstMs: 10 * SECOND_MS, mostMs: 5 * MINUTE_MS },
  'archive.marker_changed': { firstMs: 10 * SECOND_MS, mostMs: 5 * MINUTE_MS },
  'deployment.conflict': { firstMs: 10 * SECOND_MS, mostMs: 5 * MINUTE_MS },
};
const STORAGE: Pace = { firstMs: 10 * SECOND_MS, mostMs: 5 * MINUTE_MS };

/** What of an error decides when to try again. */
export interface Failure {
  readonly code: ErrorCode;
  /** How long the service asked to wait, ms. */
  readonly retryAfterMs?: number | undefined;
}

/**
 * Ms before the next try: doubles from try to try, the second half of it by chance, so that a hundred runs which failed
 * together do not come back together; never before the moment that the service itself has named.
 *
 * @param failed tries that have failed, from 1
 * @param chance from 0 to 1, e.g. `Math.random()`
 */
export function backoffMs(failed: number, chance: number, failure?: Failure): number {
  const { firstMs, mostMs } = (failure === undefined ? undefined : PACES[failure.code]) ?? SLOW;
  const whole = Math.min(firstMs * 2 ** (failed - 1), mostMs);
  return Math.round((failure?.retryAfterMs ?? 0) + whole / 2 + (whole / 2) * chance);
}

/**
 * Ms for which a run sleeps whose storage cannot be used: a quarter of the time since it began, the second half of it by
 * chance. A disk that is full for a moment costs seconds; one that stays so is not asked by every run all the time.
 */
export function storageWaitMs(sinceStartMs: number, chance: number): number {
  const { firstMs, mostMs } = STORAGE;
  const whole = Math.min(Math.max(sinceStartMs / 4, firstMs), mostMs);
  return Math.round(whole / 2 + (whole / 2) * chance);
}

/** Thrown to BullMQ for a try that failed and will be made again after `delayMs`; carries the error's code alone. */
export class RetryLater extends Error {
  override readonly name = 'RetryLater';
  readonly delayMs: number;

  constructor(code: string, delayMs: number) {
    super(code);
    this.delayMs = delayMs;
  }
}
