import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../../src/base/clock.ts';
import { silentLog } from '../../../../src/base/log.ts';
import { cellWidth } from '../../../../src/cli/terminal/table/cell-width.ts';
import { deliveryId, type Ledger } from '../../../../src/deliver/ledger/ledger.ts';
import { redisLedger } from '../../../../src/deliver/ledger/redis-ledger.ts';
import { type LocalRedis, localRedis } from '../../../../src/demo/local-redis.ts';
import { redisPauses } from '../../../../src/queue/schedules/pauses.ts';
import { DEFAULT_KEY_PREFIX, RETENTION_DAYS } from '../../../../src/redis/keys.ts';
import type { RunRecord } from '../../../../src/run/run-record.ts';
import { anOrder, openQueueHarness, type QueueHarness } from '../../../support/queue-harness.ts';
import { type CommandResult, runCommand } from '../../../support/run-command.ts';

const MINUTE = 60_000;
const LONG = 'northwind-industries-international';
const RECIPIENTS = [
  'lead@acme.example',
  '山田太郎.コンプライアンス責任者@株式会社.example',
  'sftp://archive.acme.example/الامتثال/التقارير/2026-10/board-pack',
  'compliance-reporting-distribution-list-of-the-board@subsidiary.acme.example',
];

describe('listings and runs on a terminal', () => {
  let folder: string;
  let redis: LocalRedis;
  let harness: QueueHarness;
  let ledger: Ledger;
  const started = Date.now();
  const open = async (name: string, ago: number, change: Partial<RunRecord>): Promise<RunRecord> => {
    const [org = '', report = ''] = name.split('/');
    const order = anOrder({ org, report, createdAt: started - ago });
    await harness.runs.open(order);
    await harness.runs.update(order.id, { startedAt: order.createdAt, finishedAt: order.createdAt + 9_000, ...change });
    const record = await harness.runs.get(order.id);
    if (record === undefined) throw new Error('not stored');
    return record;
  };
  let held: RunRecord;
  let failed: RunRecord;
  let partly: RunRecord;
  let lost: RunRecord;
  let newest: RunRecord;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'docket-listing-'));
    redis = await localRedis({ PATH: process.env.PATH });
    harness = await openQueueHarness(systemClock, DEFAULT_KEY_PREFIX, silentLog, redis.url);
    ledger = redisLedger(harness.producer, { prefix: `${DEFAULT_KEY_PREFIX}:`, ttlDays: RETENTION_DAYS });
    await open('acme/weekly', 9 * MINUTE, { state: 'done' });
    held = await open(`${LONG}/quarterly-compliance-board-pack-emea`, 3 * MINUTE, { state: 'held' });
    const error = {
      code: 'api.forbidden',
      message: 'The API key may not read transactions.',
      next: 'Give it the scope.',
    } as const;
    failed = await open(`${LONG}/quarterly-compliance-board-pack-apac`, 4 * MINUTE, { state: 'failed', error });
    partly = await open('acme/board-pack', 5 * MINUTE, { state: 'partly_delivered' });
    lost = await open('globex/lost', 6 * MINUTE, { state: 'partly_delivered' });
    newest = await open('acme/daily', MINUTE, { state: 'queued', startedAt: null, finishedAt: null });
    const states = ['sent', 'unknown', 'sent', 'refused'] as const;
    const rows = [
      ...RECIPIENTS.map((recipient, index) => ({ of: partly, recipient, state: states[index] ?? 'sent' })),
      ...Array.from({ length: 40 }, (_, index) => ({
        of: lost,
        recipient: `reader-${index}@globex.example`,
        state: 'unknown' as const,
      })),
    ];
    for (const { of, recipient, state } of rows) {
      const target = recipient.startsWith('sftp') ? '1-sftp' : '0-email';
      const id = deliveryId(of.id, target, recipient);
      const { org, report, id: run } = of;
      await ledger.open({ id, run, org, report, target, recipient }, started);
      const epoch = await ledger.begin(id, started);
      await ledger.settle(id, epoch ?? 0, state, `${state}: an answer of many words that goes on and on`, started);
    }
    await redisPauses(harness.producer, { prefix: DEFAULT_KEY_PREFIX }).put({
      org: 'acme',
      report: 'weekly',
      who: 'anna',
      why: 'The figures of the new scope are being checked by the compliance department first',
      since: started,
      key: null,
      run: null,
    });
  });
  afterAll(async () => {
    await harness.close();
    await redis.close();
    await rm(folder, { recursive: true, force: true });
  });

  const command = (line: string, terminal?: { readonly columns: number }): Promise<CommandResult> =>
    runCommand(line.split(' '), {
      env: { REDIS_URL: redis.url, TZ: 'Europe/Zurich', DOCKET_JOBS: 'nowhere', LOG_LEVEL: 'error' },
      cwd: folder,
      ...(terminal === undefined ? {} : { terminal }),
    });
  const screenOf = async (line: string, columns: number): Promise<readonly string[]> =>
    stripVTControlCharacters((await command(line, { columns })).screen).split('\n');
  /** Commands never wrap, so that they can be copied. */
  const isCommand = (line: string): boolean => line.startsWith('  docket ');

  test.each([60, 80, 120])('do not wrap at %i columns', async (columns) => {
    for (const line of [
      'runs',
      'deliveries',
      'deliveries --unknown',
      `deliveries --run ${partly.id.slice(0, 8)}`,
      'pause',
      'pause --history',
      `runs show ${held.id}`,
      `runs show ${failed.id}`,
      `runs show ${partly.id}`,
      `runs show ${lost.id}`,
    ]) {
      const screen = await screenOf(line, columns);
      expect(screen.length).toBeGreaterThan(2);
      const tooWide = screen.filter(
        (text) => cellWidth(text) > columns && !isCommand(text) && text.trim().includes(' '),
      );
      expect({ line, tooWide }).toEqual({ line, tooWide: [] });
    }
  });

  test('have short ids, relative times and shortened names that stay different', async () => {
    const [header = '', ...rows] = (await screenOf('runs', 80)).slice(0, 7);
    expect(header.split(/ +/)).toEqual(expect.arrayContaining(['CREATED', 'STATE', 'REPORT', 'RUN']));
    const cells = rows.map((row) => row.split(/ {2,}/));
    expect(cells[0]?.slice(0, 2)).toEqual(['1 min ago', 'queued']);
    expect(cells.map((row) => row.at(-1))).toContain(held.id.slice(0, 8));
    const names = cells.map((row) => row[2] ?? '');
    expect(new Set(names).size).toBe(6);
    expect(names.filter((name) => name.endsWith('emea'))).toHaveLength(1);
    expect(names.filter((name) => name.endsWith('apac'))).toHaveLength(1);
  });

  test('have every column with exact values in a pipe and with --wide', async () => {
    const { stdout, stderr } = await command('runs');
    const [header, first] = stdout.split('\n');
    expect(header?.split(/ +/)).toEqual([
      'CREATED',
      'STATE',
      'REPORT',
      'PERIOD',
      'TRIGGER',
      'CALLS',
      'TOOK',
      'ERROR',
      'RUN',
    ]);
    expect(first).toContain(new Date(newest.createdAt).toISOString().slice(0, 19));
    expect(first).toContain(newest.id);
    expect(stdout).toContain('partly_delivered');
    expect(stderr).toBe('');
    const wide = stripVTControlCharacters((await command('runs --wide', { columns: 60 })).stdout);
    expect(wide).toBe(stdout);
  });

  test('suggest the next command for everything that needs a person', async () => {
    const commandsIn = (lines: readonly string[]) => lines.filter(isCommand).map((line) => line.trim().split('  ')[0]);
    expect(commandsIn(await screenOf('runs', 120))).toEqual([
      `docket runs show ${held.id.slice(0, 8)}`,
      `docket runs show ${failed.id.slice(0, 8)}`,
      `docket runs show ${partly.id.slice(0, 8)}`,
      'docket runs --state awaiting_approval held failed partly_delivered',
    ]);
    expect(commandsIn(await screenOf('runs --state done', 120))).toEqual([]);
    const [sent, resend, shown] = commandsIn(await screenOf(`deliveries --run ${partly.id}`, 120));
    const unknown = deliveryId(partly.id, '0-email', RECIPIENTS[1] ?? '');
    const [, , , id = ''] = sent?.split(' ') ?? [];
    expect(unknown.startsWith(id)).toBe(true);
    expect([sent, resend].map((each) => each?.includes('--sent'))).toEqual([true, false]);
    expect(shown).toBe(`docket runs show ${partly.id.slice(0, 8)}`);
    expect(commandsIn(await screenOf('pause', 80))).toEqual(['docket resume acme/weekly --reason "…"']);
    expect(commandsIn(await screenOf(`runs show ${lost.id}`, 120))).toEqual([
      `docket deliveries --run ${lost.id.slice(0, 8)}`,
      `docket deliveries resolve --run ${lost.id.slice(0, 8)} --sent --reason "…"`,
      expect.stringMatching(/^docket deliveries resolve [0-9a-f]+ --resend --reason "…"$/),
      `docket corrections open ${lost.id.slice(0, 8)} --reason "…"`,
    ]);
    expect(commandsIn(await screenOf(`runs show ${failed.id}`, 120))[0]).toContain(
      `docket runs retry ${failed.id.slice(0, 8)}`,
    );
  });

  test('show error, remedy, steps and record of a run, and everything with --json', async () => {
    const { stdout } = await command(`runs show ${failed.id}`);
    for (const part of ['api.forbidden', 'Give it the scope.', 'Timeline', failed.id, 'docket runs retry'])
      expect(stdout).toContain(part);
    const document = JSON.parse((await command(`runs show ${failed.id} --json`)).stdout);
    expect(document).toMatchObject({ id: failed.id, record: { state: 'failed' }, waits: null, earlier: null });
    expect(document.timeline.at(-1)).toMatchObject({ kind: 'ended', outcome: 'failed' });
  });

  test('accept `last` for the newest run, also of an organization or a report', async () => {
    const idOf = async (line: string) => JSON.parse((await command(`${line} --json`)).stdout).id;
    expect(await idOf('runs show last')).toBe(newest.id);
    expect(await idOf(`runs show last --org ${LONG}`)).toBe(held.id);
    expect(await idOf('runs show last --org acme --report board-pack')).toBe(partly.id);
    expect((await command('runs show last --org nobody')).stderr).toContain('[run.not_found]');
    expect((await command(`runs show ${held.id} --org acme`)).stderr).toContain('[usage.invalid]');
  });

  test('report an unreachable Redis for a short id', async () => {
    const { code, stderr } = await runCommand(['runs', 'show', held.id.slice(0, 8)], {
      env: { REDIS_URL: 'redis://127.0.0.1:1' },
      cwd: folder,
    });
    expect(code).toBe(1);
    expect(stderr).toContain('[redis.unreachable]');
  });

  test('offer ids with descriptions for completion, and none while Redis is unreachable', async () => {
    const complete = async (url: string, ...words: string[]) =>
      (await runCommand(['__complete', '--', ...words], { env: { REDIS_URL: url, DOCKET_JOBS: 'nowhere' } })).stdout
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => line.split('\t'));
    const shown = await complete(redis.url, 'runs', 'show', '');
    expect(shown[0]?.[0]).toBe(newest.id.slice(0, 8));
    expect(shown[0]?.[1]).toContain('queued: acme/daily');
    expect(shown.at(-1)?.[0]).toBe('last');
    expect((await complete(redis.url, 'runs', 'release', '')).map(([id]) => id)).toEqual([held.id.slice(0, 8)]);
    expect(await complete(redis.url, 'runs', 'release', held.id.slice(0, 12))).toEqual([[held.id, expect.any(String)]]);
    const deliveries = await complete(redis.url, 'deliveries', 'resolve', partly.id.slice(0, 16));
    expect(deliveries).toEqual([[expect.any(String), expect.stringContaining('acme/board-pack')]]);
    expect(await complete('redis://127.0.0.1:1', 'runs', 'release', '')).toEqual([]);
    expect(await complete('not a url', 'runs', 'release', '')).toEqual([]);
    // This server accepts connections and never answers.
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const address = silent.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    expect(await complete(`redis://127.0.0.1:${port}`, 'runs', 'release', '')).toEqual([]);
    silent.close();
  });
});
