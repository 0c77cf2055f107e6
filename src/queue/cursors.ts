import { z } from 'zod';
import { asking } from './connection.ts';
import { keysOf } from './keys.ts';
import { type RedisClient, script } from './script.ts';

/** A step of one cursor, both epoch ms. */
export interface Move {
  readonly cursor: string;
  readonly from: number;
  readonly to: number;
}

/** Up to which instant (epoch ms) the slots of each schedule were looked at, by the name of its cursor. */
export interface Cursors {
  /** Undefined for one that is not there, and for one that no clock can have written. */
  read(cursors: readonly string[]): Promise<readonly (number | undefined)[]>;
  /**
   * Schedules seen for the first time start here; those that are known stay where they are. Names those that stood
   * there and could not be read: nobody knows how far they were looked at.
   */
  start(cursors: readonly string[], at: number): Promise<readonly string[]>;
  /** Moves all of them in one step; false, and none is moved, when somebody else has moved one meanwhile. */
  advance(moves: readonly Move[]): Promise<boolean>;
  countSkipped(report: string, count: number): Promise<void>;
}

// ARGV: cursor, from, to, …
const ADVANCE = script(`
for i = 1, #ARGV, 3 do
  if redis.call('HGET', KEYS[1], ARGV[i]) ~= ARGV[i + 1] then return 0 end
end
for i = 1, #ARGV, 3 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 2]) end
return 1
`);

// ARGV: at, cursor, …
const START = script(`
local broken = {}
for i = 2, #ARGV do
  local stands = redis.call('HGET', KEYS[1], ARGV[i])
  local legible = stands and #stands <= 15 and string.find(stands, '^%d+$')
  if not legible then redis.call('HSET', KEYS[1], ARGV[i], ARGV[1]) end
  if stands and not legible then broken[#broken + 1] = ARGV[i] end
end
return broken
`);
const namesSchema = z.array(z.string());

/** Epoch ms as it is written; `START` reads it likewise. */
const INSTANT = /^\d{1,15}$/;
/** Cursors read by one command. */
const AT_ONCE = 2_000;

/** The cursors of a server, in one hash. Throws `redis.unreachable` when it is away. */
export function redisCursors(redis: RedisClient, { prefix }: { readonly prefix: string }): Cursors {
  const keys = keysOf(prefix);
  return {
    read: (cursors) =>
      asking(redis, async () => {
        const found: (number | undefined)[] = [];
        for (let from = 0; from < cursors.length; from += AT_ONCE) {
          const values = await redis.hmget(keys.cursors, ...cursors.slice(from, from + AT_ONCE));
          found.push(...values.map((value) => (value !== null && INSTANT.test(value) ? Number(value) : undefined)));
        }
        return found;
      }),
    start: (cursors, at) =>
      asking(redis, async () => {
        const broken: string[] = [];
        for (let from = 0; from < cursors.length; from += AT_ONCE) {
          const names = cursors.slice(from, from + AT_ONCE);
          broken.push(...namesSchema.parse(await START(redis, [keys.cursors], [at, ...names])));
        }
        return broken;
      }),
    advance: (moves) =>
      asking(redis, async () => {
        const args = moves.flatMap(({ cursor, from, to }) => [cursor, from, to]);
        return (await ADVANCE(redis, [keys.cursors], args)) === 1;
      }),
    countSkipped: (report, count) =>
      asking(redis, async () => {
        await redis.hincrby(keys.skipped, report, count);
      }),
  };
}
