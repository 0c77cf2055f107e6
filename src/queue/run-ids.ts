import type { Keys } from './keys.ts';
import { type RedisClient, script } from './script.ts';

/** Ms after which the order of ids is made anew from the index by time. */
const TTL_MS = 86_400_000;
/** Ids read at once. */
const PAGE_SIZE = 100;
/** Where runs come and go all the time, the two never agree for long. */
const MAX_REBUILDS = 3;
/** Ids put in order at once. */
const STEP_SIZE = 1_000;

/**
 * Lua: `followIds(ids, index, id, oldest)` keeps the ids of all runs in their own order, for as long as somebody asks for
 * it: `rebuild` makes it from the index by time. What has outlived its record leaves both at the same moment.
 */
export const FOLLOW_IDS = `
local function followIds(ids, index, id, oldest)
  if redis.call('EXISTS', ids) == 0 then return end
  local expired = redis.call('ZRANGEBYSCORE', index, '-inf', '(' .. string.format('%.0f', oldest))
  for _, gone in ipairs(expired) do redis.call('ZREM', ids, gone) end
  redis.call('ZADD', ids, 0, id)
end
`;

// KEYS: ids, index of all runs by time  ARGV: from, to, how many
// Runs that a version before has opened, or opens beside this one, are in the index by time alone: then the two differ.
const FIND = script(`
if redis.call('ZCARD', KEYS[1]) ~= redis.call('ZCARD', KEYS[2]) then return false end
return redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])
`);

/** Ids of runs that begin so, in their order, a hundred at the most. @param after the last one that is known */
export async function idsFrom(
  redis: RedisClient,
  keys: Pick<Keys, 'ids' | 'index'>,
  prefix: string,
  after?: string,
): Promise<readonly string[]> {
  // `g` follows every hex digit.
  const [from, to] = [after === undefined ? `[${prefix}` : `(${after}`, `(${prefix}g`];
  for (let tries = 0; tries < MAX_REBUILDS; tries += 1) {
    const reply = await FIND(redis, [keys.ids, keys.index()], [from, to, PAGE_SIZE]);
    if (Array.isArray(reply)) return reply.map(String);
    // Somebody who searches at the same moment may have begun anew amid it: then it is looked at again.
    await rebuild(redis, keys);
  }
  return redis.zrangebylex(keys.ids, from, to, 'LIMIT', 0, PAGE_SIZE);
}

/**
 * Makes the order of ids anew, some at a time: all at once would keep Redis from everybody else for seconds where there
 * are hundreds of thousands. What comes or goes between two steps makes the two differ, and the next search does it again.
 */
async function rebuild(redis: RedisClient, { ids, index }: Pick<Keys, 'ids' | 'index'>): Promise<void> {
  await redis.unlink(ids);
  let cursor = '0';
  do {
    const [next, flat] = await redis.zscan(index(), cursor, 'COUNT', STEP_SIZE);
    // Members and scores take turns.
    const members = flat.filter((_, position) => position % 2 === 0);
    if (members.length > 0) await redis.zadd(ids, ...members.flatMap((id) => [0, id]));
    cursor = next;
  } while (cursor !== '0');
  await redis.pexpire(ids, TTL_MS);
}
