import { Redis } from 'ioredis';
import { afterAll, expect, inject, test } from 'vitest';
import { deliveryId, type NewDelivery } from '../../../src/deliver/ledger/ledger.ts';
import { redisLedger } from '../../../src/deliver/ledger/redis-ledger.ts';
import { countUnknown } from '../../../src/deliver/ledger/unknown-set.ts';
import type { RedisClient } from '../../../src/redis/client.ts';
import { fake } from '../../support/fake.ts';

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

test('the rows of a run share a key with a hash tag and an expiry', async () => {
  const ledger = redisLedger(redis, { prefix, ttlDays: 30 });
  await ledger.open(ROW, 1);
  await ledger.open({ ...ROW, id: deliveryId(RUN, '0-email', 'b@acme.example'), recipient: 'b@acme.example' }, 1);
  expect(await redis.keys(`${prefix}deliveries:*`)).toEqual([`${prefix}deliveries:{0123456789abcdef}`]);
  const days = (await redis.ttl(`${prefix}deliveries:{0123456789abcdef}`)) / 86_400;
  expect(days).toBeGreaterThan(29);
  expect(days).toBeLessThanOrEqual(30);
});

test('repeating a command after a lost reply has no second effect', async () => {
  await remove();
  const twice = fake<RedisClient>({
    evalsha: (async (...args: Parameters<Redis['evalsha']>) => {
      await redis.evalsha(...args);
      return redis.evalsha(...args);
    }) as Redis['evalsha'],
    eval: redis.eval.bind(redis),
    hgetall: redis.hgetall.bind(redis),
    hmget: redis.hmget.bind(redis),
    zrange: redis.zrange.bind(redis),
  });
  const ledger = redisLedger(twice, { prefix, ttlDays: 1 });
  expect(await ledger.open(ROW, 1)).toMatchObject({ state: 'pending', epoch: 0 });
  expect(await ledger.begin(ROW.id, 2)).toBe(1);
  expect(await ledger.begin(ROW.id, 3)).toBeUndefined();
  expect(await ledger.settle(ROW.id, 1, 'pending', '450', 4)).toBe(true);
  expect(await ledger.begin(ROW.id, 5)).toBe(2);
  expect(await ledger.settle(ROW.id, 2, 'sent', '250', 6)).toBe(true);
  expect(await ledger.list(RUN)).toMatchObject([{ state: 'sent', epoch: 2, detail: '250', at: 6 }]);

  const other = { ...ROW, id: deliveryId(RUN, '0-email', 'b@acme.example') };
  await ledger.open(other, 1, { state: 'unknown', epoch: 1, detail: null });
  const decision = { to: 'pending', by: 'ops', reason: 'she has not', at: 7 } as const;
  expect(await ledger.resolve(other.id, 1, decision)).toMatchObject({ epoch: 2, decisions: [decision] });
});

