import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../../../src/base/clock.ts';
import { Secret } from '../../../src/base/secrets/secret.ts';
import { RATE_LIMITS } from '../../../src/contract/limits.ts';
import { type LocalRedis, localRedis } from '../../../src/demo/local-redis.ts';
import type { BudgetLimits } from '../../../src/fetch/rate-limit/budget.ts';
import { DEFAULT_KEY_PREFIX } from '../../../src/redis/keys.ts';
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts';
import { type BudgetKind, sharedBudgets } from '../../../src/services/budgets/budgets.ts';
import { freePort } from '../../support/free-port.ts';
import { jobsFolder, ORG, REPORT } from '../../support/jobs-folder.ts';
import { runCommand } from '../../support/run-command.ts';

const stateSchema = z.strictObject({
  tokens: z.number(),
  limit: z.number(),
  in_flight: z.number(),
  waiting: z.number(),
  blocked_until: z.iso.datetime().nullable(),
  throttled: z.number(),
  slowed_until: z.iso.datetime().nullable(),
});
const documentSchema = z.strictObject({
  keys: z.array(
    z.strictObject({
      key: z.string(),
      organizations: z.array(z.string()),
      conflict: z.string().optional(),
      metrics: stateSchema,
      reads: stateSchema.nullable(),
    }),
  ),
  unknown: z.array(
    z.strictObject({
      organization: z.string(),
      error: z.looseObject({ code: z.string(), message: z.string(), next: z.string() }),
    }),
  ),
});

let redis: LocalRedis;
let client: Redis;
beforeAll(async () => {
  redis = await localRedis({ PATH: process.env.PATH });
  client = new Redis(redis.url);
});
afterEach(() => client.flushall());
afterAll(async () => {
  client.disconnect();
  await redis.close();
});

const ACME = 'acme.s3cr3t-of-acme';
const fingerprint = (key: string) => new Secret(key).fingerprint();
const budgetOf = (of: BudgetKind, limits: BudgetLimits = RATE_LIMITS[of]) =>
  sharedBudgets(client, DEFAULT_KEY_PREFIX, systemClock)(of, limits);
const ask = (id: string, key = fingerprint(ACME)) =>
  ({ key, id, org: 'acme', priority: 'scheduled', holdMs: 30_000 }) as const;

describe('docket budget', () => {
  const show = async (files: Record<string, string>, env: Record<string, string>, json = true) =>
    runCommand(['budget', ...(json ? ['--json'] : [])], {
      env: { REDIS_URL: redis.url, DOCKET_JOBS: await jobsFolder(files), ...env },
    });

  test('shows the budget of a key, once for all organizations that share it', async () => {
    const metrics = budgetOf('metrics');
    for (let n = 0; n < 29; n += 1) await metrics.acquire(ask(`run:${n}`));
    const last = await metrics.acquire(ask('run:29'));
    if (!last.granted) throw new Error('30 tokens and no 30th');
    await metrics.complete(fingerprint(ACME), last.token);
    await metrics.acquire(ask('run:30'));
    await budgetOf('reads').acquire(ask('page:1'));
    const until = Date.now() + 40_000;
    await metrics.penalize(fingerprint(ACME), until, 'acme');

    const { code, stdout, stderr } = await show(
      { 'acme/org.yaml': ORG, 'branch/org.yaml': ORG, 'other/org.yaml': ORG.replace('ACME_KEY', 'OTHER_KEY') },
      { ACME_KEY: ACME, OTHER_KEY: 'other.s3cr3t' },
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const { keys, unknown } = documentSchema.parse(JSON.parse(stdout));
    expect(unknown).toEqual([]);
    expect(keys).toMatchObject([
      {
        key: fingerprint(ACME),
        organizations: ['acme', 'branch'],
        metrics: { tokens: 0, limit: 15, in_flight: 29, waiting: 1, throttled: 1 },
        reads: { tokens: 599, limit: 600, in_flight: 1, waiting: 0, blocked_until: null, throttled: 0 },
      },
      {
        key: fingerprint('other.s3cr3t'),
        organizations: ['other'],
        metrics: { tokens: 30, limit: 30, in_flight: 0, waiting: 0, blocked_until: null, throttled: 0 },
        reads: null,
      },
    ]);
    const blocked = Date.parse(keys[0]?.metrics.blocked_until ?? '');
    expect(Math.abs(blocked - until)).toBeLessThan(10_000);
    // Fifteen tokens come back, three per window.
    const { slowed_until } = keys[0]?.metrics ?? {};
    expect(Date.parse(slowed_until ?? '') - blocked).toBe(5 * 60_000);
    expect(keys[1]?.metrics.slowed_until).toBe(null);
    expect(stdout).not.toContain('s3cr3t');
  });

  test('uses the limits of org.yaml', async () => {
    const limits = { calls: 5, windowMs: 10_000 };
    await budgetOf('metrics', limits).acquire(ask('run:1'));
    const { stdout } = await show({ 'acme/org.yaml': `${ORG}budget: { calls: 5, window: 10 }\n` }, { ACME_KEY: ACME });
    expect(documentSchema.parse(JSON.parse(stdout)).keys).toMatchObject([{ metrics: { tokens: 4, limit: 5 } }]);
  });

  test('lists keys that cannot be read with their error, and uses the lowest limit when budgets conflict', async () => {
    const files = {
      'acme/org.yaml': ORG,
      'lost/org.yaml': ORG.replace('ACME_KEY', 'LOST_KEY'),
      'odd/org.yaml': `${ORG}budget: { calls: 4, window: 60 }\n`,
    };
    const { code, stdout } = await show(files, { ACME_KEY: ACME });
    expect(code).toBe(0);
    const { keys, unknown } = documentSchema.parse(JSON.parse(stdout));
    expect(keys).toMatchObject([{ organizations: ['acme', 'odd'], metrics: { limit: 4 } }]);
    const { conflict = '' } = keys[0] ?? {};
    expect(conflict).toMatch(/acme .*30.* odd .*4/);
    expect((await show(files, { ACME_KEY: ACME }, false)).stdout).toContain(conflict);
    expect(unknown.map(({ organization, error }) => [organization, error.code])).toEqual([
      ['lost', 'config.secret_missing'],
    ]);
    expect(unknown[0]?.error.message).toContain('LOST_KEY');
  });

  test('prints a table, and names skipped files', async () => {
    const files = {
      'acme/org.yaml': ORG,
      'lost/org.yaml': ORG.replace('ACME_KEY', 'LOST_KEY'),
      'bad/org.yaml': 'org: [',
    };
    const { code, stdout, stderr } = await show(files, { ACME_KEY: ACME }, false);
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^${fingerprint(ACME)} +metrics +30/30 +0 +0 +- +0 +- +acme$`, 'm'));
    expect(stdout).toMatch(/^lost: .*LOST_KEY/m);
    expect(stderr).toContain(join('bad', 'org.yaml'));
  });

  test('fails without Redis, and does not print its password', async () => {
    const ended = await show(
      { 'acme/org.yaml': ORG },
      { ACME_KEY: ACME, REDIS_URL: `redis://user:hunter2@127.0.0.1:${await freePort()}` },
    );
    expect(ended.code).toBe(1);
    expect(JSON.parse(ended.stdout)).toMatchObject({ error: { code: 'redis.unreachable' } });
    expect(ended.stdout + ended.stderr).not.toContain('hunter2');
  });
});

