import { z } from 'zod';
import type { RedisClient } from '../../redis/client.ts';
import { withRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';
import { loadLuaScript, runLuaScript } from '../../redis/script.ts';

/** A step of one cursor, both epoch ms. */
export interface CursorMove {
  readonly cursor: string;
  readonly from: number;
  readonly to: number;
}

/** Up to which instant (epoch ms) the slots of each schedule were looked at, by the name of its cursor. */
export interface ScheduleCursors {
  /** Undefined for one that is not there, and for one that no clock can have written. */
  read(cursors: readonly string[]): Promise<readonly (number | undefined)[]>;
  /**
   * Schedules seen for the first time start here; those that are known stay where they are. Names those that stood
   * there and could not be read: nobody knows how far they were looked at.
   */
  initialize(cursors: readonly string[], at: number): Promise<readonly string[]>;
  /** Moves all of them in one step; false, and none is moved, when somebody else has moved one meanwhile. */
  advance(moves: readonly CursorMove[]): Promise<boolean>;
  countSkipped(report: string, count: number): Promise<void>;
}

const ADVANCE = loadLuaScript('./advance-cursors.lua', import.meta.url);
const INITIALIZE = loadLuaScript('./initialize-cursors.lua', import.meta.url);
const namesSchema = z.array(z.string());

/** Epoch ms as it is written; `START` reads it likewise. */
const INSTANT_PATTERN = /^\d{1,15}$/;
/** Cursors read by one command. */
const BATCH_SIZE = 2_000;

/** The cursors of a server, in one hash. Throws `redis.unreachable` when it is away. */
export function redisScheduleCursors(redis: RedisClient, { prefix }: { readonly prefix: string }): ScheduleCursors {
  const keys = redisKeys(prefix);
  return {
    read: (cursors) =>
      withRedisErrors(redis, async () => {
        const found: (number | undefined)[] = [];
        for (let from = 0; from < cursors.length; from += BATCH_SIZE) {
          const values = await redis.hmget(keys.cursors, ...cursors.slice(from, from + BATCH_SIZE));
          found.push(
            ...values.map((value) => (value !== null && INSTANT_PATTERN.test(value) ? Number(value) : undefined)),
          );
        }
        return found;
      }),
    initialize: (cursors, at) =>
      withRedisErrors(redis, async () => {
        const broken: string[] = [];
        for (let from = 0; from < cursors.length; from += BATCH_SIZE) {
          const names = cursors.slice(from, from + BATCH_SIZE);
          broken.push(...namesSchema.parse(await runLuaScript(redis, INITIALIZE, [keys.cursors], [at, ...names])));
        }
        return broken;
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