test('throws redis.unreachable without a server', async () => {
  const nobody = new Redis('redis://127.0.0.1:1', {
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  nobody.on('error', () => {});
  const ledger = redisLedger(nobody, { prefix, ttlDays: 1 });
  const requested: Record<string, () => Promise<unknown>> = {
    open: () => ledger.open(ROW, 1),
    begin: () => ledger.begin(ROW.id, 1),
    settle: () => ledger.settle(ROW.id, 1, 'sent', null, 1),
    resolve: () => ledger.resolve(ROW.id, 1, { to: 'sent', by: 'ops', reason: 'x', at: 1 }),
    find: () => ledger.find(ROW.id),
    list: () => ledger.list(RUN),
    unknown: () => ledger.listUnknown(1),
    count: () => countUnknown(nobody, prefix, 0),
  };
  for (const [step, ask] of Object.entries(requested)) {
    await expect(ask(), step).rejects.toMatchObject({
      code: 'redis.unreachable',
      message: expect.stringContaining(`(${step})`),
      retryable: true,
      next: expect.stringContaining('REDIS_URL'),
    });
  }
  nobody.disconnect();
});

test('unknown rows are counted since a time, and listed only if they exist and are still unknown', async () => {
  const own = `${prefix}waiting:`;
  const ledger = redisLedger(redis, { prefix: own, ttlDays: 30 });
  const of = (recipient: string) => ({ ...ROW, id: deliveryId(RUN, '0-email', recipient), recipient });
  const unknown = { state: 'unknown', epoch: 1, detail: null } as const;
  await ledger.open(of('a@acme.example'), 100, unknown);
  await ledger.open(of('b@acme.example'), 200, unknown);
  await ledger.open(of('c@acme.example'), 300);
  expect([await countUnknown(redis, own, 0), await countUnknown(redis, own, 150)]).toEqual([2, 1]);
  // The set still has expired rows, and one that an older version settled.
  await redis.zadd(`${own}unknown`, 50, of('expired@acme.example').id);
  await redis.zadd(`${own}unknown`, 60, of('c@acme.example').id);
  expect((await ledger.listUnknown(10)).map(({ recipient }) => recipient)).toEqual([
    'a@acme.example',
    'b@acme.example',
  ]);
});

test('every change renews the expiry of the rows', async () => {
  const own = `${prefix}kept:`;
  const ledger = redisLedger(redis, { prefix: own, ttlDays: 2 });
  const rows = `${own}deliveries:{${RUN.slice(0, 16)}}`;
  const kept = async (key: string) => {
    const seconds = await redis.ttl(key);
    await redis.expire(key, 60);
    return seconds > 2 * 86_400 - 60 && seconds <= 2 * 86_400;
  };
  await ledger.open(ROW, 1);
  expect(await kept(rows), 'open').toBe(true);
  await ledger.open(ROW, 1);
  expect(await kept(rows), 'open again').toBe(true);
  await ledger.begin(ROW.id, 2);
  expect(await kept(rows), 'begin').toBe(true);
  await ledger.settle(ROW.id, 1, 'refused', null, 3);
  expect(await kept(rows), 'settle').toBe(true);
  await ledger.resolve(ROW.id, 1, { to: 'pending', by: 'ops', reason: 'x', at: 4 });
  expect(await kept(rows), 'resolve').toBe(true);
});

test('rows do not expire while one of them is unknown', async () => {
  const own = `${prefix}undecided:`;
  const ledger = redisLedger(redis, { prefix: own, ttlDays: 2 });
  const rows = `${own}deliveries:{${RUN.slice(0, 16)}}`;
  const of = (recipient: string) => ({ ...ROW, id: deliveryId(RUN, '0-email', recipient), recipient });
  const expiry = async () => [await redis.ttl(rows), await redis.ttl(`${own}unknown`)];
  const [never, days] = [-1, expect.toSatisfy((seconds) => seconds > 86_400 && seconds <= 2 * 86_400)];
  const settle = async (recipient: string, to: 'unknown' | 'sent', at: number) => {
    await ledger.open(of(recipient), at);
    const epoch = await ledger.begin(of(recipient).id, at);
    await ledger.settle(of(recipient).id, epoch ?? 0, to, to === 'unknown' ? ':state unknown' : 'unknown', at);
  };
  await settle('sent', 'sent', 1);
  expect((await expiry())[0]).toEqual(days);
  await settle('a', 'unknown', 2);
  expect(await expiry()).toEqual([never, never]);
  // Other changes in the run set no expiry.
  await settle('later', 'sent', 3);
  await ledger.open(of('sent'), 4);
  await ledger.open(of('b'), 5, { state: 'unknown', epoch: 3, detail: null });
  expect(await expiry()).toEqual([never, never]);
  await ledger.resolve(of('a').id, 1, { to: 'pending', by: 'ops', reason: 'x', at: 6 });
  expect(await expiry()).toEqual([never, never]);
  await ledger.settle(of('b').id, 3, 'sent', 'unknown', 7);
  expect((await expiry())[0]).toEqual(days);
  // An archived result ends the wait as well.
  await ledger.open(of('c'), 8, { state: 'unknown', epoch: 1, detail: null });
  expect(await expiry()).toEqual([never, never]);
  await ledger.open(of('c'), 9, { state: 'sent', epoch: 1, detail: null });
  expect((await expiry())[0]).toEqual(days);
  expect(await ledger.listUnknown(5)).toEqual([]);
});

test('opening a row removes the expiry that an older version set on an unknown row', async () => {
  const own = `${prefix}older:`;
  const ledger = redisLedger(redis, { prefix: own, ttlDays: 2 });
  const rows = `${own}deliveries:{${RUN.slice(0, 16)}}`;
  const unknown = { state: 'unknown', epoch: 1, detail: 'why' } as const;
  const before = await ledger.open(ROW, 1, unknown);
  await redis.expire(rows, 60);
  await redis.expire(`${own}unknown`, 60);
  await redis.zrem(`${own}unknown`, ROW.id);
  expect(await ledger.open(ROW, 1, unknown)).toEqual(before);
  expect([await redis.ttl(rows), await redis.ttl(`${own}unknown`)]).toEqual([-1, -1]);
  expect(await ledger.listUnknown(5)).toEqual([before]);
});

test('a list of unknown rows can be longer than one batch', async () => {
  const own = `${prefix}many:`;
  const ledger = redisLedger(redis, { prefix: own, ttlDays: 2 });
  const recipients = Array.from({ length: 1_203 }, (_, index) => `r${index}@acme.example`);
  const ids = recipients.map((recipient) => deliveryId(RUN, '0-email', recipient));
  for (const [index, id] of ids.entries()) {
    const recipient = recipients[index] ?? '';
    await ledger.open({ ...ROW, id, recipient }, 1_000 + (index % 7), { state: 'unknown', epoch: 1, detail: null });
  }
  const all = await ledger.listUnknown(2_000);
  expect(all.map(({ id }) => id).sort()).toEqual([...ids].sort());
  expect(await ledger.listUnknown(500, all[699])).toEqual(all.slice(700, 1_200));
  expect(await ledger.listUnknown(500, all[1_200])).toEqual(all.slice(1_201));
});

test('a settled row is no longer counted as unknown', async () => {
  const own = `${prefix}ended:`;
  const ledger = redisLedger(redis, { prefix: own, ttlDays: 30 });
  const of = (recipient: string) => ({ ...ROW, id: deliveryId(RUN, '0-email', recipient), recipient });
  const unknown = { state: 'unknown', epoch: 1, detail: null } as const;
  for (const recipient of ['a', 'b', 'c']) await ledger.open(of(recipient), 100, unknown);
  expect(await countUnknown(redis, own, 0)).toBe(3);
  await ledger.open(of('a'), 200, { ...unknown, state: 'sent' });
  expect(await countUnknown(redis, own, 0)).toBe(2);
  await ledger.settle(of('b').id, 1, 'refused', '550', 200);
  expect(await countUnknown(redis, own, 0)).toBe(1);
  await ledger.resolve(of('c').id, 1, { to: 'sent', by: 'ops', reason: 'she has it', at: 200 });
  expect(await countUnknown(redis, own, 0)).toBe(0);
});
