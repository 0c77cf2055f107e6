import { execPipeline, type RedisClient } from '../../redis/client.ts';
import { withRedisErrors } from '../../redis/errors.ts';
import { type RunScope, redisKeys } from '../../redis/keys.ts';
import { RUN_STATES, type RunState } from '../../run/run-record.ts';

/** States of runs that continue or need a decision. */
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
  /** When the oldest of these runs was opened, epoch ms; null without any. */
  readonly oldest: number | null;
}

/**
 * Counts the open runs of all organizations by state. Costs ten commands in one round trip, however many runs there
 * are. Throws `redis.unreachable`.
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

/** The number of runs in each state. */
export type StateCounts = Readonly<Record<RunState, number>>;

/** Which runs to count. */
export interface CountedRuns {
  /** The counts are the sum over these scopes. Undefined: all runs. */
  readonly scopes: readonly (RunScope | undefined)[];
  /** Epoch ms; indexes may contain older runs whose record has expired. */
  readonly since: number;
  /** Epoch ms, not included. */
  readonly until?: number | undefined;
}

/** Counts runs by state, with one command for each state and scope, in one round trip. Throws `redis.unreachable`. */
export const countRunsByState = (
  redis: RedisClient,
  prefix: string,
  { scopes, since, until }: CountedRuns,
): Promise<StateCounts> =>
  withRedisErrors(redis, async () => {
    const keys = redisKeys(prefix);
    const pipeline = redis.pipeline();
    for (const state of RUN_STATES)
      for (const scope of scopes)
        pipeline.zcount(keys.statesOf(scope, state), since, until === undefined ? '+inf' : `(${until}`);
    const replies = (await execPipeline(pipeline)).map(Number);
    const sum = (from: number) => replies.slice(from, from + scopes.length).reduce((total, each) => total + each, 0);
    return Object.fromEntries(RUN_STATES.map((state, index) => [state, sum(index * scopes.length)])) as Record<
      RunState,
      number
    >;
  });
