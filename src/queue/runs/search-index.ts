import { randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '../../base/clock.ts';
import { DocketError, toDocketError } from '../../base/error.ts';
import type { Log } from '../../base/log.ts';
import { asciiLowerCase } from '../../base/text/fold.ts';
import { DAY_MS, SECOND_MS } from '../../base/time.ts';
import { execPipeline, type RedisClient } from '../../redis/client.ts';
import { mapRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';
import { loadLuaScript, runLuaScript } from '../../redis/script.ts';
import { listRunIds } from './run-index.ts';

/** A recipient in an organization's index. */
export interface IndexedRecipient {
  readonly org: string;
  /** `recipientTerm` of its deliveries: an address, or where files go. */
  readonly recipient: string;
  /** Name for `RunFilter.recipients`. */
  readonly name: string;
  /** When its latest delivery was, epoch ms. */
  readonly at: number;
}

/** The search indexes: recipients, reports with runs, and first days of periods. */
export type SearchIndex = ReturnType<typeof redisSearchIndex>;

/** Newest and unfinished runs that each search checks. */
const CHECKED_RUNS = 200;
/** Runs per step of a rebuild. A step takes some milliseconds in Redis. */
const REBUILD_BATCH_SIZE = 100;
/** Recipients per step of a search. */
const SCAN_COUNT = 5_000;
/** A member that marks an index as complete, and is lost with the index. Its score keeps it from being trimmed. */
const COMPLETE = '';
/** Another process takes over a rebuild that made no progress for this long. */
const REBUILD_LOCK_MS = 10 * SECOND_MS;
const POLL_INTERVAL_MS = 100;
/** How long a search waits for the indexes. */
const MAX_WAIT_MS = 3 * SECOND_MS;

const INDEX_RUNS = loadLuaScript('./scripts/index-runs-1.lua', import.meta.url);

export interface SearchIndexOptions {
  readonly prefix: string;
  /** The same as for the run store. */
  readonly keepDays: number;
  readonly log: Log;
  readonly clock?: Clock;
  /** How long `refresh` waits for missing indexes, ms. A command can wait longer than a page. */
  readonly maxWaitMs?: number;
}

export function redisSearchIndex(
  redis: RedisClient,
  { prefix, keepDays, log, clock = systemClock, maxWaitMs = MAX_WAIT_MS }: SearchIndexOptions,
) {
  const keys = redisKeys(prefix);
  const mapped = mapRedisErrors(redis);
  const ttl = Math.round(keepDays * DAY_MS);
  const marked = [keys.recipients, keys.firstDays];
  let building: Promise<void> | undefined;

  const enter = async (ids: readonly string[], all: boolean): Promise<number> => {
    if (ids.length === 0) return 0;
    const args = [`${prefix}:`, ttl, all ? 1 : 0, ...ids];
    return Number(await runLuaScript(redis, INDEX_RUNS, [keys.recipients, keys.reports, keys.firstDays], args));
  };
  const isComplete = async (): Promise<boolean> => {
    const pipeline = redis.pipeline();
    for (const key of marked) pipeline.zscore(key, COMPLETE);
    return (await execPipeline(pipeline)).every((score) => score !== null);
  };

  /** Enters all runs, unless another process is doing so. */
  const build = async (): Promise<void> => {
    const self = randomUUID();
    if ((await redis.set(keys.indexing, self, 'PX', REBUILD_LOCK_MS, 'NX')) === null) return;
    try {
      let count = 0;
      for await (const ids of listRunIds(redis, keys, { limit: REBUILD_BATCH_SIZE })) {
        count += await enter(ids, true);
        await redis.pexpire(keys.indexing, REBUILD_LOCK_MS);
      }
      const pipeline = redis.pipeline();
      for (const key of marked) pipeline.zadd(key, '+inf', COMPLETE).pexpire(key, ttl);
      await execPipeline(pipeline);
      log.info('Search indexes built', { count });
    } finally {
      // If this fails, the lock expires by itself.
      await redis.del(keys.indexing).catch(() => {});
    }
  };
  const buildUntilComplete = async (): Promise<void> => {
    for (await build(); !(await isComplete()); await build()) await clock.sleep(POLL_INTERVAL_MS);
  };
  /** Runs one build at a time in this process. The build continues when a search no longer waits for it. */
  const buildOnce = (): Promise<void> => {
    building ??= buildUntilComplete().finally(() => {
      building = undefined;
    });
    return building;
  };
  const waitForBuild = async (): Promise<void> => {
    const waiting = new AbortController();
    const tooLong = clock.sleep(maxWaitMs, waiting.signal).then(
      () => true,
      () => false,
    );
    const built = buildOnce();
    built.catch((thrown: unknown) => {
      log.warn('Search indexes were not built', { error: toDocketError(thrown).toJSON() });
    });
    const isLate = await Promise.race([built.then(() => false), tooLong]).finally(() => waiting.abort());
    if (isLate) throw notReadyError();
  };

  return {
    /**
     * Prepares the indexes; call it before a search. Adds runs that processes of an older version have opened, among the
     * newest and the unfinished runs. If the indexes are missing, builds them, or waits for the process that does. Throws
     * `search.not_ready` if that takes longer than a person waits; the build continues.
     */
    refresh: mapped(async (): Promise<void> => {
      if (!(await isComplete())) return waitForBuild();
      const newest = await Promise.all(
        [keys.index(), keys.unfinished].map((index) => redis.zrevrange(index, 0, CHECKED_RUNS - 1)),
      );
      await enter([...new Set(newest.flat())], false);
    }),
    /** Checks all runs, and returns how many it added. Run it periodically. */
    repair: mapped(async (): Promise<number> => {
      if (!(await isComplete())) await buildOnce();
      let count = 0;
      for await (const ids of listRunIds(redis, keys, { limit: REBUILD_BATCH_SIZE })) count += await enter(ids, false);
      return count;
    }),
    /** Recipients of these organizations that contain the text, ignoring case, latest delivery first. */
    findRecipients: mapped(
      async (text: string, orgs: readonly string[] | '*'): Promise<readonly IndexedRecipient[]> => {
        const part = asciiLowerCase(text);
        const visible = orgs === '*' ? undefined : new Set(orgs);
        const found = new Map<string, IndexedRecipient>();
        let cursor = '0';
        do {
          const pattern = `*${part.replace(/[\\*?[\]]/g, '\\$&')}*`;
          const [next, flat] = await redis.zscan(keys.recipients, cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT);
          for (let index = 0; index + 1 < flat.length; index += 2) {
            const name = flat[index] ?? '';
            const [org, recipient] = [name.slice(0, name.indexOf('/')), name.slice(name.indexOf('/') + 1)];
            if (name === COMPLETE || (visible !== undefined && !visible.has(org))) continue;
            // The pattern also matches the organization's name.
            if (recipient.includes(part)) found.set(name, { org, recipient, name, at: Number(flat[index + 1]) });
          }
          cursor = next;
        } while (cursor !== '0');
        return [...found.values()].sort((one, other) => other.at - one.at || (one.name < other.name ? -1 : 1));
      },
    ),
    /** All reports with runs, `org/report`. */
    reports: mapped((): Promise<readonly string[]> => redis.zrange(keys.reports, 0, '-1')),
  };
}

const notReadyError = (): DocketError =>
  new DocketError('search.not_ready', 'The search indexes are being built.', {
    expected: 'complete indexes: without them some runs would not be found',
    got: 'a Redis that lost them, or was used by an older version until now',
    next: 'Try again in a minute.',
  });
