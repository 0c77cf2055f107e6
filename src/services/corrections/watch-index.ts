import { z } from 'zod';
import { DAY_MS, epochMsSchema, SECOND_MS } from '../../base/time.ts';
import { parseStored, type RedisClient } from '../../redis/client.ts';
import { mapRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';

const summarySchema = z.object({
  /** When this was counted, epoch ms. */
  at: epochMsSchema,
  /** Editions whose figures are compared with the service's. */
  watched: z.int().nonnegative(),
  /** Number of corrections that wait for a decision. */
  open: z.int().nonnegative(),
  /** When the oldest open correction was found, epoch ms; null without any. */
  oldest: epochMsSchema.nullable(),
});
/** The watched editions and corrections of an organization. */
export type CorrectionSummary = Readonly<z.infer<typeof summarySchema>> & { readonly org: string };

/** What processes share about the watch. All of it may be lost: the archive is the source of truth. */
export type WatchIndex = ReturnType<typeof redisWatchIndex>;

/** Keeps the index in Redis. Throws `redis.unreachable`. */
export function redisWatchIndex(redis: RedisClient, { prefix }: { readonly prefix: string }) {
  const keys = redisKeys(prefix);
  const mapped = mapRedisErrors(redis);
  const remove = async (key: string, kept: ReadonlySet<string>): Promise<void> => {
    const gone = (await redis.hkeys(key)).filter((field) => !kept.has(field));
    if (gone.length > 0) await redis.hdel(key, ...gone);
  };
  return {
    /** When each run's figures were last compared, epoch ms. */
    checks: mapped(async (): Promise<ReadonlyMap<string, number>> => {
      const stored = Object.entries(await redis.hgetall(keys.correctionChecks));
      return new Map(stored.map(([run, at]) => [run, Number(at)] as const).filter(([, at]) => Number.isFinite(at)));
    }),
    // The claim stays, because another process may have read the checks before this one.
    recordCheck: mapped(
      async (run: string, at: number): Promise<void> => void (await redis.hset(keys.correctionChecks, run, at)),
    ),
    /** Forgets all other runs. */
    retain: mapped(async (runs: ReadonlySet<string>): Promise<void> => remove(keys.correctionChecks, runs)),
    /** Claims the run for this process. False while another process has it. May be repeated with the same `by`. */
    claim: mapped(async (run: string, by: string, ttlMs: number): Promise<boolean> => {
      const key = keys.correctionClaim(run);
      if ((await redis.set(key, by, 'PX', ttlMs, 'NX')) === 'OK') return true;
      if ((await redis.get(key)) !== by) return false;
      await redis.pexpire(key, ttlMs);
      return true;
    }),
    putSummaries: mapped(async (summaries: readonly CorrectionSummary[]): Promise<void> => {
      await remove(keys.corrections, new Set(summaries.map(({ org }) => org)));
      for (const { org, ...summary } of summaries) await redis.hset(keys.corrections, org, JSON.stringify(summary));
    }),
    /** Sorted by organization. */
    summaries: mapped(
      async (): Promise<readonly CorrectionSummary[]> =>
        Object.entries(await redis.hgetall(keys.corrections))
          .flatMap(([org, text]): CorrectionSummary[] => {
            const summary = parseStored(summarySchema, text);
            return summary === undefined ? [] : [{ org, ...summary }];
          })
          .sort((one, other) => one.org.localeCompare(other.org)),
    ),
  };
}

/** How often an edition's figures are compared. */
const CHECK_INTERVAL_MS = DAY_MS;
/** How late the last comparison may be: for a while, there may be no spare tokens or no worker. */
const MAX_LATENESS_MS = 7 * DAY_MS;

interface WatchedTimes {
  /** When the edition was delivered, epoch ms. */
  readonly deliveredAt: number;
  /** How long the edition is watched, in seconds. */
  readonly watch: number;
  /** When its figures were last compared, epoch ms; undefined before the first time. */
  readonly checkedAt: number | undefined;
}

/**
 * When an edition's figures are compared next, epoch ms: once a day, and at the end of the watch. Undefined once the
 * watch is over.
 */
export function nextCheckAt(
  { deliveredAt, watch, checkedAt = deliveredAt }: WatchedTimes,
  now: number,
): number | undefined {
  const end = deliveredAt + watch * SECOND_MS;
  if (checkedAt >= end || now > end + MAX_LATENESS_MS) return undefined;
  return Math.min(checkedAt + CHECK_INTERVAL_MS, end);
}
