import { stripVTControlCharacters } from 'node:util';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Secret } from '../../../src/base/secrets/secret.ts';
import { type LocalRedis, localRedis } from '../../../src/demo/local-redis.ts';
import { redisPauses } from '../../../src/queue/schedules/pauses.ts';
import { DEFAULT_KEY_PREFIX } from '../../../src/redis/keys.ts';
import { forecastSchema } from '../../../src/services/forecast/forecast-document.ts';
import { jobsFolder, ORG } from '../../support/jobs-folder.ts';
import { CATALOG } from '../../support/reports.ts';
import { runCommand } from '../../support/run-command.ts';

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

const KEY = 'acme.s3cr3t-of-acme';
const fingerprint = new Secret(KEY).fingerprint();
const RISKS = ['low', 'medium', 'high', 'severe'];
/** Needs ten calls that no other report makes. */
const reportText = (schedule: string) => `version: 1
title: Weekly
owner: ops@acme.example
schedule: { cron: "0 9 * * MON", ${schedule} }
period: previous_week
max_age: 0s
sections:
${Array.from({ length: 10 }, (_, index) => {
  const values = RISKS.filter((_risk, at) => (index + 1) & (1 << at)).join(', ');
  return `  - { id: s${index}, metrics: [profiles.created], filters: [{ dimension: profile.risk, op: in, values: [${values}] }] }`;
}).join('\n')}
outputs: [{ format: csv }]
`;
const cacheCatalog = (org = 7) =>
  client.set(`${DEFAULT_KEY_PREFIX}:catalog:${fingerprint}:${org}`, JSON.stringify(CATALOG));

