import { z } from 'zod';
import type { Log } from '../../base/log.ts';
import { DAY_MS } from '../../base/time.ts';
import type { RedisClient } from '../../redis/client.ts';
import { withRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';
import { loadLuaScript, runLuaScript } from '../../redis/script.ts';

/** Keys per step, and steps per call: 20,000 keys in less than a tenth of a second. */
const STEP_SIZE = 1_000;
const MAX_STEPS = 20;

const REPAIR = loadLuaScript('./scripts/repair-index.lua', import.meta.url);
const replySchema = z.tuple([z.string(), z.array(z.string())]);

/**
 * Enters unfinished runs into the indexes again if Redis lost the indexes but kept the records: such runs would never
 * continue otherwise. Each call scans some keys and returns how many runs it entered. The next call continues behind
 * them.
 *
 * @param keepDays as for the run store
 */
export function createIndexRepair(
  redis: RedisClient,
  { prefix, keepDays, log }: { readonly prefix: string; readonly keepDays: number; readonly log: Log },
): () => Promise<number> {
  const keys = redisKeys(prefix);
  const start = keys.record('');
  const pattern = `${start.replace(/[\\*?[\]]/g, '\\$&')}*`;
  const ttl = Math.round(keepDays * DAY_MS);
  let cursor = '0';
  return () =>
    withRedisErrors(redis, async () => {
      let count = 0;
      for (let step = 0; step < MAX_STEPS; step += 1) {
        const args = [cursor, pattern, start.length, STEP_SIZE, keys.states, ttl];
        const reply = await runLuaScript(redis, REPAIR, [keys.unfinished, keys.orgs, keys.index()], args);
        const [next, repaired] = replySchema.parse(reply);
        for (const run of repaired) log.warn('Run was missing in the index; entered again', { run });
        count += repaired.length;
        cursor = next;
        if (cursor === '0') break;
      }
      return count;
    });
}
