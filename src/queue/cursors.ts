import { asking } from './connection.ts';
import { keysOf } from './keys.ts';
import { type RedisClient, script } from './script.ts';

/** Up to which instant (epoch ms) the slots of each report were looked at. Named by report and schedule. */
export interface Cursors {
  read(reports: readonly string[]): Promise<readonly (number | undefined)[]>;
  /** Reports seen for the first time start here; those that are known stay where they are. */
  start(reports: readonly string[], at: number): Promise<void>;
  /** Moves one from `from` to `to`; false when somebody else has moved it meanwhile. */
  advance(report: string, from: number, to: number): Promise<boolean>;
  /** Moves many of which it is known that no slot lies in between. */
  pass(reports: readonly string[], to: number): Promise<void>;
  countSkipped(report: string, count: number): Promise<void>;
}

const ADVANCE = script(`
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 1
`);

/** The cursors of a server, in one hash. Throws `redis.unreachable` when it is away. */
export function redisCursors(redis: RedisClient, { prefix }: { readonly prefix: string }): Cursors {
  const keys = keysOf(prefix);
  return {
    read: (reports) =>
      asking(redis, async () => {
        if (reports.length === 0) return [];
        const values = await redis.hmget(keys.cursors, ...reports);
        return values.map((value) => (value === null ? undefined : Number(value)));
      }),
    start: (reports, at) =>
      asking(redis, async () => {
        const pipeline = redis.pipeline();
        for (const report of reports) pipeline.hsetnx(keys.cursors, report, at);
        for (const [error] of (await pipeline.exec()) ?? []) if (error) throw error;
      }),
    advance: (report, from, to) =>
      asking(redis, async () => (await ADVANCE(redis, [keys.cursors], [report, from, to])) === 1),
    pass: (reports, to) =>
      asking(redis, async () => {
        if (reports.length > 0) await redis.hset(keys.cursors, ...reports.flatMap((report) => [report, to]));
      }),
    countSkipped: (report, count) =>
      asking(redis, async () => {
        await redis.hincrby(keys.skipped, report, count);
      }),
  };
}
