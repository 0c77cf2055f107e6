import { z } from 'zod';
import { splitBatches } from '../../base/concurrency.ts';
import type { RedisClient } from '../../redis/client.ts';
import { mapRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';
import { loadLuaScript, runLuaScript } from '../../redis/script.ts';

/** One cursor's move, in epoch ms. */
export interface CursorMove {
  readonly cursor: string;
  readonly from: number;
  readonly to: number;
}

const ADVANCE = loadLuaScript('./advance-cursors.lua', import.meta.url);
const INITIALIZE = loadLuaScript('./initialize-cursors.lua', import.meta.url);
const namesSchema = z.array(z.string());

/** Epoch ms as written. `initialize-cursors.lua` has the same pattern. */
const INSTANT_PATTERN = /^\d{1,15}$/;
/** Cursors per command. */
const BATCH_SIZE = 2_000;

/**
 * Stores, by the name of a schedule's cursor, the instant (epoch ms) up to which its slots were processed. In one hash.
 * Throws `redis.unreachable`.
 */
export function redisScheduleCursors(redis: RedisClient, { prefix }: { readonly prefix: string }) {
  const keys = redisKeys(prefix);
  const mapped = mapRedisErrors(redis);
  return {
    /** Reads cursors. Undefined for a missing or unreadable one. */
    read: mapped(async (cursors: readonly string[]) => {
      const found: (number | undefined)[] = [];
      for (const batch of splitBatches(cursors, BATCH_SIZE)) {
        const values = await redis.hmget(keys.cursors, ...batch);
        found.push(...values.map((value) => (INSTANT_PATTERN.test(value ?? '') ? Number(value) : undefined)));
      }
      return found;
    }),
    /** Sets those of these cursors that are missing or unreadable, and returns the names of the unreadable ones. */
    initialize: mapped(async (cursors: readonly string[], at: number) => {
      const unreadable: string[] = [];
      for (const names of splitBatches(cursors, BATCH_SIZE)) {
        unreadable.push(...namesSchema.parse(await runLuaScript(redis, INITIALIZE, [keys.cursors], [at, ...names])));
      }
      return unreadable;
    }),
    /** Moves all of them in one step. False, and moves none, if another process has moved one of them. */
    advance: mapped(async (moves: readonly CursorMove[]) => {
      const args = moves.flatMap(({ cursor, from, to }) => [cursor, from, to]);
      return (await runLuaScript(redis, ADVANCE, [keys.cursors], args)) === 1;
    }),
    countSkipped: mapped(async (report: string, count: number) => {
      await redis.hincrby(keys.skipped, report, count);
    }),
  };
}
export type ScheduleCursors = ReturnType<typeof redisScheduleCursors>;
