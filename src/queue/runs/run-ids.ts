import type { RedisClient } from '../../redis/client.ts';
import type { RedisKeys } from '../../redis/keys.ts';
import { loadLuaScript, runLuaScript } from '../../redis/script.ts';
import type { RunRecord } from '../../run/run-record.ts';

/** Ms after which the order of ids is made anew from the index by time. */
const ID_INDEX_TTL_MS = 86_400_000;
/** Ids read at once. */
const PAGE_SIZE = 100;
/** Where runs come and go all the time, the two never agree for long. */
const MAX_REBUILDS = 3;
/** Ids put in order at once. */
const STEP_SIZE = 1_000;

const FIND_IDS = loadLuaScript('./scripts/find-ids.lua', import.meta.url);

/** Ids of runs that begin so, in their order, a hundred at the most. @param after the last one that is known */
export async function findIdsByPrefix(
  redis: RedisClient,
  keys: Pick<RedisKeys, 'ids' | 'index'>,
  prefix: string,
  after?: string,
): Promise<readonly string[]> {
  // `g` follows every hex digit.
  const [from, to] = [after === undefined ? `[${prefix}` : `(${after}`, `(${prefix}g`];
  for (let tries = 0; tries < MAX_REBUILDS; tries += 1) {
    const reply = await runLuaScript(redis, FIND_IDS, [keys.ids, keys.index()], [from, to, PAGE_SIZE]);
    if (Array.isArray(reply)) return reply.map(String);
    // Somebody who searches at the same moment may have begun anew amid it: then it is looked at again.
    await rebuildIdIndex(redis, keys);
  }
  return redis.zrangebylex(keys.ids, from, to, 'LIMIT', 0, PAGE_SIZE);
}

/**
 * Makes the order of ids anew, some at a time: all at once would keep Redis from everybody else for seconds where there
 * are hundreds of thousands. What comes or goes between two steps makes the two differ, and the next search does it again.
 */
async function rebuildIdIndex(redis: RedisClient, { ids, index }: Pick<RedisKeys, 'ids' | 'index'>): Promise<void> {
  await redis.unlink(ids);
  let cursor = '0';
  do {
    const [next, flat] = await redis.zscan(index(), cursor, 'COUNT', STEP_SIZE);
    // Members and scores take turns.
    const members = flat.filter((_, position) => position % 2 === 0);
    if (members.length > 0) await redis.zadd(ids, ...members.flatMap((id) => [0, id]));
    cursor = next;
  } while (cursor !== '0');
  await redis.pexpire(ids, ID_INDEX_TTL_MS);
}

/** Finds runs by a prefix of their ids. */
export interface RunIdLookup {
  get(id: string): Promise<RunRecord | undefined>;
  /** A page of ids in ascending order. @param after the last id of the page before */
  findIdsByPrefix(prefix: string, after?: string): Promise<readonly string[]>;
}
