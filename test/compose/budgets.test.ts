import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { DocketError } from '../../src/base/error.ts';
import { silentLog } from '../../src/base/log.ts';
import { keepIdentity, readIdentity } from '../../src/base/redis-identity.ts';
import { type Budgets, expectedFinish, sharedBudgets } from '../../src/compose/budgets.ts';
import type { BudgetState } from '../../src/fetch/budget.ts';
import { paidCall } from '../../src/fetch/paid-call.ts';
import { redisClock } from '../../src/queue/redis-clock.ts';
import { faketimeRedis } from '../support/faketime-redis.ts';
import { doneOf } from '../support/fetching.ts';
import { aPrefix, linesLog } from '../support/queue-bench.ts';

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

test('a run is expected to end at once on a free key, and a window later for each limit of calls it has to wait for', () => {
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

test('of all who wait and meet a 429, in whatever process, one says that the key goes slower, and one that it recovered', async () => {
  const [prefix, limits] = [aPrefix(), { calls: 6, windowMs: 120 }];
  const workers = Array.from({ length: 3 }, () => {
    const redis = new Redis(inject('redisUrl'));
    onTestFinished(() => redis.disconnect());
    const log = linesLog();
    return { log, budget: sharedBudgets(redis, prefix, systemClock, log)('metrics', limits) };
  });
  // The first six calls leave together and all come back refused.
  let refusals = limits.calls;
  const round = async (name: string, waiters: number) => {
    const calls = workers.flatMap(({ budget }, worker) =>
      Array.from({ length: waiters }, (_, waiter) =>
        paidCall(
          {
            budget,
            clock: systemClock,
            key: 'fingerprint',
            org: `org-${worker}`,
            priority: 'scheduled',
            patienceMs: Number.POSITIVE_INFINITY,
            deadlineMs: 5_000,
          },
          {
            id: `${name}:${worker}:${waiter}`,
            attempt: async () => {
              refusals -= 1;
              if (refusals >= 0) throw new DocketError('api.throttled', 'Too many.', { retryAfterMs: 50 });
              return 'answer';
            },
            waiting: () => {},
            signal: new AbortController().signal,
          },
        ),
      ),
    );
    expect((await Promise.all(calls)).map((outcome) => doneOf(outcome).value)).toEqual(calls.map(() => 'answer'));
  };
  const said = () => workers.flatMap(({ log }) => log.lines);

  await round('first', 5);
  expect((await workers[0]?.budget.look('fingerprint'))?.throttled).toBe(limits.calls);
  const slowed = said().filter(({ message }) => message.startsWith('A 429'));
  expect(slowed).toEqual([
    expect.objectContaining({
      level: 'warn',
      key: 'fingerprint',
      org: expect.stringMatching(/^org-\d$/),
      count: 3,
      until: expect.stringMatching(/^\d{4}-.*Z$/),
      why: expect.stringContaining('metrics calls: 3 of 6 tokens, and none before '),
    }),
  ]);

  const recovered = () => said().filter(({ message }) => message.includes('full rate again'));
  // Each round takes tokens, and so the time that the recovery needs.
  for (let next = 0; recovered().length === 0; next += 1) await round(`later-${next}`, 1);
  await round('last', 2);
  expect(recovered()).toEqual([expect.objectContaining({ level: 'info', key: 'fingerprint', count: 6 })]);
  expect(said()).toHaveLength(2);
});

test('a process that has not asked before a loss knows of it by the identity that it started with', async () => {
  const redis = new Redis(inject('redisUrl'));
  onTestFinished(() => redis.disconnect());
  const [prefix, limits, id] = [aPrefix(), { calls: 3, windowMs: 60_000 }, '0'.repeat(32)];
  await keepIdentity(redis, prefix, id, { restored: false });
  const [asking, idle] = [1, 2].map(() => sharedBudgets(redis, prefix, systemClock, silentLog, () => id));
  const ask = (budgets: Budgets | undefined, name: string) =>
    budgets?.('metrics', limits).ask({ key: 'k', id: name, org: 'acme', priority: 'scheduled', holdMs: 5_000 });
  for (const name of ['a', 'b', 'c']) expect(await ask(asking, name)).toMatchObject({ granted: true });
  await redis.del(await redis.keys(`${prefix}*`));
  expect(await ask(idle, 'd')).toMatchObject({ granted: false });
});

test('a step of the clock of Redis, and a loss of its data, are said by one of all processes', async () => {
  const redis = await faketimeRedis();
  onTestFinished(() => redis.close());
  const [prefix, limits] = [aPrefix(), { calls: 6, windowMs: 60_000 }];
  const log = linesLog();
  const clients = Array.from({ length: 3 }, () => new Redis(redis.url));
  onTestFinished(() => {
    for (const client of clients) client.disconnect();
  });
  await keepIdentity(clients[0]!, prefix, '0'.repeat(32), { restored: false });
  const budgets = clients.map((client) => sharedBudgets(client, prefix, systemClock, log)('metrics', limits));
  const round = async () => {
    for (const [worker, budget] of budgets.entries()) {
      await budget.ask({ key: 'k', id: `w${worker}`, org: 'acme', priority: 'scheduled', holdMs: 5_000 });
    }
  };
  const said = (event: string) => log.lines.filter((line) => line.event === event);
  await round();
  expect(log.lines).toEqual([]);
  await redis.setClock(3_600);
  await round();
  await vi.waitFor(() => expect(said('redis.clock_stepped')).toHaveLength(1));
  const [step] = said('redis.clock_stepped');
  expect(step).toMatchObject({ level: 'warn', why: expect.stringContaining(`127.0.0.1:${new URL(redis.url).port}`) });
  expect(Math.abs((step?.ms ?? 0) - 3_600_000)).toBeLessThan(5_000);
  expect((await redisClock(clients[0]!, { prefix }).read()).steps).toBe(1);
  await clients[0]!.flushall();
  await round();
  expect(said('budget.lost')).toEqual([
    expect.objectContaining({ level: 'warn', key: 'k', org: 'acme', ms: 65_001, why: 'metrics calls' }),
  ]);
  expect(await readIdentity(clients[0]!, prefix)).toMatchObject({ id: '0'.repeat(32), restored: true });
});
