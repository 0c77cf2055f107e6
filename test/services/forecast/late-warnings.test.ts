import { expect, test } from 'vitest';
import { Secret, secretSource } from '../../../src/base/secrets/secret.ts';
import { loadDefinitions } from '../../../src/compose/built-in-kinds.ts';
import { formatDiagnostic } from '../../../src/definitions/diagnostics/diagnostic.ts';
import { lateWarnings } from '../../../src/services/forecast/late-warnings.ts';
import { jobsFolder, ORG } from '../../support/jobs-folder.ts';
import { CATALOG } from '../../support/reports.ts';

const FRIDAY = Date.parse('2026-11-27T12:00:00Z');
const KEY = 'acme.s3cr3t-of-acme';
const RISKS = ['low', 'medium', 'high', 'severe'];
/** Ten calls that it shares with no other report. */
const reportText = (schedule: string) => `version: 1
title: Weekly
owner: ops@acme.example
schedule: { cron: "0 9 * * ${schedule} }
period: previous_week
max_age: 0s
sections:
${Array.from({ length: 10 }, (_, index) => {
  const values = RISKS.filter((_risk, at) => (index + 1) & (1 << at)).join(', ');
  return `  - { id: s${index}, metrics: [profiles.created], filters: [{ dimension: profile.risk, op: in, values: [${values}] }] }`;
}).join('\n')}
outputs: [{ format: csv }]
`;

/** The warnings about ten reports with this schedule, each as one line. */
async function warningsOf(schedule: string): Promise<readonly string[]> {
  const names = Array.from({ length: 10 }, (_, index) => `acme/r${index}.yaml`);
  const files = Object.fromEntries(names.map((name) => [name, reportText(schedule)]));
  const jobs = await loadDefinitions(await jobsFolder({ 'acme/org.yaml': ORG, ...files }));
  expect(jobs.diagnostics).toEqual([]);
  const secrets = secretSource({ ACME_KEY: KEY });
  const found = await lateWarnings(jobs, FRIDAY, { secrets, cachedCatalog: async () => CATALOG });
  return found.map((one) => formatDiagnostic(one).replace(/\s+/g, ' '));
}
const key = new Secret(KEY).fingerprint().slice(0, 8);

test('a late weekly slot gets one warning with the facts and the fewest reports to prepare, by name', async () => {
  const [warning = '', ...others] = await warningsOf('MON", late_after: 1m');
  expect(others).toEqual([]);
  expect(warning).toContain(
    `Mondays 09:00: 10 reports, 100 calls on key ${key}…; 10 late, the last at 09:03. \`prepare: 15m\` on`,
  );
  expect(warning).toMatch(/write "prepare: 15m" into the schedule of acme\/r0, acme\/r1/);
});

test('slots of several weekdays with the same reports get one warning', async () => {
  const [warning = '', ...others] = await warningsOf('MON,WED", late_after: 1m');
  expect(others).toEqual([]);
  expect(warning).toContain('Mondays, Wednesdays 09:00: 10 reports');
});

test('a daily slot is called "Every day"', async () => {
  const [warning = ''] = await warningsOf('*", late_after: 1m');
  expect(warning).toContain('Every day 09:00: 10 reports');
});

test.each(['MON"', 'MON", late_after: 10m', 'MON", late_after: 1m, prepare: 1h'])(
  'there is no warning for %s',
  async (schedule) => expect(await warningsOf(schedule)).toEqual([]),
);
