import { afterEach, beforeEach, expect, test } from 'vitest';
import { createUnpacker } from '../../../src/definitions/load/kept-reports.ts';
import { redisCheckedDefinitions } from '../../../src/queue/definitions/checked-definitions.ts';
import { redisKeys } from '../../../src/redis/keys.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { openQueueHarness, type QueueHarness, recordingLog } from '../../support/queue-harness.ts';

let bench: QueueHarness;
beforeEach(async () => {
  bench = await openQueueHarness(manualClock(0));
});
afterEach(() => bench.close());

const start = (build: string) =>
  redisCheckedDefinitions(bench.producer, {
    prefix: bench.prefix,
    build,
    unpack: createUnpacker(),
    log: recordingLog(),
  });

test('entries are read by processes of the same build, once the process that wrote them has joined', async () => {
  const [entry, gone] = [Buffer.from([0, 255, 10]), Buffer.from([1])];
  const first = start('one');
  first.organizations.write('acme', entry);
  first.organizations.write('gone', gone);
  expect(await start('one').organizations.read('acme')).toBeUndefined();
  await first.store(bench.producer, ['acme', 'gone']);
  expect(await start('one').organizations.read('acme')).toEqual(entry);
  expect(await start('other').organizations.read('acme')).toBeUndefined();
  await start('one').store(bench.producer, ['acme']);
  expect(await start('one').organizations.read('gone')).toBeUndefined();
  expect(await start('one').organizations.read('acme')).toEqual(entry);
  expect(await bench.producer.ttl(redisKeys(bench.prefix).checked('one'))).toBeGreaterThan(0);
});

test('a Redis that fails costs nothing but the entries', async () => {
  await bench.producer.set(redisKeys(bench.prefix).checked('one'), 'another type');
  const { organizations, store } = start('one');
  expect(await organizations.read('acme')).toBeUndefined();
  organizations.write('acme', Buffer.from([1]));
  await store(bench.producer, ['acme']);
  expect(await bench.producer.get(redisKeys(bench.prefix).checked('one'))).toBe('another type');
});
