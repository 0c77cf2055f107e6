import { z } from 'zod';
import { type RedisClient, script } from './script.ts';

/** Ids that one script looks at: it keeps Redis from everybody else meanwhile. */
const BATCH_SIZE = 500;

/**
 * Lua: `isLost(prefix, id)`, whether nothing will run the job: its hash is gone, it has ended, or it is in none of BullMQ's
 * lists and sets, as after the loss of some keys. A job under a lock is in the hands of a worker, whatever else is lost:
 * when that worker goes, its lock does. BullMQ moves jobs by scripts, so that none is seen between two lists.
 */
const IS_LOST = `
local function isLost(prefix, id)
  local job = prefix .. id
  if redis.call('EXISTS', job .. ':lock') == 1 then return false end
  local known = redis.call('HMGET', job, 'name', 'finishedOn')
  if not known[1] or known[2] then return true end
  for _, set in ipairs({ 'prioritized', 'delayed', 'waiting-children' }) do
    if redis.call('ZSCORE', prefix .. set, id) then return false end
  end
  for _, list in ipairs({ 'active', 'wait', 'paused' }) do
    if redis.call('LPOS', prefix .. list, id) then return false end
  end
  return true
end
`;

// KEYS: the prefix of the queue's keys  ARGV: ids
const FIND = script(`
${IS_LOST}
local lost = {}
for _, id in ipairs(ARGV) do
  if isLost(KEYS[1], id) then lost[#lost + 1] = id end
end
return lost
`);

// KEYS: the prefix of the queue's keys  ARGV: id
// An id without its hash may be in several lists: each would start the run once.
const CLEAR = script(`
${IS_LOST}
local prefix, id = KEYS[1], ARGV[1]
if not isLost(prefix, id) then return 0 end
for _, set in ipairs({ 'prioritized', 'delayed', 'waiting-children', 'completed', 'failed' }) do
  redis.call('ZREM', prefix .. set, id)
end
for _, list in ipairs({ 'active', 'wait', 'paused' }) do redis.call('LREM', prefix .. list, 0, id) end
redis.call('SREM', prefix .. 'stalled', id)
for _, part in ipairs({ '', ':logs', ':dependencies', ':processed', ':failed', ':unsuccessful' }) do
  redis.call('DEL', prefix .. id .. part)
end
return 1
`);

const idsSchema = z.array(z.string());

/**
 * Which of these jobs nothing will run.
 * @param queue the prefix of the queue's keys, its last `:` included
 */
export async function findLost(redis: RedisClient, queue: string, ids: readonly string[]): Promise<readonly string[]> {
  const lost: string[] = [];
  for (let from = 0; from < ids.length; from += BATCH_SIZE) {
    lost.push(...idsSchema.parse(await FIND(redis, [queue], ids.slice(from, from + BATCH_SIZE))));
  }
  return lost;
}

/** Removes all that is left of a job that nothing will run; one that is live stays as it is. */
export const clearLost = async (redis: RedisClient, queue: string, id: string): Promise<void> =>
  void (await CLEAR(redis, [queue], [id]));
