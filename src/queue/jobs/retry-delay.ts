import type { ErrorCode } from '../../base/error.ts';
import { MINUTE_MS, SECOND_MS } from '../../base/time.ts';

interface BackoffPolicy {
  readonly initialMs: number;
  readonly maxMs: number;
}

const DEFAULT_POLICY: BackoffPolicy = { initialMs: 30 * SECOND_MS, maxMs: 15 * MINUTE_MS };
/**
 * Backoff by error code, where the default does not fit. A target that defers (greylisting, a full mailbox) needs minutes;
 * an unreachable Redis or archive usually returns within seconds.
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
  /** How long the service asked to wait, ms. */
  readonly retryAfterMs?: number | undefined;
}

/**
 * Exponential backoff, ms. Half of it is jittered, so that runs which failed together do not retry together. Never shorter
 * than the service's `Retry-After`.
 *
 * @param attempts failed attempts, from 1
 * @param random from 0 to 1, e.g. `Math.random()`
 */
export function retryDelayMs(attempts: number, random: number, failure?: RetryReason): number {
  const { initialMs, maxMs } = (failure === undefined ? undefined : POLICIES[failure.code]) ?? DEFAULT_POLICY;
  const delay = Math.min(initialMs * 2 ** (attempts - 1), maxMs);
  return Math.round((failure?.retryAfterMs ?? 0) + delay / 2 + (delay / 2) * random);
}

/**
 * Ms for which a run waits for its storage: a quarter of the time since its start, half of it jittered. A short outage costs
 * seconds; during a long one, storage is not polled by every run.
 */
export function storageRetryDelayMs(sinceStartMs: number, random: number): number {
  const { initialMs, maxMs } = STORAGE_POLICY;
  const delay = Math.min(Math.max(sinceStartMs / 4, initialMs), maxMs);
  return Math.round(delay / 2 + (delay / 2) * random);
}

/** Thrown to BullMQ to retry a failed attempt after `delayMs`. Carries the error's code alone: BullMQ stores it. */
export class RetryLater extends Error {
  override readonly name = 'RetryLater';
  readonly delayMs: number;

  constructor(code: string, delayMs: number) {
    super(code);
    this.delayMs = delayMs;
  }
}
