import { expect, test } from 'vitest';
import { BUILT_IN_KINDS, loadDefinitions, requireReport } from '../../src/compose/built-in-kinds.ts';
import type { Definitions } from '../../src/definitions/load/load-definitions.ts';
import { diffReports, type ReportVersion } from '../../src/definitions/report-diff.ts';
import { jobsFolder, ORG, REPORT } from '../support/jobs-folder.ts';

const NOW = Date.parse('2026-11-21T12:00Z');
const SLOTS = ['2026-11-23T07:00:00.000Z', '2026-11-30T07:00:00.000Z', '2026-12-07T07:00:00.000Z'];
const NOBODY = { added: [], removed: [] };

async function version(report = REPORT, org = ORG): Promise<ReportVersion> {
  const jobs: Definitions = await loadDefinitions(
    await jobsFolder({ 'acme/org.yaml': org, 'acme/weekly.yaml': report }),
  );
  return requireReport(jobs, 'acme/weekly');
}

test('reports that differ only in comments and folder have no differences', async () => {
  expect(diffReports(await version(), await version(`${REPORT}# a comment\n`), NOW, BUILT_IN_KINDS)).toEqual({
    fields: [],
    org_fields: [],
    slots: null,
    recipients: NOBODY,
    targets: NOBODY,
  });
});

test('a diff lists changed fields, slots, recipients and targets', async () => {
  const report = REPORT.replace('0 8 * * MON', '30 9 * * TUE')
    .replace('title: Weekly', 'title: Every week')
    .replace('lead@acme.example', 'audit@acme.example, auditor@partner.example')
    .replace('directory: { path: out }', 's3: { bucket: reports }');
  const org = ORG.replace('name: Acme', 'name: Acme Ltd').replace('org: 7', 'org: 7\nclassification: Secret');
  expect(
    diffReports(
      await version(),
      await version(report.replace('totals: true', 'totals: false'), org),
      NOW,
      BUILT_IN_KINDS,
    ),
  ).toEqual({
    fields: ['deliveries', 'schedule', 'sections', 'title'],
    org_fields: ['classification', 'name'],
    slots: {
      before: SLOTS,
      after: ['2026-11-24T08:30:00.000Z', '2026-12-01T08:30:00.000Z', '2026-12-08T08:30:00.000Z'],
    },
    recipients: { added: ['audit@acme.example', 'auditor@partner.example'], removed: ['lead@acme.example'] },
    targets: {
      added: ['s3 s3://reports/{{ org }}/{{ report }}/{{ period.from }}/{{ file.name }}'],
      removed: ['directory out'],
    },
  });
});

test('a diff shows all slots, recipients and targets of a new report as added, and those of a removed report as removed', async () => {
  const own = await version();
  expect(diffReports(undefined, own, NOW, BUILT_IN_KINDS)).toEqual({
    fields: [],
    org_fields: [],
    slots: { before: [], after: SLOTS },
    recipients: { added: ['lead@acme.example'], removed: [] },
    targets: { added: ['directory out'], removed: [] },
  });
  expect(diffReports(own, undefined, NOW, BUILT_IN_KINDS)).toMatchObject({
    slots: { before: SLOTS, after: [] },
    recipients: { added: [], removed: ['lead@acme.example'] },
    targets: { added: [], removed: ['directory out'] },
  });
});
