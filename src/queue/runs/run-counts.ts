import { execPipeline, type RedisClient } from '../../redis/client.ts';
import { withRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';
import type { RunState } from '../../run/run-record.ts';

/** States of runs that continue, or need a decision. */
export const OPEN_STATES = [
  'queued',
  'running',
  'waiting',
  'held',
  'awaiting_approval',
] as const satisfies readonly RunState[];

export interface OpenRunCount {
  readonly state: (typeof OPEN_STATES)[number];
  readonly count: number;
  /** Epoch ms at which the oldest of them was opened; null without any. */
  readonly oldest: number | null;
}

/**
 * Counts the open runs of all organizations by state: ten commands in one round trip, independent of the number of runs.
 * Throws `redis.unreachable`.
 *
 * @param since epoch ms; indexes may contain older runs whose record has expired
 */
export const countOpenRuns = (
  redis: RedisClient,
  { prefix, since }: { readonly prefix: string; readonly since: number },
): Promise<readonly OpenRunCount[]> =>
  withRedisErrors(redis, async () => {
    const keys = redisKeys(prefix);
    const pipeline = redis.pipeline();
    for (const state of OPEN_STATES) {
      const index = keys.statesOf(undefined, state);
      pipeline.zcount(index, since, '+inf');
      pipeline.zrangebyscore(index, since, '+inf', 'WITHSCORES', 'LIMIT', 0, 1);
    }
    const replies = await execPipeline(pipeline);
    return OPEN_STATES.map((state, index): OpenRunCount => {
      const first = replies[2 * index + 1];
      const score: unknown = Array.isArray(first) ? first[1] : undefined;
      return { state, count: Number(replies[2 * index]), oldest: score === undefined ? null : Number(score) };
    });
  });
