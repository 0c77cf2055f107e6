import { z } from 'zod';
import type { Log } from '../base/log.ts';
import { ENDED } from '../run/record.ts';
import { asking } from './connection.ts';
import { keysOf } from './keys.ts';
import { MOVE_STATE } from './run-index.ts';
import { type RedisClient, script } from './script.ts';

/** Keys that one step goes through, and steps of one look: some 20,000 keys in less than a tenth of a second. */
const STEP_SIZE = 1_000;
const MAX_STEPS = 20;

// KEYS: unfinished, organizations, the index of all runs
// ARGV: cursor, pattern of records, characters before a run's id, how many, states' prefix, ttl ms
// A script, so that a Cluster asks the node that holds the keys of this prefix.
const REPAIR = script(`
${MOVE_STATE}
local ENDED = { ${[...ENDED].map((state) => `${state} = true`).join(', ')} }
local found = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[4], 'TYPE', 'hash')
local repaired = {}
for _, key in ipairs(found[2]) do
  local id = string.sub(key, ARGV[3] + 1)
  local known = redis.call('HMGET', key, 'state', 'order')
  if known[1] and known[2] and not ENDED[known[1]] and not redis.call('ZSCORE', KEYS[1], id) then
    local readable, run = pcall(cjson.decode, known[2])
    if readable and type(run) == 'table' and run.org and run.report and tonumber(run.createdAt) then
      redis.call('ZADD', KEYS[1], run.createdAt, id)
      redis.call('ZADD', KEYS[2], 'GT', run.createdAt, run.org)
      for _, of in ipairs({ '', ':' .. run.org, ':' .. run.org .. '/' .. run.report }) do
        redis.call('ZADD', KEYS[3] .. of, run.createdAt, id)
        redis.call('PEXPIRE', KEYS[3] .. of, ARGV[6])
      end
      moveState(ARGV[5], known[2], id, false, known[1], tonumber(ARGV[6]))
      repaired[#repaired + 1] = id
    end
  end
end
return { found[1], repaired }
`);

const replySchema = z.tuple([z.string(), z.array(z.string())]);

/**
 * Puts runs that have not ended back into the indexes, where Redis has lost those and kept the records: nobody would look at
 * them again. Each look goes through some keys and the next one goes on behind them. A look returns how many runs it
 * put back.
 *
 * @param keepDays as the run store's
 */
export function indexRepair(
  redis: RedisClient,
  { prefix, keepDays, log }: { readonly prefix: string; readonly keepDays: number; readonly log: Log },
): () => Promise<number> {
  const keys = keysOf(prefix);
  const start = keys.record('');
  const pattern = `${start.replace(/[\\*?[\]]/g, '\\$&')}*`;
  const ttl = Math.round(keepDays * 86_400_000);
  let cursor = '0';
  return () =>
    asking(redis, async () => {
      let count = 0;
      for (let step = 0; step < MAX_STEPS; step += 1) {
        const reply = await REPAIR(
          redis,
          [keys.unfinished, keys.orgs, keys.index()],
          [cursor, pattern, start.length, STEP_SIZE, keys.states, ttl],
        );
        const [next, repaired] = replySchema.parse(reply);
        for (const run of repaired) log.warn('A run was missing in the index and was put back', { run });
        count += repaired.length;
        cursor = next;
        if (cursor === '0') break;
      }
      return count;
    });
}
