import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../../src/base/clock.ts';
import { silentLog } from '../../../../src/base/log.ts';
import { loadDefinitions, reportFileSchema } from '../../../../src/compose/built-in-kinds.ts';
import { TARGETS } from '../../../../src/deliver/targets/registry.ts';
import { type LocalRedis, localRedis } from '../../../../src/demo/local-redis.ts';
import { createActiveReports } from '../../../../src/queue/definitions/active-reports.ts';
import { redisActiveVersions } from '../../../../src/queue/definitions/active-versions.ts';
import { definitionStore } from '../../../../src/queue/definitions/definition-store.ts';
import { openRedis } from '../../../../src/redis/connection.ts';
import { DEFAULT_KEY_PREFIX } from '../../../../src/redis/keys.ts';
import { type Sandbox, startSandbox } from '../../../../src/sandbox/sandbox.ts';
import { jobsFolder, ORG, REPORT } from '../../../support/jobs-folder.ts';
import { runCommand } from '../../../support/run-command.ts';

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

/** Activates the folder like a scheduler at its start. */
async function activate(folder: string): Promise<void> {
  const client = await openRedis(redis.url, 'producer', silentLog);
  const jobs = await loadDefinitions(folder);
  expect(jobs.diagnostics).toEqual([]);
  await createActiveReports({
    jobs: () => jobs,
    targets: TARGETS,
    versions: redisActiveVersions(client, { prefix: DEFAULT_KEY_PREFIX }),
    definitions: definitionStore(client, { prefix: DEFAULT_KEY_PREFIX, keepDays: 30, reportSchema: reportFileSchema }),
    by: 'host:1',
    clock: systemClock,
    log: silentLog,
  }).activate();
  client.disconnect();
}

test('diff shows changed schedules, recipients, targets and calls, and which invalid definitions keep their version', async () => {
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
  await activate(folder);
  const same = await runCommand(['diff'], { env });
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
  const { code, stdout } = await runCommand(['diff', '--json'], { env });
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

  const schedule = await runCommand(['schedule'], { env });
  expect(schedule.stderr).toMatch(/^acme\/broken .*\d{4}-\d\d-\d\dT/m);

  const text = await runCommand(['diff'], { env });
  expect(text.stdout).toMatch(/^~ acme\/weekly/m);
  expect(text.stdout).toContain('+boss@acme.example -lead@acme.example');
  expect(text.stdout).toMatch(/^= acme\/broken/m);
  expect(text.stderr).toContain('broken.yaml:5:');
});

test('diff counts calls in the fiscal year of the organization', async () => {
  const key = sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '';
  const org = `${ORG.replace('org: 7', 'org: current')}fiscal_year_start: { month: 4, day: 6 }\n`;
  const report = REPORT.replace('previous_week', 'previous_year').replace(
    /sections:[\s\S]*outputs:/,
    'sections:\n  - id: year\n    metrics: [profiles.created]\noutputs:',
  );
  const folder = await jobsFolder({ 'fiscal/org.yaml': org, 'fiscal/year.yaml': report });
  const env = { REDIS_URL: redis.url, DOCKET_JOBS: folder, COMPLIANCE_API_URL: sandbox.url, ACME_KEY: key };
  await activate(folder);
  await writeFile(
    join(folder, 'fiscal/year.yaml'),
    report.replace('compare: previous_period', 'compare: [previous_period, previous_year]'),
  );
  const { stdout } = await runCommand(['diff', '--json'], { env });
  const { changes } = JSON.parse(stdout);
  // `previous_year` equals `previous_period` for a fiscal year, so one call serves both. With calendar years it would not.
  expect(changes.find(({ report: name }: { report: string }) => name === 'fiscal/year')).toMatchObject({
    fields: ['compare'],
    calls: { before: 1, after: 1 },
  });
});
