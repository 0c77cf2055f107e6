import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { redisClock } from '../../../src/redis/clock.ts';
import { claimIdentity, readIdentity } from '../../../src/redis/identity.ts';
import { sharedBudgets } from '../../../src/services/budgets/budgets.ts';
import { faketimeRedis } from '../../support/faketime-redis.ts';
import { randomPrefix, recordingLog } from '../../support/queue-harness.ts';
import { waitFor } from '../../support/wait-for.ts';

test('a jump of Redis’s clock and a loss of its data are each logged by one process', async () => {
  const redis = await faketimeRedis();
  onTestFinished(() => redis.close());
  const [prefix, limits] = [randomPrefix(), { calls: 6, windowMs: 60_000 }];
  const log = recordingLog();
  const clients = Array.from({ length: 3 }, () => new Redis(redis.url));
  onTestFinished(() => {
    for (const client of clients) client.disconnect();
  });
  await claimIdentity(clients[0]!, prefix, '0'.repeat(32), { restored: false });
  const budgets = clients.map((client) => sharedBudgets(client, prefix, systemClock, log)('metrics', limits));
  const round = async () => {
    for (const [worker, budget] of budgets.entries()) {
      await budget.acquire({ key: 'k', id: `w${worker}`, org: 'acme', priority: 'scheduled', holdMs: 5_000 });
    }
  };
  const said = (event: string) => log.lines.filter((line) => line.event === event);
  await round();
  expect(log.lines).toEqual([]);
  await redis.setClock(3_600);
  await round();
  await waitFor('the step to be reported', () => said('redis.clock_stepped').length === 1);
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
