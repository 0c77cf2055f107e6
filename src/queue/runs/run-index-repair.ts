import { z } from 'zod';
import type { Log } from '../../base/log.ts';
import type { RedisClient } from '../../redis/client.ts';
import { withRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';
import { loadLuaScript, runLuaScript } from '../../redis/script.ts';

/** Keys that one step goes through, and steps of one look: some 20,000 keys in less than a tenth of a second. */
const STEP_SIZE = 1_000;
const MAX_STEPS = 20;

const REPAIR = loadLuaScript('./scripts/repair-index.lua', import.meta.url);
const replySchema = z.tuple([z.string(), z.array(z.string())]);

/**
 * Puts runs that have not ended back into the indexes, where Redis has lost those and kept the records: nobody would look at
 * them again. Each look goes through some keys and the next one goes on behind them. A look returns how many runs it
 * put back.
 *
 * @param keepDays as the run store's
 */
export function createIndexRepair(
  redis: RedisClient,
  { prefix, keepDays, log }: { readonly prefix: string; readonly keepDays: number; readonly log: Log },
): () => Promise<number> {
  const keys = redisKeys(prefix);
  const start = keys.record('');
  const pattern = `${start.replace(/[\\*?[\]]/g, '\\$&')}*`;
  const ttl = Math.round(keepDays * 86_400_000);
  let cursor = '0';
  return () =>
    withRedisErrors(redis, async () => {
      let count = 0;
      for (let step = 0; step < MAX_STEPS; step += 1) {
        const reply = await runLuaScript(
          redis,
          REPAIR,
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
