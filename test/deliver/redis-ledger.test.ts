import { Redis } from 'ioredis';
import { afterAll, expect, inject, test } from 'vitest';
import { deliveryId, type NewDelivery } from '../../src/deliver/ledger.ts';
import { type LedgerRedis, redisLedger } from '../../src/deliver/redis-ledger.ts';

const redis = new Redis(inject('redisUrl'));
const prefix = `test-redis-ledger-${process.pid}:`;
const RUN = '0123456789abcdef0123456789abcdef';
const ROW: NewDelivery = {
  id: deliveryId(RUN, '0-email', 'lead@acme.example'),
  run: RUN,
  org: 'acme',
  report: 'weekly',
  target: '0-email',
  recipient: 'lead@acme.example',
};

const remove = async () => {
  const keys = await redis.keys(`${prefix}*`);
  if (keys.length > 0) await redis.del(...keys);
};
afterAll(async () => {
  await remove();
  redis.disconnect();
});

test('all rows of a run are one key with a hash tag, which goes when its days are over', async () => {
  const ledger = redisLedger(redis, { prefix, ttlDays: 30 });
  await ledger.open(ROW, 1);
  await ledger.open({ ...ROW, id: deliveryId(RUN, '0-email', 'b@acme.example'), recipient: 'b@acme.example' }, 1);
  expect(await redis.keys(`${prefix}*`)).toEqual([`${prefix}deliveries:{0123456789abcdef}`]);
  const days = (await redis.ttl(`${prefix}deliveries:{0123456789abcdef}`)) / 86_400;
  expect(days).toBeGreaterThan(29);
  expect(days).toBeLessThanOrEqual(30);
});

test('a command that the client sends again because its answer was lost has no second effect', async () => {
  await remove();
  const twice: LedgerRedis = {
    evalsha: (async (...args: Parameters<Redis['evalsha']>) => {
      await redis.evalsha(...args);
      return redis.evalsha(...args);
    }) as Redis['evalsha'],
    eval: redis.eval.bind(redis),
    hgetall: redis.hgetall.bind(redis),
    hmget: redis.hmget.bind(redis),
    zrange: redis.zrange.bind(redis),
  };
  const ledger = redisLedger(twice, { prefix, ttlDays: 1 });
  expect(await ledger.open(ROW, 1)).toMatchObject({ state: 'pending', epoch: 0 });
  expect(await ledger.begin(ROW.id, 2)).toBe(1);
  expect(await ledger.begin(ROW.id, 3)).toBeUndefined();
  expect(await ledger.settle(ROW.id, 1, 'pending', '450', 4)).toBe(true);
  expect(await ledger.begin(ROW.id, 5)).toBe(2);
  expect(await ledger.settle(ROW.id, 2, 'sent', '250', 6)).toBe(true);
  expect(await ledger.list(RUN)).toMatchObject([{ state: 'sent', epoch: 2, detail: '250', at: 6 }]);
});

test('a server that cannot be asked is redis.unreachable: nothing may be sent without the ledger', async () => {
  const nobody = new Redis('redis://127.0.0.1:1', {
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  nobody.on('error', () => {});
  const ledger = redisLedger(nobody, { prefix, ttlDays: 1 });
  const unreachable = { code: 'redis.unreachable', retryable: true, next: expect.stringContaining('REDIS_URL') };
  await expect(ledger.open(ROW, 1)).rejects.toMatchObject(unreachable);
  await expect(ledger.begin(ROW.id, 1)).rejects.toMatchObject(unreachable);
  await expect(ledger.settle(ROW.id, 1, 'sent', null, 1)).rejects.toMatchObject(unreachable);
  await expect(ledger.list(RUN)).rejects.toMatchObject(unreachable);
  nobody.disconnect();
});
