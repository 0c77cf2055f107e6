import { z } from 'zod';
import { batchesOf } from '../../base/concurrency.ts';
import type { RedisClient } from '../../redis/client.ts';
import { withRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';
import { loadLuaScript, runLuaScript } from '../../redis/script.ts';

/** A move of one cursor; epoch ms. */
export interface CursorMove {
  readonly cursor: string;
  readonly from: number;
  readonly to: number;
}

/** By the name of a schedule's cursor: the instant (epoch ms) up to which its slots were processed. */
export interface ScheduleCursors {
  /** Undefined for a missing cursor and for an unreadable one. */
  read(cursors: readonly string[]): Promise<readonly (number | undefined)[]>;
  /** Sets the missing and the unreadable ones of these cursors, and returns the names of the unreadable ones. */
  initialize(cursors: readonly string[], at: number): Promise<readonly string[]>;
  /** Moves all of them in one step. False, and none is moved, when another process has moved one. */
  advance(moves: readonly CursorMove[]): Promise<boolean>;
  countSkipped(report: string, count: number): Promise<void>;
}

const ADVANCE = loadLuaScript('./advance-cursors.lua', import.meta.url);
const INITIALIZE = loadLuaScript('./initialize-cursors.lua', import.meta.url);
const namesSchema = z.array(z.string());

/** Epoch ms as written; `initialize-cursors.lua` has the same pattern. */
const INSTANT_PATTERN = /^\d{1,15}$/;
/** Cursors per command. */
const BATCH_SIZE = 2_000;

/** In one hash. Throws `redis.unreachable`. */
export function redisScheduleCursors(redis: RedisClient, { prefix }: { readonly prefix: string }): ScheduleCursors {
  const keys = redisKeys(prefix);
  return {
    read: (cursors) =>
      withRedisErrors(redis, async () => {
        const found: (number | undefined)[] = [];
        for (const batch of batchesOf(cursors, BATCH_SIZE)) {
          const values = await redis.hmget(keys.cursors, ...batch);
          found.push(
            ...values.map((value) => (value !== null && INSTANT_PATTERN.test(value) ? Number(value) : undefined)),
          );
        }
        return found;
      }),
    initialize: (cursors, at) =>
      withRedisErrors(redis, async () => {
        const unreadable: string[] = [];
        for (const names of batchesOf(cursors, BATCH_SIZE)) {
          unreadable.push(...namesSchema.parse(await runLuaScript(redis, INITIALIZE, [keys.cursors], [at, ...names])));
        }
        return unreadable;
      }),
    advance: (moves) =>
      withRedisErrors(redis, async () => {
        const args = moves.flatMap(({ cursor, from, to }) => [cursor, from, to]);
        return (await runLuaScript(redis, ADVANCE, [keys.cursors], args)) === 1;
      }),
    countSkipped: (report, count) =>
      withRedisErrors(redis, async () => {
        await redis.hincrby(keys.skipped, report, count);
      }),
  };
}
