import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { budgetScript, redisBudget } from '../../../src/fetch/rate-limit/redis-budget.ts';
import { runLuaScript } from '../../../src/redis/script.ts';
import { freePort } from '../../support/free-port.ts';

describe('the budget on a real clock', () => {
  const clients: Redis[] = [];
  const prefix = `redis-budget-test:${randomUUID()}:`;
  beforeAll(() => {
    for (let index = 0; index < 4; index += 1) clients.push(new Redis(inject('redisUrl')));
  });
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.quit()));
  });

  test('several clients together never exceed the limit in any window of the called server', async () => {
    const [calls, windowMs, work] = [5, 200, 30];
    const arrivals: number[] = [];
    const worker = async (client: Redis, name: number) => {
      const budget = redisBudget(client, { prefix, calls, windowMs });
      for (let call = 0; call < work / clients.length; call += 1) {
        for (;;) {
          const answer = await budget.acquire({
            key: 'k',
            id: `${name}:${call}`,
            org: `o${name % 2}`,
            priority: 'scheduled',
            holdMs: 5_000,
          });
          if (answer.granted) {
            // Request and response both take a random time; the server counts in between.
            await pause(Math.random() * 20);
            arrivals.push(performance.now());
            await pause(Math.random() * 20);
            await budget.complete('k', answer.token);
            break;
          }
          await pause(Math.max(1, answer.at - Date.now()));
        }
      }
    };
    await Promise.all(clients.map(worker));
    arrivals.sort((a, b) => a - b);
    expect(arrivals.length).toBeGreaterThanOrEqual(work);
    for (let index = 0; index + calls < arrivals.length; index += 1) {
      expect(arrivals[index + calls]! - arrivals[index]!).toBeGreaterThan(windowMs);
    }
  });

  test('a command resent after a broken connection takes no second token', async () => {
    const [client] = clients;
    const keys = Array.from({ length: 8 }, (_, index) => `${prefix}again:{k}:${index}`);
    const limits = [5, 1_000, 20, 2_000, 9, 1];
    const clock = ['machine', 1, '', '', '', 0, 'new', 1_501];
    const acquire = () =>
      runLuaScript(client!, budgetScript(), keys, [...limits, ...clock, 'acquire', 'id', 'id#1', 'org', 1, 500]);
    const granted = [expect.any(Number), expect.any(String), expect.any(Number), 0, [[-1, 1, 4, []]]];
    expect([await acquire(), await acquire()]).toEqual([granted, granted]);
  });

  test('all keys of a bucket share a hash tag and expire, and contain no secret', async () => {
    const [client] = clients;
    const own = `${prefix}keys:`;
    const budget = redisBudget(client!, { prefix: own, calls: 1, windowMs: 1_000 });
    await budget.acquire({ key: 'abc', id: 'a', org: 'o', priority: 'scheduled', holdMs: 5_000 });
    await budget.acquire({ key: 'abc', id: 'b', org: 'o', priority: 'scheduled', holdMs: 5_000 });
    const keys = await client!.keys(`${own}*`);
    // Other versions of Docket use the same bucket, so the names must not change.
    const names = ['clocks', 'flight', 'held', 'line', 'place', 'rounds', 'state', 'told'];
    expect(keys.sort()).toEqual(names.map((name) => `${own}budget:{abc}:${name}`));
    for (const key of keys) {
      expect(key).toContain('{abc}');
      expect(await client!.pttl(key)).toBeGreaterThan(0);
    }
  });
});

test('an unreachable Redis is an error, and grants nothing', async () => {
  const redis = new Redis({ port: await freePort(), retryStrategy: () => null, maxRetriesPerRequest: 0 });
  redis.on('error', () => {});
  const budget = redisBudget(redis, { prefix: 'x:', calls: 1, windowMs: 1_000 });
  await expect(budget.acquire({ key: 'k', id: 'a', org: 'o', priority: 'scheduled', holdMs: 1 })).rejects.toMatchObject(
    {
      code: 'redis.unreachable',
      retryable: true,
    },
  );
  redis.disconnect();
});
