import { DAY_MS } from '../../base/time.ts';
import type { RedisClient } from '../../redis/client.ts';
import type { RedisKeys } from '../../redis/keys.ts';
import { loadLuaScript, runLuaScript } from '../../redis/script.ts';
import type { RunRecord } from '../../run/run-record.ts';

/** Age at which the index of ids is rebuilt from the index by time, ms. */
const ID_INDEX_TTL_MS = DAY_MS;
/** Ids per page. */
const PAGE_SIZE = 100;
/** While runs are constantly opened, the two indexes may never agree. */
const MAX_REBUILDS = 3;
/** Ids per step of a rebuild. */
const REBUILD_BATCH_SIZE = 1_000;

/** Finds runs by the first digits of their ids. */
export interface RunIdLookup {
  get(id: string): Promise<RunRecord | undefined>;
  /** One page of ids, in lexical order. @param after the previous page's last id */
  findIdsByPrefix(prefix: string, after?: string): Promise<readonly string[]>;
}

const FIND_IDS = loadLuaScript('./scripts/find-ids.lua', import.meta.url);

/** Finds ids of runs that begin with a prefix; see `RunIdLookup`. */
export async function findIdsByPrefix(
  redis: RedisClient,
  keys: RedisKeys,
  prefix: string,
  after?: string,
): Promise<readonly string[]> {
  // `g` sorts after every hex digit.
  const [from, to] = [after === undefined ? `[${prefix}` : `(${after}`, `(${prefix}g`];
  for (let rebuilds = 0; rebuilds < MAX_REBUILDS; rebuilds += 1) {
    const reply = await runLuaScript(redis, FIND_IDS, [keys.ids, keys.index()], [from, to, PAGE_SIZE]);
    if (Array.isArray(reply)) return reply.map(String);
    // A concurrent search may interfere with the rebuild. Then the indexes differ, and it is repeated.
    await rebuildIdIndex(redis, keys);
  }
  return redis.zrangebylex(keys.ids, from, to, 'LIMIT', 0, PAGE_SIZE);
}

/**
 * Rebuilds the index of ids in batches: with hundreds of thousands of runs, a single step would block Redis for
 * seconds. If a run is added or removed between two batches, the indexes differ, and the next search repeats the
 * rebuild.
 */
async function rebuildIdIndex(redis: RedisClient, { ids, index }: RedisKeys): Promise<void> {
  await redis.unlink(ids);
  let cursor = '0';
  do {
    const [next, flat] = await redis.zscan(index(), cursor, 'COUNT', REBUILD_BATCH_SIZE);
    // Members and scores alternate in the reply.
    const members = flat.filter((_, position) => position % 2 === 0);
    if (members.length > 0) await redis.zadd(ids, ...members.flatMap((id) => [0, id]));
    cursor = next;
  } while (cursor !== '0');
  await redis.pexpire(ids, ID_INDEX_TTL_MS);
}
