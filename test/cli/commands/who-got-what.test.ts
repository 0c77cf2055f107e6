import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLog } from '../../../src/base/log.ts';
import { deliveryId, type NewDelivery } from '../../../src/deliver/ledger/ledger.ts';
import { redisLedger } from '../../../src/deliver/ledger/redis-ledger.ts';
import { type LocalRedis, localRedis } from '../../../src/demo/local-redis.ts';
import { DEFAULT_KEY_PREFIX, RETENTION_DAYS } from '../../../src/redis/keys.ts';
import { openRowAsBefore, openRunAsBefore } from '../../support/older-writers.ts';
import { anOrder, openQueueHarness, type QueueHarness } from '../../support/queue-harness.ts';
import { runCommand } from '../../support/run-command.ts';

const pageSchema = z.object({
  deliveries: z.array(z.looseObject({ id: z.string(), run: z.string(), state: z.string(), recipient: z.string() })),
  next: z.string().nullable(),
});
const runsSchema = z.object({ runs: z.array(z.object({ id: z.string() })) });

describe('lists of deliveries and runs in the terminal', () => {
  let redis: LocalRedis;
  let harness: QueueHarness;
  const started = Date.now();
  const periodOf = (from: string, label: string) => ({ from, to: from, timezone: 'UTC', label });
  const october = anOrder({
    report: 'board-pack',
    slot: 'trigger:1',
    period: periodOf('2026-10-01', '2026-10'),
    createdAt: started - 60_000,
  });
  const again = anOrder({ ...october, id: 'a'.repeat(32), slot: 'trigger:2', createdAt: started - 30_000 });
  const weekly = anOrder({
    slot: 'trigger:3',
    period: periodOf('2026-11-09', '2026-W46'),
    createdAt: started - 10_000,
  });
  const rowOf = ({ id: run, org, report }: typeof october, recipient: string): NewDelivery => ({
    id: deliveryId(run, '0-email', recipient.toLowerCase()),
    run,
    org,
    report,
    target: '0-email',
    recipient,
  });
  beforeAll(async () => {
    redis = await localRedis({ PATH: process.env.PATH });
    harness = await openQueueHarness(systemClock, DEFAULT_KEY_PREFIX, silentLog, redis.url);
    const ledger = redisLedger(harness.producer, { prefix: `${DEFAULT_KEY_PREFIX}:`, ttlDays: RETENTION_DAYS });
    // An older version opened one of these deliveries, so the index does not have it yet.
    await openRunAsBefore(harness.producer, DEFAULT_KEY_PREFIX, october, RETENTION_DAYS * 86_400_000);
    await openRowAsBefore(
      harness.producer,
      DEFAULT_KEY_PREFIX,
      rowOf(october, 'Board@acme.example'),
      started,
      'unknown',
    );
    for (const order of [again, weekly]) {
      await harness.runs.open(order);
      const row = rowOf(order, 'board@acme.example');
      await ledger.open(row, started);
      const epoch = await ledger.begin(row.id, started);
      await ledger.settle(row.id, epoch ?? 0, order === again ? 'sent' : 'refused', '550 an answer', started);
    }
    await ledger.open(rowOf(weekly, 'keyboard@acme.example'), started);
    const error = { code: 'deliver.target_failed', message: 'No.' } as const;
    await harness.runs.update(weekly.id, { state: 'failed', error });
  });
  afterAll(async () => {
    await harness.close();
    await redis.close();
  });

  const command = (args: readonly string[], columns?: number) =>
    runCommand(args, {
      env: { REDIS_URL: redis.url, DOCKET_JOBS: 'nowhere', LOG_LEVEL: 'error' },
      ...(columns === undefined ? {} : { terminal: { columns } }),
    });
  const received = async (...args: string[]) => {
    const { code, stdout } = await command(['deliveries', ...args, '--json']);
    expect(code).toBe(0);
    return pageSchema.parse(JSON.parse(stdout));
  };

  test('show all deliveries to a recipient in a month, in any case of letters, newest run first', async () => {
    const { deliveries, next } = await received('--to', 'BOARD@acme.example', '--period', '2026-10');
    expect(next).toBeNull();
    expect(deliveries).toMatchObject([
      { run: again.id, state: 'sent', detail: '550 an answer', period: { label: '2026-10' }, content: null },
      { run: october.id, state: 'unknown', recipient: 'Board@acme.example' },
    ]);
    expect((await received('--to', 'board@acme.example')).deliveries).toHaveLength(3);
    expect((await received('--to', 'board@')).deliveries).toHaveLength(4);
    expect((await received('--to', 'board@', '--unknown')).deliveries).toMatchObject([{ run: october.id }]);
    expect((await received('--to', 'board@', '--org', 'globex')).deliveries).toEqual([]);
  });

  test('continue after a cursor', async () => {
    const first = await received('--to', 'board@acme.example', '--limit', '1');
    const rest = await received('--to', 'board@acme.example', '--after', first.next ?? '');
    expect([...first.deliveries, ...rest.deliveries].map(({ run }) => run)).toEqual([weekly.id, again.id, october.id]);
  });

  test('filter runs by parts of names, errors and recipients, and by period', async () => {
    const idsOf = async (...args: string[]) =>
      runsSchema.parse(JSON.parse((await command(['runs', ...args, '--json'])).stdout)).runs.map(({ id }) => id);
    expect(await idsOf('--match', 'ACME pack')).toEqual([again.id, october.id]);
    expect(await idsOf('--error', 'TARGET')).toEqual([weekly.id]);
    expect(await idsOf('--to', 'keyboard@')).toEqual([weekly.id]);
    expect(await idsOf('--period', '2026-W46')).toEqual([weekly.id]);
  });

  test.each([
    ['deliveries', '--to', 'a@', '--run', 'a'.repeat(32)],
    ['deliveries', '--after', `1-${'a'.repeat(32)}`],
    ['deliveries', '--period', 'nonsense'],
    ['runs', '--period', 'nonsense'],
  ])('reject meaningless options: %s %s', async (...args) => {
    const { code, stderr } = await command(args);
    expect([code, stderr.includes('usage.invalid')]).toEqual([2, true]);
  });

  test.each([60, 80, 120])('do not wrap at %i columns, and always show the state', async (columns) => {
    const { screen } = await command(['deliveries', '--to', 'board@', '--period', '2026-10'], columns);
    const lines = stripVTControlCharacters(screen).split('\n');
    expect(lines.filter((line) => line.length > columns && !line.startsWith('  docket '))).toEqual([]);
    expect(
      lines.filter((line) => /ago {2}(sent|unknown) /.test(line) && line.includes(columns < 80 ? '' : '2026-10')),
    ).toHaveLength(2);
  });
});
