import { DAY_MS } from '../../base/time.ts';

/** The bucket's time from a reply, and when request and reply were sent and received on the monotonic clock (ms). */
export interface BucketClockReading {
  readonly generation: string;
  readonly at: number;
  readonly sentAt: number;
  readonly receivedAt: number;
}

/** What a process tells the script about the bucket of a key. */
interface BucketClockState {
  /** Identifies the bucket from its creation until Redis drops it (field `life`). */
  readonly generation: string;
  /** What to add to the monotonic clock to get the bucket's time, ms. */
  readonly offset: number;
  /** The latest bucket time seen. */
  readonly seen: number;
  /** `offset` was not stored in Redis for a while and should be, for other processes on this machine. */
  readonly isDue: boolean;
}

/** How often (ms) this machine's offset is stored in Redis, for processes that start. */
const OFFSET_INTERVAL_MS = 10_000;
/** `budget-10.lua` keeps a bucket for at least this long (ms) after its last use. */
const BUCKET_TTL_MS = 7 * DAY_MS;
/** How much faster than ours the clock of Redis may run, ms per ms. */
const MAX_DRIFT = 0.0002;
/** A bucket that is behind our estimate by more than this (ms) has lost time. */
const CLOCK_TOLERANCE_MS = 5;

/**
 * Tracks the time of the buckets that one process has used. It shows when the clock of Redis was stepped or its data
 * was lost.
 */
export type BucketClock = ReturnType<typeof bucketClock>;

export function bucketClock() {
  interface Bucket {
    readonly generation: string;
    /** Upper bound of the bucket's time when the monotonic clock read `receivedAt`. */
    readonly at: number;
    readonly receivedAt: number;
    readonly seen: number;
    readonly lastUsed: number;
  }
  /** When the offset was last stored in Redis, on the monotonic clock; by key and generation. */
  const offsetStoredAt = new Map<string, { readonly generation: string; readonly at: number }>();
  const buckets = new Map<string, Bucket>();
  const holds = new Map<string, number>();
  const estimatedTime = ({ at, receivedAt }: Bucket, now: number): number => at + (now - receivedAt) * (1 + MAX_DRIFT);
  return {
    /**
     * Undefined for a bucket that Redis may have dropped.
     * @param now on the monotonic clock
     */
    get: (key: string, now: number): BucketClockState | undefined => {
      const bucket = buckets.get(key);
      if (bucket === undefined || now - bucket.lastUsed >= BUCKET_TTL_MS) return undefined;
      const { generation, seen } = bucket;
      const lastStored = offsetStoredAt.get(key);
      const isDue = lastStored?.generation !== generation || now - lastStored.at >= OFFSET_INTERVAL_MS;
      if (isDue) offsetStoredAt.set(key, { generation, at: now });
      return { generation, seen, isDue, offset: Math.floor(estimatedTime(bucket, now) - now) };
    },
    record: (key: string, { generation, at, sentAt, receivedAt }: BucketClockReading): void => {
      const before = buckets.get(key);
      const same = before?.generation === generation ? before : undefined;
      const seen = Math.max(at, same?.seen ?? at);
      // The script ran before its reply was received, so the quickest of several replies gives the tightest bound.
      const keep =
        same !== undefined &&
        estimatedTime(same, sentAt) <= at + CLOCK_TOLERANCE_MS &&
        estimatedTime(same, receivedAt) > at;
      buckets.set(
        key,
        keep ? { ...same, seen, lastUsed: receivedAt } : { generation, at, receivedAt, seen, lastUsed: receivedAt },
      );
    },
    /** The longest time (ms) that a call of this key can stay unanswered. */
    maxHoldMs: (key: string): number => holds.get(key) ?? 0,
    recordHold: (key: string, holdMs: number): void => void holds.set(key, Math.max(holdMs, holds.get(key) ?? 0)),
  };
}
