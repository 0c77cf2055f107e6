import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { type LocalRedis, localRedis } from '../../../../src/demo/local-redis.ts';
import { openSandbox } from '../../../support/fetch-harness.ts';
import { runCommand } from '../../../support/run-command.ts';

const filledSchema = z.object({
  runs: z.array(
    z.object({ id: z.string(), opened: z.boolean(), state: z.string(), period: z.looseObject({ label: z.string() }) }),
  ),
});
const listedSchema = z.object({
  runs: z.array(z.looseObject({ id: z.string(), state: z.string(), period: z.looseObject({ label: z.string() }) })),
  next: z.string().nullable(),
});

describe('backfills and queued runs', () => {
  let redis: LocalRedis;
  let folder: string;
  let env: Record<string, string>;

  const report = (period: string, to = 'lead@acme.example') => `version: 1
title: Monthly
owner: ops@acme.example
period: ${period}
sections:
  - { id: queue, metrics: [alerts.open] }
outputs:
  - { format: csv }
deliveries:
  - email: { to: [${to}], attach: [csv] }
`;

  beforeAll(async () => {
    redis = await localRedis({ PATH: process.env.PATH });
    folder = await mkdtemp(join(tmpdir(), 'docket-backfill-'));
    await mkdir(join(folder, 'jobs', 'acme'), { recursive: true });
    const write = (name: string, text: string) => writeFile(join(folder, 'jobs', 'acme', `${name}.yaml`), text);
    await write(
      'org',
      'org: current\napi_key: { env: ACME_KEY }\ntimezone: Europe/Zurich\nrecipients: { domains: [acme.example] }\n',
    );
    await write('monthly', report('previous_month'));
    await write('rolling', report('last_30_days'));
    env = {
      REDIS_URL: redis.url,
      DOCKET_JOBS: join(folder, 'jobs'),
      SMTP_URL: 'smtp://127.0.0.1:1',
      MAIL_FROM: 'r@acme.example',
      LOG_LEVEL: 'silent',
    };
  });
  afterAll(async () => {
    await redis.close();
    await rm(folder, { recursive: true, force: true });
  });

  const command = (...args: string[]) => runCommand(args, { env, cwd: folder });
  const fill = async (...args: string[]) => {
    const { stdout } = await command(
      'backfill',
      'acme/monthly',
      '--from',
      '2026-01',
      '--to',
      '2026-03',
      '--json',
      ...args,
    );
    return filledSchema.parse(JSON.parse(stdout)).runs;
  };
  const listed = async (...args: string[]) =>
    listedSchema.parse(JSON.parse((await command('runs', '--json', ...args)).stdout));

  test('docket backfill opens one run per period, only once; the runs can be listed, cancelled and paged', async () => {
    const first = await fill('--by', 'ada');
    expect(first.map(({ opened, state, period }) => [opened, state, period.label])).toEqual([
      [true, 'queued', '2026-01'],
      [true, 'queued', '2026-02'],
      [true, 'queued', '2026-03'],
    ]);
    const again = await fill();
    expect(again.map(({ id, opened }) => [id, opened])).toEqual(first.map(({ id }) => [id, false]));

    const { runs } = await listed('--org', 'acme', '--report', 'monthly');
    expect(runs).toHaveLength(3);
    for (const run of runs) {
      expect(run).toMatchObject({ trigger: 'backfill', priority: 'backfill', deliver: false, by: 'ada' });
    }
    const cancelled = await command('runs', 'cancel', first[1]?.id ?? '', '--reason', 'not this one', '--by', 'bob');
    expect(cancelled.code).toBe(0);
    expect((await listed('--state', 'cancelled,failed')).runs).toMatchObject([
      { id: first[1]?.id, cancel: { by: 'bob', reason: 'not this one' } },
    ]);
    const page = await listed('--state', 'queued', '--limit', '1');
    const rest = await listed('--state', 'queued', '--limit', '1', '--after', page.next ?? '');
    expect([...page.runs, ...rest.runs].map(({ period }) => period.label)).toEqual(['2026-03', '2026-01']);
    expect(rest.next).toBeNull();
    expect((await command('runs', 'cancel', first[1]?.id ?? '', '--reason', 'again')).code).toBe(0);

    const anew = await fill('--again');
    expect(anew.every(({ opened }) => opened)).toBe(true);
  });

  test('docket run --queue opens a run of another period with the highest priority', async () => {
    const opened = await command('run', 'acme/rolling', '--period', '2026-09', '--queue', '--json');
    expect(JSON.parse(opened.stdout)).toMatchObject({
      state: 'queued',
      trigger: 'on_demand',
      priority: 'on_demand',
      period: { from: '2026-09-01', to: '2026-09-30' },
    });
    expect((await listed('--org', 'acme', '--report', 'rolling')).runs).toHaveLength(1);
    expect((await command('run', 'acme/rolling', '--queue', '--out', 'x')).code).toBe(2);
  });

  test('docket run, preview and explain reject days that have not begun; unfinished days need --unfinished', async () => {
    const run = (...args: string[]) => command('run', 'acme/rolling', '--queue', '--json', ...args);
    const before = (await listed('--org', 'acme', '--report', 'rolling')).runs.length;
    const year = new Date().getUTCFullYear();
    for (const kind of ['run', 'preview', 'explain'] as const) {
      const refused = await command(kind, 'acme/rolling', '--period', `${year + 2}-01`);
      expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('period.not_begun')]);
    }
    const refused = await run('--period', `${year}`);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('period.unfinished')]);
    expect((await listed('--org', 'acme', '--report', 'rolling')).runs).toHaveLength(before);
    expect((await run('--period', `${year}`, '--unfinished')).code).toBe(0);
    expect((await run('--period', 'current_month')).code).toBe(0);
  });

  test('docket backfill lists sections with current counts, and opens the runs nevertheless', async () => {
    const countedSchema = z.object({
      undefined_counts: z.object({
        known: z.boolean(),
        sections: z.array(z.object({ section: z.string(), metrics: z.array(z.string()) })),
      }),
      runs: z.array(z.unknown()),
    });
    const sandbox = await openSandbox();
    const key = sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '';
    await writeFile(
      join(folder, 'jobs', 'acme', 'mixed.yaml'),
      report('previous_month').replace(
        'outputs:',
        '  - { id: days, metrics: [profiles.created], granularity: day }\n  - { id: types, metrics: [alerts.created], dimensions: [alert.type] }\noutputs:',
      ),
    );
    const queue = { section: 'queue', metrics: ['alerts.open'] };
    const counted = async (more: Record<string, string>) => {
      const args = ['backfill', 'acme/mixed', '--from', '2026-02', '--to', '2026-02', '--json'];
      const { stdout, stderr } = await runCommand(args, { env: { ...env, ...more }, cwd: folder });
      expect(stderr).toContain('queue (alerts.open)');
      const { undefined_counts, runs } = countedSchema.parse(JSON.parse(stdout));
      expect(runs).toHaveLength(1);
      return undefined_counts;
    };
    try {
      // Without a catalog, each section without a granularity may have current counts.
      expect(await counted({})).toEqual({
        known: false,
        sections: [queue, { section: 'types', metrics: ['alerts.created'] }],
      });
      const service = { COMPLIANCE_API_URL: sandbox.url, ACME_KEY: key };
      expect(await counted(service)).toEqual({ known: true, sections: [queue] });
    } finally {
      await sandbox.close();
    }
  });

  test('docket backfill shows the cost of a long range, and opens nothing without confirmation', async () => {
    const sandbox = await openSandbox();
    onTestFinished(() => sandbox.close());
    const key = sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '';
    const service = { ...env, COMPLIANCE_API_URL: sandbox.url, ACME_KEY: key };
    const args = ['backfill', 'acme/monthly', '--from', '2024-01', '--to', '2025-09'];
    const count = async () => (await listed('--org', 'acme', '--limit', '500')).runs.length;
    const before = await count();
    const explained = await runCommand(['explain', 'acme/monthly', '--period', '2024-01', '--json'], { env: service });
    const { tokens } = z.looseObject({ tokens: z.int().min(1) }).parse(JSON.parse(explained.stdout));
    // The limit is 30 calls a minute.
    const cost = `21 runs, up to ${21 * tokens} calls, about ${Math.ceil((21 * tokens) / 30)} minute`;

    for (const flags of [[], ['--json']]) {
      const refused = await runCommand([...args, ...flags], { env: service, cwd: folder });
      expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('[usage.invalid]') });
      expect(refused.stderr).toContain(cost);
      expect(refused.stderr).toContain('--yes');
    }
    const answering = (keys: string) => {
      let pressed = false;
      const press = (screen: string) => {
        if (pressed || !screen.includes('Enqueue 21 runs?')) return undefined;
        pressed = true;
        return keys;
      };
      return runCommand(args, { env: service, cwd: folder, terminal: { press } });
    };
    for (const keys of ['\r', 'n', '\u0003']) expect((await answering(keys)).code, JSON.stringify(keys)).not.toBe(0);
    expect(await count()).toBe(before);

    expect((await answering('y')).code).toBe(0);
    expect(await count()).toBe(before + 21);
    const again = await runCommand([...args, '--yes', '--json'], { env: service, cwd: folder });
    expect(filledSchema.parse(JSON.parse(again.stdout)).runs.map(({ opened }) => opened)).toEqual(
      Array(21).fill(false),
    );
    // Up to twenty runs need no confirmation.
    const short = await runCommand([...args.slice(0, -1), '2025-08'], { env: service, cwd: folder });
    expect([short.code, short.stderr.includes('20 runs')]).toEqual([0, true]);
  });

  test('docket backfill rejects invalid periods and recipients, and opens nothing', async () => {
    const before = (await listed()).runs.length;
    const days = ['--from', '2026-01', '--to', '2026-03'];
    const rolling = await command('backfill', 'acme/rolling', ...days);
    expect(rolling).toMatchObject({ code: 2, stderr: expect.stringContaining('[usage.invalid]') });
    expect((await command('backfill', 'acme/monthly', '--from', 'previous_month', '--to', '2026-03')).code).toBe(2);
    await writeFile(join(folder, 'jobs', 'acme', 'stranger.yaml'), report('previous_month', 'x@rival.example'));
    expect((await command('backfill', 'acme/stranger', ...days, '--deliver')).stderr).toContain('rival.example');
    expect((await command('runs', '--state', 'lost')).code).toBe(2);
    expect((await listed()).runs).toHaveLength(before);
  });
});