describe('docket explain', () => {
  let sandbox: Sandbox;
  let key: string;
  beforeAll(async () => {
    sandbox = await startSandbox();
    key = sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '';
  });
  afterAll(() => sandbox.close());

  const documentSchema = z.object({
    budget: z.object({ tokens: z.number(), waiting: z.number(), finish: z.number() }).nullish(),
    error: z.object({ code: z.string(), next: z.string() }).optional(),
  });
  const explain = async (env: Record<string, string>) => {
    const folder = await jobsFolder({
      'acme/org.yaml': ORG.replace('org: 7', 'org: current'),
      'acme/weekly.yaml': REPORT,
    });
    const ended = await runCommand(['explain', 'acme/weekly', '--json'], {
      env: { COMPLIANCE_API_URL: sandbox.url, ACME_KEY: key, DOCKET_JOBS: folder, ...env },
    });
    return { ...ended, ...documentSchema.parse(JSON.parse(ended.stdout)) };
  };

  test('shows the budget of the key with REDIS_URL', async () => {
    // The first explain fetches the catalog. The second finds it cached and needs no token.
    await explain({ REDIS_URL: redis.url });
    const metrics = budgetOf('metrics');
    for (let n = 0; n < 31; n += 1) await metrics.acquire(ask(`run:${n}`, fingerprint(key)));
    const before = Date.now();
    const { code, stderr, budget } = await explain({ REDIS_URL: redis.url });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(budget).toMatchObject({ tokens: 0, waiting: 2 });
    expect(budget?.finish).toBeGreaterThanOrEqual(before + 60_000);
    expect(budget?.finish).toBeLessThanOrEqual(Date.now() + 60_000);
    // Reading the budget takes no token and no place in the queue.
    expect(await metrics.inspect(fingerprint(key))).toMatchObject({ inFlight: 29, waiting: 2 });
  });

  test('omits the budget without REDIS_URL, and makes no call when Redis is unreachable', async () => {
    expect(await explain({})).toMatchObject({ code: 0, stderr: '', budget: null });
    expect(await explain({ REDIS_URL: ' ' })).toMatchObject({ code: 0, stderr: '', budget: null });
    const gone = await explain({ REDIS_URL: `redis://user:hunter2@127.0.0.1:${await freePort()}` });
    expect(gone.code).toBe(1);
    expect(gone.error).toMatchObject({ code: 'redis.unreachable', next: expect.stringContaining('REDIS_URL') });
    expect(gone.stderr + gone.stdout).not.toContain('hunter2');
  });
});
