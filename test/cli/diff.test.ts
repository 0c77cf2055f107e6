import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { loadJobs } from '../../src/define/load.ts';
import { type LocalRedis, localRedis } from '../../src/demo/redis.ts';
import { openRedis } from '../../src/queue/connection.ts';
import { definitionStore } from '../../src/queue/definition-store.ts';
import { reportsInForce } from '../../src/queue/in-force.ts';
import { DEFAULT_PREFIX } from '../../src/queue/keys.ts';
import { redisVersions } from '../../src/queue/versions.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { docket } from '../support/docket.ts';
import { jobsFolder, ORG, REPORT } from '../support/jobs-folder.ts';

let redis: LocalRedis;
let sandbox: Sandbox;
beforeAll(async () => {
  redis = await localRedis({ PATH: process.env.PATH });
  sandbox = await startSandbox();
});
afterAll(async () => {
  await sandbox.close();
  await redis.close();
});

/** A scheduler started with this folder. */
async function putInForce(folder: string): Promise<void> {
  const client = await openRedis(redis.url, 'producer', silentLog);
  const jobs = await loadJobs(folder);
  expect(jobs.faults).toEqual([]);
  await reportsInForce({
    jobs: () => jobs,
    versions: redisVersions(client, { prefix: DEFAULT_PREFIX }),
    definitions: definitionStore(client, { prefix: DEFAULT_PREFIX, keepDays: 30 }),
    by: 'host:1',
    clock: systemClock,
    log: silentLog,
  }).adopt();
  client.disconnect();
}

test('diff shows what would change of schedules, recipients, targets and calls, and what stays for its fault', async () => {
  const key = sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '';
  const org = ORG.replace('org: 7', 'org: current');
  const plain = REPORT.replace(/ {4}dimensions:.*\n {4}granularity[\s\S]*chart: line\n/, '');
  const folder = await jobsFolder({
    'acme/org.yaml': org,
    'acme/weekly.yaml': plain,
    'acme/gone.yaml': plain,
    'acme/broken.yaml': plain,
    'acme/same.yaml': plain,
  });
  const env = { REDIS_URL: redis.url, DOCKET_JOBS: folder, COMPLIANCE_API_URL: sandbox.url, ACME_KEY: key };
  await putInForce(folder);
  const same = await docket(['diff'], { env });
  expect(same).toMatchObject({ code: 0, stdout: 'Nothing changes.\n' });

  await rm(join(folder, 'acme/gone.yaml'));
  await writeFile(join(folder, 'acme/broken.yaml'), plain.replace('previous_week', 'last_weak'));
  await writeFile(
    join(folder, 'acme/weekly.yaml'),
    plain
      .replace('0 8 * * MON', '0 9 * * MON')
      .replace('to: [lead@acme.example]', 'to: [boss@acme.example]')
      .replace('directory: { path: out }', 'directory: { path: elsewhere }')
      .replace('  - id: roster', '  - id: alerts\n    metrics: [alerts.created]\n    granularity: day\n  - id: roster'),
  );
  await writeFile(join(folder, 'acme/new.yaml'), plain.replace(/schedule:.*\n/, ''));
  const { code, stdout } = await docket(['diff', '--json'], { env });
  expect(code).toBe(1);
  const document = JSON.parse(stdout);
  expect(document).toMatchObject({ kept: ['acme/broken'], calls_unknown: [], faults: [{ line: 5 }] });
  const [gone, fresh, weekly, ...others] = document.changes;
  expect(others).toEqual([]);
  expect(gone).toMatchObject({ report: 'acme/gone', change: 'removed', calls: { after: 0 } });
  expect(gone.slots).toMatchObject({ after: [] });
  expect(fresh).toMatchObject({
    report: 'acme/new',
    change: 'added',
    in_force_since: null,
    slots: null,
    recipients: { added: ['lead@acme.example'], removed: [] },
    targets: { added: ['directory out'], removed: [] },
  });
  expect(weekly).toMatchObject({
    report: 'acme/weekly',
    change: 'changed',
    fields: ['deliveries', 'schedule', 'sections'],
    org_fields: [],
    recipients: { added: ['boss@acme.example'], removed: ['lead@acme.example'] },
    targets: { added: ['directory elsewhere'], removed: ['directory out'] },
  });
  expect(weekly.calls.after).toBeGreaterThan(weekly.calls.before);
  expect(weekly.slots.before).toHaveLength(3);
  expect(weekly.slots.after).not.toEqual(weekly.slots.before);

  const schedule = await docket(['schedule'], { env });
  expect(schedule.stderr).toContain('acme/broken goes on as it was put in force at ');

  const text = await docket(['diff'], { env });
  expect(text.stdout).toContain('~ acme/weekly changed');
  expect(text.stdout).toContain('recipients +boss@acme.example -lead@acme.example');
  expect(text.stderr).toContain('broken.yaml:5:');
  expect(text.stdout).toContain('= acme/broken: has a fault here');
});