describe('docket forecast', () => {
  const run = async (files: Record<string, string>, args: readonly string[] = ['--json']) =>
    runCommand(['forecast', '--from', '2026-11-30T00:00:00Z', ...args], {
      env: { REDIS_URL: redis.url, DOCKET_JOBS: await jobsFolder(files), ACME_KEY: KEY },
    });
  const four = Object.fromEntries([1, 2, 3, 4].map((day) => [`acme/r${day}.yaml`, reportText('late_after: 1m')]));

  test('shows when each report in the window is delivered, and which will be late', async () => {
    await cacheCatalog();
    const { code, stdout, stderr } = await run({ 'acme/org.yaml': ORG, ...four });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const { runs, keys, unplanned, assumptions } = forecastSchema.parse(JSON.parse(stdout));
    expect(unplanned).toEqual([]);
    expect(assumptions).toMatchObject({ processes: 1, concurrency: 4 });
    expect(runs.map(({ report, calls, slot }) => [report, calls, slot])).toEqual(
      [1, 2, 3, 4].map((day) => [`acme/r${day}`, 10, '2026-11-30T08:00:00.000Z']),
    );
    expect(runs.map(({ late }) => late)).toContain(true);
    expect(keys).toMatchObject([
      { key: fingerprint, organizations: ['acme'], limit: 30, tokens: 41, full_at: '2026-11-30T08:00:00.000Z' },
    ]);
  });

  test('uses no token and writes nothing', async () => {
    await cacheCatalog();
    const before = await client.keys('*');
    await run({ 'acme/org.yaml': ORG, ...four });
    expect(await client.keys('*')).toEqual(before);
  });

  test('lists reports without a cached catalog, and exits with 1 for them with --require-complete', async () => {
    const files = { 'acme/org.yaml': ORG, 'acme/r1.yaml': reportText('prepare: 1h') };
    const first = await run(files);
    expect(first.code).toBe(0);
    expect(forecastSchema.parse(JSON.parse(first.stdout))).toMatchObject({
      runs: [],
      unplanned: [{ report: 'acme/r1', slots: 1 }],
    });
    expect((await run(files, ['--require-complete'])).code).toBe(1);
    await cacheCatalog();
    expect((await run(files, ['--require-complete'])).code).toBe(0);
  });

  test('makes no calls at the slot of a prepared report, and has no run of a paused one', async () => {
    await cacheCatalog();
    const files = {
      'acme/org.yaml': ORG,
      'acme/r1.yaml': reportText('prepare: 1h'),
      'acme/r2.yaml': reportText('prepare: 1h'),
    };
    const pauses = redisPauses(client, { prefix: DEFAULT_KEY_PREFIX });
    await pauses.put({ org: 'acme', report: 'r2', who: 'mia', why: 'holiday', since: 0, key: null, run: null });
    const { runs, keys, paused } = forecastSchema.parse(JSON.parse((await run(files)).stdout));
    expect(paused).toEqual(['acme/r2']);
    expect(runs).toMatchObject([{ report: 'acme/r1', prepared: 10, delivered: '2026-11-30T08:00:05.000Z' }]);
    for (const { at } of keys[0]?.minutes ?? []) expect(at < '2026-11-30T07:58').toBe(true);
  });

  test('counts the calls of all organizations of a key, and shows one organization with --org', async () => {
    await cacheCatalog();
    await cacheCatalog(8);
    const files = {
      'acme/org.yaml': ORG,
      'branch/org.yaml': ORG.replace('org: 7', 'org: 8'),
      'acme/r1.yaml': reportText('late_after: 1m'),
      'branch/r1.yaml': reportText('late_after: 1m'),
    };
    const { runs, keys } = forecastSchema.parse(JSON.parse((await run(files, ['--org', 'branch', '--json'])).stdout));
    expect(runs.map(({ report }) => report)).toEqual(['branch/r1']);
    expect(keys).toMatchObject([{ organizations: ['acme', 'branch'], tokens: 22 }]);
    const none = await run(files, ['--key', 'ffffffffffffffff', '--json']);
    expect(forecastSchema.parse(JSON.parse(none.stdout))).toMatchObject({ runs: [], keys: [] });
    expect((await run(files, ['--org', 'nobody'])).code).not.toBe(0);
    expect((await run(files, ['--hours', '0'])).code).toBe(2);
  });

  test('advises the fewest reports with `prepare` so that none is late, in text and in JSON', async () => {
    await cacheCatalog();
    const files = { 'acme/org.yaml': ORG, ...four };
    const { late_slots, runs } = forecastSchema.parse(JSON.parse((await run(files)).stdout));
    expect(late_slots).toMatchObject([
      { reports: 4, calls: 40, late: runs.filter(({ late }) => late).length, advice: { prepare_minutes: 15 } },
    ]);
    const [{ advice }] = late_slots as [(typeof late_slots)[number]];
    const prepared = Object.fromEntries(
      Object.entries(four).map(([name, text]) => [
        name,
        advice?.reports.includes(name.replace('.yaml', ''))
          ? text.replace('late_after', 'prepare: 15m, late_after')
          : text,
      ]),
    );
    const followed = await run({ 'acme/org.yaml': ORG, ...prepared });
    expect(forecastSchema.parse(JSON.parse(followed.stdout)).late_slots).toEqual([]);
    const { stdout } = await run(files, []);
    expect(stripVTControlCharacters(stdout).replace(/\s+/g, ' ')).toMatch(
      /4 reports, 40 calls on key \w+…; \d late, the last at 08:01\. `prepare: 15m` on 1 of them is enough for all to be on time\./,
    );
  });

  test('draws a chart of at most 80 columns, with a full bar for a full minute', async () => {
    await cacheCatalog();
    const { stdout } = await run({ 'acme/org.yaml': ORG, ...four }, []);
    const chart = stripVTControlCharacters(stdout)
      .split('\n')
      .filter((line) => line.includes('·'));
    expect(chart).toHaveLength(1);
    expect(chart[0]).toMatch(/^2026-11-30T08:00Z █▃·{58}$/);
    for (const line of chart) expect(line.length).toBeLessThanOrEqual(80);
  });
});
