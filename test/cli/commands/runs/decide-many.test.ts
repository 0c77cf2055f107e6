import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../../../../src/base/clock.ts';
import { silentLog } from '../../../../src/base/log.ts';
import { type LocalRedis, localRedis } from '../../../../src/demo/local-redis.ts';
import { DEFAULT_KEY_PREFIX } from '../../../../src/redis/keys.ts';
import { anOrder, openQueueHarness, type QueueHarness } from '../../../support/queue-harness.ts';
import { runCommand } from '../../../support/run-command.ts';
import { shellWords } from '../../../support/shell-words.ts';

let redis: LocalRedis;
let harness: QueueHarness;
beforeAll(async () => {
  redis = await localRedis({ PATH: process.env.PATH });
  harness = await openQueueHarness(systemClock, DEFAULT_KEY_PREFIX, silentLog, redis.url);
});
afterAll(async () => {
  await harness.close();
  await redis.close();
});

const command = (args: readonly string[]) =>
  runCommand(args, { env: { REDIS_URL: redis.url, DOCKET_JOBS: 'nowhere', LOG_LEVEL: 'error' } });
const open = async (count: number, report: string) => {
  const orders = Array.from({ length: count }, (_, nth) => anOrder({ report, slot: `trigger:${report}-${nth}` }));
  for (const order of orders) await harness.runs.open(order);
  return orders.map(({ id }) => id);
};
const selectionSchema = z.object({
  items: z.array(z.object({ id: z.string(), result: z.string().nullable() })),
});

test('a filter only prints the matching runs, and the printed command decides about exactly those', async () => {
  const ids = await open(3, 'board');
  const filter = ['--org', 'acme', '--report', 'board', '--state', 'queued'];
  const preview = await command(['runs', 'cancel', ...filter, '--reason', 'by mistake']);
  expect([preview.code, preview.stderr]).toEqual([0, expect.stringContaining('Nothing was changed yet.')]);
  expect((await harness.runs.get(ids[0] ?? ''))?.cancel).toBeNull();
  await open(4, 'board');
  await harness.runs.update(ids[2] ?? '', { state: 'running' });

  const printed = /docket (runs cancel --confirm .*?')(?: {2}|$)/m.exec(preview.stdout)?.[1] ?? '';
  const decided = await command(shellWords(printed));

  expect(decided.stdout).toContain('2 of 3 carried out.');
  expect(decided.stdout).toContain(`Left out: ${ids[2]?.slice(0, 8)} acme/board`);
  expect(decided.code).toBe(3);
  const states = await Promise.all(ids.map(async (id) => (await harness.runs.get(id))?.state));
  expect(states).toEqual(['cancelled', 'cancelled', 'running']);
  expect((await harness.runs.get(ids[0] ?? ''))?.cancel?.reason).toBe('by mistake');
  expect(await harness.runs.list({ states: ['queued'], limit: 10 })).toHaveLength(4);
});

test('two processes that confirm the same preview cancel each run once, and see the same result', async () => {
  const ids = await open(6, 'kpi');
  const { stdout } = await command(['runs', 'cancel', ...ids, '--reason', 'by mistake', '--json']);
  const { digest } = z.object({ digest: z.string() }).parse(JSON.parse(stdout));
  const confirm = ['runs', 'cancel', '--confirm', digest, '--reason', 'by mistake', '--json'];
  const both = await Promise.all([command(confirm), command(confirm)]);
  for (const { code, stderr } of both) if (code !== 0) expect(stderr).toContain('selection.conflict');
  expect(both.map(({ code }) => code)).toContain(0);
  const again = await command(confirm);
  const { items } = selectionSchema.parse(JSON.parse(again.stdout));
  expect(items.map(({ result }) => result)).toEqual(ids.map(() => 'decided'));
});

test('a decision without ids and filters, or with both, is rejected', async () => {
  const [id = ''] = await open(1, 'one');
  for (const args of [[], [id, id.slice(0, 8), '--org', 'acme']]) {
    const { code, stderr } = await command(['runs', 'retry', ...args, '--reason', 'x']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('usage.invalid')]);
  }
});
