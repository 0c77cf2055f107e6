import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { redisAudit } from '../../src/admin/auth/audit.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { type LocalRedis, localRedis } from '../../src/demo/redis.ts';
import { DEFAULT_PREFIX } from '../../src/queue/keys.ts';
import { docket } from '../support/docket.ts';
import { jobsFolder } from '../support/jobs-folder.ts';

const ORG = `org: current
api_key: { env: ACME_KEY }
timezone: UTC
recipients: { domains: [acme.example] }
`;
const REPORT = `version: 1
title: Weekly
owner: ops@acme.example
period: previous_month
sections:
  - { id: queue, metrics: [alerts.open] }
outputs:
  - { format: csv }
deliveries:
  - directory: { path: out }
`;
const runSchema = z.object({ id: z.string() });

let redis: LocalRedis;
let client: Redis;
beforeAll(async () => {
  redis = await localRedis({ PATH: process.env.PATH });
  client = new Redis(redis.url);
});
afterAll(async () => {
  client.disconnect();
  await redis.close();
});

test('what is done from the command line is on the audit log with who did it and why, and nothing else is', async () => {
  const folder = await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT });
  const env = { REDIS_URL: redis.url, DOCKET_JOBS: folder, ACME_KEY: 'sbx_key', LOG_LEVEL: 'info' };
  const say = async (...args: string[]) => {
    const ended = await docket(args, { env });
    expect(ended.code, ended.stderr).toBe(0);
    return ended.stdout;
  };
  const runOf = (text: string) => runSchema.parse(JSON.parse(text)).id;

  await say('pause', 'acme', '--reason', 'holidays', '--by', 'ann', '--json');
  await say('resume', 'acme', '--reason', 'back', '--by', 'ann', '--json');
  const run = runOf(await say('run', 'acme/weekly', '--queue', '--json'));
  await say('runs', 'cancel', run, '--reason', 'not yet', '--by', 'bob', '--json');
  await say('runs', 'retry', run, '--reason', 'now', '--by', 'bob', '--json');
  const range = ['--from', '2026-01', '--to', '2026-02'];
  await say('backfill', 'acme/weekly', ...range, '--by', 'cat', '--json');
  await say('backfill', 'acme/weekly', ...range, '--by', 'dan', '--json');
  await say('runs', 'list', '--json');
  const refused = await docket(['runs', 'cancel', '0'.repeat(32), '--reason', 'no such run', '--by', 'eve'], { env });
  expect(refused.code).not.toBe(0);

  const audit = redisAudit(client, {
    prefix: DEFAULT_PREFIX,
    clock: systemClock,
    log: silentLog,
  });
  const { entries } = await audit.list({ orgs: '*', house: true, limit: 50 });
  expect(
    entries.map(({ event, who, org, report, run: of, why }) => [event, who, org, report, of, why]).reverse(),
  ).toEqual([
    ['schedule.paused', 'ann', 'acme', undefined, undefined, 'holidays'],
    ['schedule.resumed', 'ann', 'acme', undefined, undefined, 'back'],
    ['run.triggered', expect.any(String), 'acme', 'weekly', run, undefined],
    ['run.cancelled', 'bob', 'acme', 'weekly', run, 'not yet'],
    ['run.retried', 'bob', 'acme', 'weekly', run, 'now'],
    ['run.triggered', 'cat', 'acme', 'weekly', expect.any(String), 'backfill'],
    ['run.triggered', 'cat', 'acme', 'weekly', expect.any(String), 'backfill'],
  ]);
}, 180_000);
