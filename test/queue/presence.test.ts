import { afterAll, beforeAll, expect, test } from 'vitest';
import { keysOf } from '../../src/queue/keys.ts';
import { redisLooks } from '../../src/queue/looks.ts';
import { redisPresence } from '../../src/queue/presence.ts';
import { aBench, aPrefix, type Bench } from '../support/queue-bench.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await aBench();
});
afterAll(() => bench.close());

const counts = async (prefix: string) =>
  Object.fromEntries(await redisPresence(bench.producer, { prefix, self: 'reader' }).count());

test('a process is counted for each role that it does, until it leaves or does it no more', async () => {
  const prefix = aPrefix();
  expect(await counts(prefix)).toEqual({});
  const one = redisPresence(bench.producer, { prefix, self: 'one:1' });
  const other = redisPresence(bench.producer, { prefix, self: 'other:1' });
  await one.tell(['worker', 'scheduler']);
  await one.tell(['worker', 'scheduler']);
  await other.tell(['worker']);
  expect(await counts(prefix)).toEqual({ worker: 2, scheduler: 1 });
  await one.tell(['scheduler']);
  expect(await counts(prefix)).toEqual({ worker: 1, scheduler: 1 });
  await other.leave();
  await one.tell([]);
  expect(await counts(prefix)).toEqual({});
});

test('a process that went without a word is forgotten after ninety seconds', async () => {
  const prefix = aPrefix();
  await redisPresence(bench.producer, { prefix, self: 'one:1' }).tell(['worker']);
  const [seconds] = await bench.producer.time();
  // By the clock of the server, as if it had said so then.
  await bench.producer.zadd(keysOf(prefix).present, (Number(seconds) - 80) * 1000, 'worker lately:1');
  await bench.producer.zadd(keysOf(prefix).present, (Number(seconds) - 100) * 1000, 'worker gone:1');
  expect(await counts(prefix)).toEqual({ worker: 2 });
  await redisPresence(bench.producer, { prefix, self: 'two:1' }).tell(['admin']);
  expect(await bench.producer.zrangebyscore(keysOf(prefix).present, '-inf', '+inf')).not.toContain('worker gone:1');
});

test('the last look at the due slots is known to all, with the slot that could not be opened', async () => {
  const looks = redisLooks(bench.producer, { prefix: aPrefix() });
  expect(await looks.last()).toBeNull();
  await looks.tell({ at: 1_790_000_000_000, stuck: 1_789_000_000_000 });
  expect(await looks.last()).toEqual({ at: 1_790_000_000_000, stuck: 1_789_000_000_000 });
  await looks.tell({ at: 1_790_000_060_000, stuck: null });
  expect(await looks.last()).toEqual({ at: 1_790_000_060_000, stuck: null });
});
