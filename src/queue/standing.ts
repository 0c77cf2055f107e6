import type { RunState } from '../run/record.ts';
import { asking } from './connection.ts';
import { keysOf } from './keys.ts';
import { repliesOf } from './pipeline.ts';
import type { RedisClient } from './script.ts';

/** States in which a run goes on, or waits for somebody. */
export const STANDING = ['queued', 'running', 'waiting', 'held'] as const satisfies readonly RunState[];

/** The runs of one state. */
export interface Standing {
  readonly state: (typeof STANDING)[number];
  readonly count: number;
  /** Epoch ms at which the oldest of them was opened; null when there is none. */
  readonly oldest: number | null;
}

/**
 * Runs on record by state, of all organizations: eight short commands in one round trip, however many runs there are.
 * Throws `redis.unreachable`.
 *
 * @param since epoch ms: an index may name older ones, whose record has expired
 */
export const standingRuns = (
  redis: RedisClient,
  { prefix, since }: { readonly prefix: string; readonly since: number },
): Promise<readonly Standing[]> =>
  asking(redis, async () => {
    const { states } = keysOf(prefix);
    const pipeline = redis.pipeline();
    for (const state of STANDING) {
      pipeline.zcount(`${states}:${state}`, since, '+inf');
      pipeline.zrangebyscore(`${states}:${state}`, since, '+inf', 'WITHSCORES', 'LIMIT', 0, 1);
    }
    const replies = await repliesOf(pipeline);
    return STANDING.map((state, index): Standing => {
      const first = replies[2 * index + 1];
      const score: unknown = Array.isArray(first) ? first[1] : undefined;
      return { state, count: Number(replies[2 * index]), oldest: score === undefined ? null : Number(score) };
    });
  });
