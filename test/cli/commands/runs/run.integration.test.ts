import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../../../../src/base/clock.ts';
import { Secret } from '../../../../src/base/secrets/secret.ts';
import { RATE_LIMITS } from '../../../../src/contract/limits.ts';
import { type LocalRedis, localRedis } from '../../../../src/demo/local-redis.ts';
import { createClient } from '../../../../src/fetch/client/compliance-client.ts';
import { rateLimitedCall } from '../../../../src/fetch/rate-limit/rate-limited-call.ts';
import { DEFAULT_KEY_PREFIX } from '../../../../src/redis/keys.ts';
import { parseFault, type Sandbox, startSandbox } from '../../../../src/sandbox/sandbox.ts';
import { sharedBudgets } from '../../../../src/services/budgets/budgets.ts';
import { freePort } from '../../../support/free-port.ts';
import { jobsFolder, ORG, REPORT } from '../../../support/jobs-folder.ts';
import { runCommand } from '../../../support/run-command.ts';

const documentSchema = z.object({
  run: z.string().regex(/^[0-9a-f]{32}$/),
  state: z.enum(['done', 'partly_delivered', 'held']),
  period: z.object({ from: z.string(), to: z.string(), timezone: z.string(), label: z.string() }),
  files: z.array(z.object({ name: z.string(), path: z.string(), bytes: z.number(), sha256: z.string() })),
  calls: z.array(z.object({ method: z.string(), path: z.string(), as_of: z.string().nullable() })),
  deliveries: z.array(z.object({ target: z.string(), recipient: z.string(), state: z.string() })),
});
const errorSchema = z.object({ error: z.object({ code: z.string(), next: z.string().optional() }) });

describe('docket run, without Redis', () => {
  let sandbox: Sandbox;
  let key: string;
  let out: string;

  beforeAll(async () => {
    sandbox = await startSandbox();
    key = sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '';
  });
  afterAll(() => sandbox.close());
  beforeEach(async () => {
    out = join(await mkdtemp(join(tmpdir(), 'docket-cli-')), 'out');
  });
  afterEach(async () => {
    sandbox.setFaults([]);
    await rm(dirname(out), { recursive: true, force: true });
  });

  /** The environment that a run needs, without Redis. */
  const env = async (change: Record<string, string> = {}) => ({
    COMPLIANCE_API_URL: sandbox.url,
    DEMO_API_KEY: key,
    ...change,
  });
  const expectNoFiles = async () => expect(await readdir(out).catch(() => [])).toEqual([]);

  test('creates the files, and prints one document with files, calls and period', async () => {
    const ended = await runCommand(
      ['run', 'demo/weekly-kpi', '--period', '2026-W40', '--no-deliver', '--json', '--out', out],
      { env: await env() },
    );
    expect(ended).toMatchObject({ code: 0 });
    const document = documentSchema.parse(JSON.parse(ended.stdout));
    expect(document.state).toBe('done');
    expect(document.period).toEqual({
      from: '2026-09-28',
      to: '2026-10-04',
      timezone: 'Europe/Zurich',
      label: '2026-W40',
    });
    expect(document.calls.map(({ path }) => path)).toContain('/api/orgs/current/analytics/report/');
    expect(document.deliveries).toEqual([]);
    expect(document.files.map(({ name }) => name)).toContain('Weekly KPIs 2026-W40.xlsx');
    for (const { path, sha256 } of document.files) {
      expect(
        createHash('sha256')
          .update(await readFile(path))
          .digest('hex'),
      ).toBe(sha256);
    }
  });

  test('fails if the service is unreachable, and leaves no files', async () => {
    const port = await freePort();
    const ended = await runCommand(['run', 'demo/weekly-kpi', '--no-deliver', '--json', '--out', out], {
      env: await env({ COMPLIANCE_API_URL: `http://127.0.0.1:${port}` }),
    });
    expect(ended.code).toBe(1);
    expect(errorSchema.parse(JSON.parse(ended.stdout)).error.code).toBe('api.unreachable');
    expect(ended.stderr).toContain(`127.0.0.1:${port}`);
    await expectNoFiles();
  });

  test('fails for a rejected key without printing it, and leaves no files', async () => {
    const wrong = 'sbx_acme.not-the-secret-of-anything';
    const ended = await runCommand(['run', 'demo/weekly-kpi', '--no-deliver', '--json', '--out', out], {
      env: await env({ DEMO_API_KEY: wrong }),
    });
    expect(ended.code).toBe(1);
    const { error } = errorSchema.parse(JSON.parse(ended.stdout));
    expect(error.code).toBe('api.unauthorized');
    expect(ended.stderr).toContain('correlation_id');
    expect(ended.stdout + ended.stderr).not.toContain('not-the-secret');
    await expectNoFiles();
  });

  test('fails for a truncated response', async () => {
    sandbox.setFaults([parseFault('truncate@/analytics/report/')]);
    const ended = await runCommand(['run', 'demo/weekly-kpi', '--no-deliver', '--json', '--out', out], {
      env: await env(),
    });
    expect(ended.code).toBe(1);
    expect(errorSchema.parse(JSON.parse(ended.stdout)).error.code).toMatch(/^api\.(unreadable|unreachable)$/);
    expect(ended.stderr).not.toMatch(/\n {4}at /);
    await expectNoFiles();
  });

  test('makes no call if no mail server is configured', async () => {
    const before = sandbox.requests().length;
    const ended = await runCommand(['run', 'demo/weekly-kpi', '--out', out], { env: await env() });
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain('SMTP_URL');
    expect(sandbox.requests()).toHaveLength(before);
  });

  test('suggests a similar name for an unknown report', async () => {
    const ended = await runCommand(['run', 'demo/weekly-kpis', '--no-deliver', '--json', '--out', out], {
      env: await env(),
    });
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain('demo/weekly-kpi');
  });

  test('makes no call for an unusable output folder, and does not change the folder', async () => {
    const before = sandbox.requests().length;
    await writeFile(out, 'a file');
    const file = await runCommand(['run', 'demo/weekly-kpi', '--no-deliver', '--out', out], { env: await env() });
    expect(file.code).toBe(1);
    await rm(out);
    await mkdir(out);
    await writeFile(join(out, 'manifest.json'), '{"name":"somebody else’s"}');
    const foreign = await runCommand(['run', 'demo/weekly-kpi', '--no-deliver', '--out', out], { env: await env() });
    expect(foreign.code).toBe(2);
    expect(await readdir(out)).toEqual(['manifest.json']);
    expect(sandbox.requests()).toHaveLength(before);
  });

  test('reports all invalid variables at once', async () => {
    const ended = await runCommand(['run', 'demo/weekly-kpi'], {
      env: { COMPLIANCE_API_URL: 'not a url', REDIS_URL: 'http://user:secret@x', LOG_LEVEL: 'loud' },
    });
    expect(ended.code).toBe(2);
    for (const name of ['COMPLIANCE_API_URL', 'REDIS_URL', 'LOG_LEVEL']) expect(ended.stderr).toContain(name);
    expect(ended.stderr).not.toContain('secret');
  });
});

