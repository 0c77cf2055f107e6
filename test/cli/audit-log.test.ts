import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { type LocalRedis, localRedis } from '../../src/demo/local-redis.ts';
import { DEFAULT_KEY_PREFIX } from '../../src/redis/keys.ts';
import { redisAuditLog } from '../../src/services/audit-log.ts';
import { jobsFolder } from '../support/jobs-folder.ts';
import { runCommand } from '../support/run-command.ts';

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

test('the audit log has exactly the successful actions of commands, with author and reason', async () => {
  const folder = await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT });
  const env = { REDIS_URL: redis.url, DOCKET_JOBS: folder, ACME_KEY: 'sbx_key', LOG_LEVEL: 'info' };
  const run = async (...args: string[]) => {
    const ended = await runCommand(args, { env });
    expect(ended.code, ended.stderr).toBe(0);
    return ended.stdout;
  };
  const runOf = (text: string) => runSchema.parse(JSON.parse(text)).id;

  await run('pause', 'acme', '--reason', 'holidays', '--by', 'ann', '--json');
  await run('resume', 'acme', '--reason', 'back', '--by', 'ann', '--json');
  const id = runOf(await run('run', 'acme/weekly', '--queue', '--json'));
  await run('runs', 'cancel', id, '--reason', 'not yet', '--by', 'bob', '--json');
  await run('runs', 'retry', id, '--reason', 'now', '--by', 'bob', '--json');
  const range = ['--from', '2026-01', '--to', '2026-02'];
  await run('backfill', 'acme/weekly', ...range, '--by', 'cat', '--json');
  await run('backfill', 'acme/weekly', ...range, '--by', 'dan', '--json');
  await run('runs', 'list', '--json');
  const refused = await runCommand(['runs', 'cancel', '0'.repeat(32), '--reason', 'no such run', '--by', 'eve'], {
    env,
  });
  expect(refused.code).not.toBe(0);

  const audit = redisAuditLog(client, {
    prefix: DEFAULT_KEY_PREFIX,
    clock: systemClock,
    log: silentLog,
  });
  const { entries } = await audit.list({ orgs: '*', includeGlobal: true, limit: 50 });
  expect(
    entries.map(({ event, who, org, report, run: of, why }) => [event, who, org, report, of, why]).reverse(),
  ).toEqual([
    ['schedule.paused', 'ann', 'acme', undefined, undefined, 'holidays'],
    ['schedule.resumed', 'ann', 'acme', undefined, undefined, 'back'],
    ['run.triggered', expect.any(String), 'acme', 'weekly', id, undefined],
    ['run.cancelled', 'bob', 'acme', 'weekly', id, 'not yet'],
    ['run.retried', 'bob', 'acme', 'weekly', id, 'now'],
    ['run.triggered', 'cat', 'acme', 'weekly', expect.any(String), 'backfill'],
    ['run.triggered', 'cat', 'acme', 'weekly', expect.any(String), 'backfill'],
  ]);
});
