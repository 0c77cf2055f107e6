import type { Log } from '../../base/log.ts';
import { DAY_MS } from '../../base/time.ts';
import { execPipeline, type RedisClient } from '../../redis/client.ts';
import { mapRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';
import { loadLuaScript, runLuaScript } from '../../redis/script.ts';
import { listRunIds } from './run-index.ts';

/** A recipient of an organization, as its deliveries name it, in lower case. */
export interface IndexedRecipient {
  readonly org: string;
  /** An address, or the location of the files. */
  readonly recipient: string;
  /** Of `RunFilter.recipients`. */
  readonly name: string;
  /** Epoch ms of its latest delivery. */
  readonly at: number;
}

/** The indexes for searches: recipients, reports with runs, and first days of periods. */
export interface SearchIndex {
  /**
   * Call it before a search. Enters what processes of an older version have added to the newest and to the unfinished runs.
   * Rebuilds the indexes if they are missing, which takes some seconds with a hundred thousand runs.
   */
  refresh(): Promise<void>;
  /** Checks all runs, and returns the number that it entered: a periodic task. */
  repair(): Promise<number>;
  /** Recipients of these organizations that contain the text, the latest first. Ignores case. */
  findRecipients(text: string, orgs: readonly string[] | '*'): Promise<readonly IndexedRecipient[]>;
  /** All reports with runs, `org/report`. */
  reports(): Promise<readonly string[]>;
}

/** Newest and unfinished runs that each search checks. */
const CHECKED_RUNS = 200;
/** Runs per step of a rebuild: some milliseconds in Redis. */
const REBUILD_BATCH_SIZE = 200;
/** Recipients per step of a search. */
const SCAN_COUNT = 5_000;
/** Member of an index that is complete: it is lost with the index. Its score keeps it from being trimmed. */
const COMPLETE = '';

const INDEX_RUNS = loadLuaScript('./scripts/index-runs-1.lua', import.meta.url);

/** @param keepDays as for the run store */
export function redisSearchIndex(
  redis: RedisClient,
  { prefix, keepDays, log }: { readonly prefix: string; readonly keepDays: number; readonly log: Pick<Log, 'info'> },
): SearchIndex {
  const keys = redisKeys(prefix);
  const mapped = mapRedisErrors(redis);
  const ttl = Math.round(keepDays * DAY_MS);
  const scriptKeys = [keys.recipients, keys.reports, keys.firstDays];
  let rebuilding: Promise<number> | undefined;

  const enter = async (ids: readonly string[], all: boolean): Promise<number> => {
    if (ids.length === 0) return 0;
    const args = [`${prefix}:`, ttl, all ? 1 : 0, ...ids];
    return Number(await runLuaScript(redis, INDEX_RUNS, scriptKeys, args));
  };
  const enterAll = async (all: boolean): Promise<number> => {
    let entered = 0;
    for await (const ids of listRunIds(redis, keys, { limit: REBUILD_BATCH_SIZE })) entered += await enter(ids, all);
    return entered;
  };
  const rebuild = async (): Promise<number> => {
    const entered = await enterAll(true);
    const pipeline = redis.pipeline();
    for (const key of [keys.recipients, keys.firstDays]) pipeline.zadd(key, '+inf', COMPLETE);
    for (const key of [keys.recipients, keys.firstDays]) pipeline.pexpire(key, ttl);
    await execPipeline(pipeline);
    log.info('Search indexes rebuilt', { count: entered });
    return entered;
  };
  const isComplete = ([recipients, days]: readonly unknown[]): boolean => recipients !== null && days !== null;
  /** One rebuild at a time; several processes may rebuild at once, with the same result. */
  const rebuildOnce = (): Promise<number> => {
    rebuilding ??= rebuild().finally(() => {
      rebuilding = undefined;
    });
    return rebuilding;
  };

  return {
    refresh: mapped(async () => {
      const pipeline = redis.pipeline();
      pipeline.zscore(keys.recipients, COMPLETE).zscore(keys.firstDays, COMPLETE);
      pipeline.zrevrange(keys.index(), 0, CHECKED_RUNS - 1).zrevrange(keys.unfinished, 0, CHECKED_RUNS - 1);
      const [recipients, days, ...found] = await execPipeline(pipeline);
      if (!isComplete([recipients, days])) await rebuildOnce();
      else await enter([...new Set(found.flat().map(String))], false);
    }),
    repair: mapped(async () => {
      const marks = await Promise.all([
        redis.zscore(keys.recipients, COMPLETE),
        redis.zscore(keys.firstDays, COMPLETE),
      ]);
      return isComplete(marks) ? enterAll(false) : rebuildOnce();
    }),
    findRecipients: mapped(async (text, orgs) => {
      const part = lowerCase(text);
      const pattern = `${orgs !== '*' && orgs.length === 1 ? escapeGlob(orgs[0] ?? '') : '*'}/*${escapeGlob(part)}*`;
      const visible = orgs === '*' ? undefined : new Set(orgs);
      const found = new Map<string, IndexedRecipient>();
      let cursor = '0';
      do {
        const [next, flat] = await redis.zscan(keys.recipients, cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT);
        for (let index = 0; index + 1 < flat.length; index += 2) {
          const name = flat[index] ?? '';
          const [org, recipient] = [name.slice(0, name.indexOf('/')), name.slice(name.indexOf('/') + 1)];
          if (visible !== undefined && !visible.has(org)) continue;
          // The pattern matches a text that begins in a later slash, too.
          if (recipient.includes(part)) found.set(name, { org, recipient, name, at: Number(flat[index + 1]) });
        }
        cursor = next;
      } while (cursor !== '0');
      return [...found.values()].sort((one, other) => other.at - one.at || (one.name < other.name ? -1 : 1));
    }),
    reports: mapped(() => redis.zrange(keys.reports, 0, '-1')),
  };
}

/** As Redis does it: ASCII only. */
const lowerCase = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

const escapeGlob = (text: string): string => text.replace(/[\\*?[\]]/g, '\\$&');
