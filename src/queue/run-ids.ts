import type { Keys } from './keys.ts';
import { type RedisClient, script } from './script.ts';

/** Ms after which the order of ids is made anew from the index by time. */
const TTL_MS = 86_400_000;
/** Ids read at once. */
const PAGE_SIZE = 100;

/**
 * Lua: `followIds(ids, index, id, oldest)` keeps the ids of all runs in their own order, for as long as somebody asks for
 * it: `FIND` makes it from the index by time. What has outlived its record leaves both at the same moment.
 */
export const FOLLOW_IDS = `
local function followIds(ids, index, id, oldest)
  if redis.call('EXISTS', ids) == 0 then return end
  local expired = redis.call('ZRANGEBYSCORE', index, '-inf', '(' .. string.format('%.0f', oldest))
  for _, gone in ipairs(expired) do redis.call('ZREM', ids, gone) end
  redis.call('ZADD', ids, 0, id)
end
`;

// KEYS: ids, index of all runs by time  ARGV: from, to, how many, ttl ms
// Runs that a version before has opened, or opens beside this one, are in the index by time alone: then the two differ.
const FIND = script(`
if redis.call('ZCARD', KEYS[1]) ~= redis.call('ZCARD', KEYS[2]) then
  redis.call('ZUNIONSTORE', KEYS[1], 1, KEYS[2], 'WEIGHTS', 0)
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
end
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
  const range = [after === undefined ? `[${prefix}` : `(${after}`, `(${prefix}g`];
  const reply = await FIND(redis, [keys.ids, keys.index()], [...range, PAGE_SIZE, TTL_MS]);
  if (!Array.isArray(reply)) throw new Error('the script answered something else');
  return reply.map(String);
}
