import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { DocketError } from '../../../src/base/error.ts';
import { silentLog } from '../../../src/base/log.ts';
import type { BudgetState } from '../../../src/fetch/rate-limit/budget.ts';
import { rateLimitedCall } from '../../../src/fetch/rate-limit/rate-limited-call.ts';
import { claimIdentity } from '../../../src/redis/identity.ts';
import { type BudgetFactory, sharedBudgets } from '../../../src/services/budgets/budgets.ts';
import { expectedFinish } from '../../../src/services/budgets/inspect-budgets.ts';
import { doneOf } from '../../support/fetch-harness.ts';
import { randomPrefix, recordingLog } from '../../support/queue-harness.ts';

const state = (change: Partial<BudgetState> = {}): BudgetState => ({
  key: 'f'.repeat(16),
  tokens: 30,
  inFlight: 0,
  waiting: 0,
  blockedUntil: null,
  throttled: 0,
  limit: 30,
  slowedUntil: null,
  ...change,
});

test('a run on a free key should finish at once, and one window later for each full budget before it', () => {
  const finish = (change: Partial<BudgetState>, calls: number) =>
    expectedFinish(state(change), 60_000, calls, 1_000_000);
  expect(finish({}, 30)).toBe(1_000_000);
  expect(finish({}, 31)).toBe(1_060_000);
  expect(finish({ tokens: 4 }, 5)).toBe(1_060_000);
  expect(finish({ tokens: 0, waiting: 30 }, 30)).toBe(1_120_000);
  expect(finish({ tokens: 0, waiting: 30 }, 31)).toBe(1_180_000);
  expect(finish({ tokens: 15, limit: 15 }, 31)).toBe(1_120_000);
  expect(finish({ blockedUntil: 1_005_000 }, 1)).toBe(1_005_000);
  expect(finish({ blockedUntil: 999_000 }, 1)).toBe(1_000_000);
  expect(finish({ tokens: 0, waiting: 500 }, 0)).toBe(1_000_000);
});

test('one process logs that a key is throttled, and one that it recovered, however many calls met a 429', async () => {
  const [prefix, limits] = [randomPrefix(), { calls: 6, windowMs: 120 }];
  const workers = Array.from({ length: 3 }, () => {
    const redis = new Redis(inject('redisUrl'));
    onTestFinished(() => redis.disconnect());
    const log = recordingLog();
    return { log, budget: sharedBudgets(redis, prefix, systemClock, log)('metrics', limits) };
  });
  // The first six calls are made together and all are refused.
  let refusals = limits.calls;
  const round = async (name: string, waiters: number) => {
    const calls = workers.flatMap(({ budget }, worker) =>
      Array.from({ length: waiters }, (_, waiter) =>
        rateLimitedCall(
          {
            budget,
            clock: systemClock,
            key: 'fingerprint',
            org: `org-${worker}`,
            priority: 'scheduled',
            maxWaitMs: Number.POSITIVE_INFINITY,
            requestTimeoutMs: 5_000,
          },
          {
            id: `${name}:${worker}:${waiter}`,
            attempt: async () => {
              refusals -= 1;
              if (refusals >= 0) throw new DocketError('api.throttled', 'Too many.', { retryAfterMs: 50 });
              return 'answer';
            },
            onWait: () => {},
            signal: new AbortController().signal,
          },
        ),
      ),
    );
    expect((await Promise.all(calls)).map((outcome) => doneOf(outcome).value)).toEqual(calls.map(() => 'answer'));
  };
  const said = () => workers.flatMap(({ log }) => log.lines);

  await round('first', 5);
  expect((await workers[0]?.budget.inspect('fingerprint'))?.throttled).toBe(limits.calls);
  const throttled = said().filter(({ level, until }) => level === 'warn' && until !== undefined);
  expect(throttled).toEqual([
    expect.objectContaining({
      level: 'warn',
      key: 'fingerprint',
      org: expect.stringMatching(/^org-\d$/),
      count: 3,
      until: expect.stringMatching(/^\d{4}-.*Z$/),
      why: expect.stringContaining('metrics calls: 3 of 6 tokens, and none before '),
    }),
  ]);

  const recovered = () => said().filter(({ level, ms }) => level === 'info' && ms !== undefined);
  // Each round takes tokens, and with them the time that the recovery needs.
  for (let next = 0; recovered().length === 0; next += 1) await round(`later-${next}`, 1);
  await round('last', 2);
  expect(recovered()).toEqual([expect.objectContaining({ level: 'info', key: 'fingerprint', count: 6 })]);
  expect(said()).toHaveLength(2);
});

test('a process that made no call before Redis lost its data detects the loss by the identity', async () => {
  const redis = new Redis(inject('redisUrl'));
  onTestFinished(() => redis.disconnect());
  const [prefix, limits, id] = [randomPrefix(), { calls: 3, windowMs: 60_000 }, '0'.repeat(32)];
  await claimIdentity(redis, prefix, id, { restored: false });
  const [asking, idle] = [1, 2].map(() => sharedBudgets(redis, prefix, systemClock, silentLog, () => id));
  const ask = (budgets: BudgetFactory | undefined, name: string) =>
    budgets?.('metrics', limits).acquire({ key: 'k', id: name, org: 'acme', priority: 'scheduled', holdMs: 5_000 });
  for (const name of ['a', 'b', 'c']) expect(await ask(asking, name)).toMatchObject({ granted: true });
  await redis.del(await redis.keys(`${prefix}*`));
  expect(await ask(idle, 'd')).toMatchObject({ granted: false });
});
