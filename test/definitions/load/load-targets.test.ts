import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadDefinitions, requireReport } from '../../../src/compose/built-in-kinds.ts';
import { storedOrgSchema } from '../../../src/definitions/schema/org-settings.ts';
import { heldTarget, reportTargets, type Target } from '../../../src/definitions/schema/targets.ts';
import { jobsFolder, ORG, REPORT } from '../../support/jobs-folder.ts';
import { TARGETS } from '../../support/targets-file.ts';

const load = async (targets: string, report = REPORT) => {
  const folder = await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': report, 'acme/targets.yaml': targets });
  return { folder, jobs: await loadDefinitions(folder) };
};

test('targets.yaml is part of the settings and of all digests, and is not loaded as a report', async () => {
  const { jobs } = await load(TARGETS);
  expect(jobs.diagnostics).toEqual([]);
  expect(jobs.warnings).toEqual([]);
  expect([...jobs.reports.keys()]).toEqual(['acme/weekly']);
  expect([...jobs.targetSources.keys()]).toEqual(['acme']);
  const { settings, definition } = requireReport(jobs, 'acme/weekly');
  expect(settings.targets).toHaveLength(3);
  expect(settings.targets?.[2]).toEqual({
    metric: 'profiles.time_to_decision_p50',
    where: { 'profile.risk': 'high' },
    better: 'lower',
    target: '24h',
    watch: '36h',
  });
  // A run stores the settings and reads them again.
  const { id: _, ...file } = settings;
  expect(storedOrgSchema.parse(JSON.parse(JSON.stringify(file)))).toEqual(file);
  const other = await load(TARGETS.replace('90%', '91%'));
  expect(requireReport(other.jobs, 'acme/weekly').definition.digest).not.toBe(definition.digest);
});

test.each([
  ['target: 90%', 'target: banana', 5, 13, /number/],
  ['watch: 85%', 'watch: 95%', 6, 12, /less than the target/],
  ['watch: 36h', 'watch: 12h', 17, 12, /more than the target/],
  ['better: higher', 'better: up', 4, 13, /higher, lower/],
  ['per: week', 'per: fortnight', 10, 10, /day, week/],
  ['{ profile.risk: high }', '{ profile.risk: high, profile.type: entity }', 14, 12, /one dimension/],
  ['from: 2026-07-01', 'from: 2026-07-32', 7, 11, /date/],
  [
    'metric: profiles.created\n    per: week',
    'metric: profiles.approval_rate\n    from: 2026-07-01',
    10,
    11,
    /targets\[0\] is one already/,
  ],
])('%s → %s is an error at its place', async (from, to, line, column, expected) => {
  const text = TARGETS.replace(from, to);
  expect(text).not.toBe(TARGETS);
  const { jobs, folder } = await load(text);
  expect(jobs.diagnostics).toMatchObject([{ file: join(folder, 'acme/targets.yaml'), line, column }]);
  expect(jobs.diagnostics[0]?.expected).toMatch(expected);
  expect(() => requireReport(jobs, 'acme/weekly')).toThrow(expect.objectContaining({ code: 'definition.invalid' }));
});

test('the last good targets stay in use if the file has errors', async () => {
  const { folder, jobs } = await load(TARGETS);
  await writeFile(
    join(folder, 'acme/targets.yaml'),
    'version: 1\ntargets: [{ metric: a, better: lower, target: x }]\n',
  );
  const again = await loadDefinitions(folder, { previous: jobs.lastKnownGood });
  expect(again.diagnostics).toHaveLength(1);
  expect([...again.usingLastKnownGood]).toContain('acme');
  expect(requireReport(again, 'acme/weekly').settings.targets).toHaveLength(3);
});

test('a targets.yaml with sections stays the report of that name, with a warning', async () => {
  const { jobs, folder } = await load(REPORT);
  expect(jobs.diagnostics).toEqual([]);
  expect([...jobs.reports.keys()].sort()).toEqual(['acme/targets', 'acme/weekly']);
  expect(jobs.orgs.get('acme')?.targets).toBeUndefined();
  expect(jobs.warnings).toMatchObject([{ file: join(folder, 'acme/targets.yaml'), line: 8 }]);
});

describe('a report', () => {
  const own = (lines: string) => REPORT.replace('outputs:', `${lines}\noutputs:`);

  test('can have its own targets and headlines', async () => {
    const { jobs } = await load(
      TARGETS,
      own('targets: [{ metric: profiles.created, better: lower, target: 5 }]\nheadline: [profiles.created]'),
    );
    expect(jobs.diagnostics).toEqual([]);
    const { definition, settings } = requireReport(jobs, 'acme/weekly');
    const targets = reportTargets(settings.targets, definition.targets);
    expect(targets.filter(({ metric }) => metric === 'profiles.created')).toMatchObject([
      { target: 5, source: 'report' },
    ]);
    expect(targets.filter(({ source }) => source === 'organization')).toHaveLength(2);
    expect(definition.headline).toEqual(['profiles.created']);
  });

  test.each([
    ['headline: [profiles.creatd]', /metric of the report/],
    ['headline: [profiles.created, profiles.created]', /once/],
  ])('%s is an error', async (lines, expected) => {
    const { jobs } = await load(TARGETS, own(lines));
    expect(jobs.diagnostics[0]?.expected).toMatch(expected);
  });

  test('with a condition on a status needs a target', async () => {
    const requested = REPORT.replace('attach: [xlsx] }', 'attach: [xlsx] }\n    send_if: breached');
    expect((await load(TARGETS, requested)).jobs.diagnostics).toEqual([]);
    const without = await load(TARGETS.replaceAll('profiles.created', 'alerts.open'), requested);
    expect(without.jobs.diagnostics).toMatchObject([{ got: 'none' }]);
    expect(without.jobs.diagnostics[0]?.expected).toMatch(/a target for a metric/);
  });
});

test('the target with the latest date up to the day applies', () => {
  const entry = (from?: string): Pick<Target, 'from'> => (from === undefined ? {} : { from });
  const all = [entry('2026-07-01'), entry(), entry('2026-01-01')];
  expect(heldTarget(all, '2026-07-01')).toBe(all[0]);
  expect(heldTarget(all, '2026-06-30')).toBe(all[2]);
  expect(heldTarget(all, '2025-12-31')).toBe(all[1]);
  expect(heldTarget(all.slice(0, 1), '2026-06-30')).toBeUndefined();
});