describe('docket run and check, with a Redis', () => {
  const WINDOW_MS = 1_500;
  let sandbox: Sandbox;
  let redis: LocalRedis;
  let client: Redis;
  let key: string;
  beforeAll(async () => {
    // The sandbox follows the specification, but its minute is shorter.
    sandbox = await startSandbox({ windowMs: WINDOW_MS, cacheSeconds: 0 });
    key = sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '';
    redis = await localRedis({ PATH: process.env.PATH });
    client = new Redis(redis.url);
  });
  afterAll(async () => {
    client.disconnect();
    await redis.close();
    await sandbox.close();
  });
  const files = async () => {
    const org = `${ORG.replace('org: 7', 'org: current')}budget: { window: ${WINDOW_MS / 1_000} }\n`;
    const report = REPORT.replace(/ {2}- id: roster\n( {4}.*\n)+/, '');
    return jobsFolder({ 'jobs/acme/org.yaml': org, 'jobs/acme/weekly.yaml': report });
  };
  const command = async (args: readonly string[], url: string) => {
    const folder = await files();
    const env = { COMPLIANCE_API_URL: sandbox.url, ACME_KEY: key, DOCKET_JOBS: join(folder, 'jobs'), REDIS_URL: url };
    // The working directory is beside the definitions, so that nothing is delivered into their folder.
    return runCommand(args, { env, cwd: folder });
  };

  test('cause no 429 in a run beside a worker that uses the whole budget', async () => {
    const secret = new Secret(key);
    const service = createClient({ baseUrl: sandbox.url, key: secret, clock: systemClock });
    const limits = { calls: RATE_LIMITS.metrics.calls, windowMs: WINDOW_MS };
    const budget = sharedBudgets(client, DEFAULT_KEY_PREFIX, systemClock)('metrics', limits);
    const over = new AbortController();
    onTestFinished(() => over.abort());
    const busy = async (waiter: number) => {
      for (let call = 0; !over.signal.aborted; call += 1) {
        const paid = await rateLimitedCall(
          {
            budget,
            clock: systemClock,
            key: secret.fingerprint(),
            org: 'branch',
            priority: 'scheduled',
            maxWaitMs: Number.POSITIVE_INFINITY,
            requestTimeoutMs: 10_000,
          },
          {
            id: `busy:${waiter}:${call}`,
            attempt: () => service.catalog('current', new AbortController().signal),
            onWait: () => {},
            signal: new AbortController().signal,
            stop: over.signal,
          },
        );
        if (paid.kind === 'fail') throw paid.error;
      }
    };
    const worker = Array.from({ length: 40 }, (_, waiter) => busy(waiter));
    const runs = await Promise.all(
      ['2026-W40', '2026-W41', '2026-W42'].map((period) =>
        command(['run', 'acme/weekly', '--period', period, '--no-deliver', '--json'], redis.url),
      ),
    );
    over.abort();
    await Promise.all(worker);
    await service.close();
    for (const { code, stderr } of runs) expect({ code, stderr }).toMatchObject({ code: 0 });
    const calls = sandbox.requests().filter(({ path }) => path.includes('/analytics/'));
    expect(calls.length).toBeGreaterThan(RATE_LIMITS.metrics.calls);
    expect(calls.filter(({ status }) => status === 429)).toEqual([]);
  });

  test('make no call and fail in a run whose Redis is unreachable', async () => {
    const before = sandbox.requests().length;
    const url = `redis://user:hunter2@127.0.0.1:${await freePort()}`;
    const ended = await command(['run', 'acme/weekly', '--no-deliver', '--json'], url);
    expect(ended.code).toBe(1);
    const { error } = errorSchema.parse(JSON.parse(ended.stdout));
    expect(error.code).toBe('redis.unreachable');
    expect(sandbox.requests().length).toBe(before);
    expect(ended.stdout + ended.stderr).not.toContain('hunter2');
  });

  test('skip the catalogs in a check whose Redis is unreachable, and check the files', async () => {
    const before = sandbox.requests().length;
    const ended = await command(['check', '--json'], `redis://127.0.0.1:${await freePort()}`);
    expect(ended).toMatchObject({ code: 0 });
    expect(JSON.parse(ended.stdout)).toMatchObject({ files: 2, not_checked: [expect.stringContaining('127.0.0.1')] });
    expect(sandbox.requests().length).toBe(before);
  });
});
