import { describe, expect, test } from 'vitest';
import { BUILT_IN_READING, loadDefinitions, requireReport } from '../../../src/compose/built-in-kinds.ts';
import { validateText } from '../../../src/services/definitions/definition-tasks.ts';
import { jobsFolder, ORG, REPORT } from '../../support/jobs-folder.ts';
import { CATALOG, settingsOf } from '../../support/reports.ts';

const WITH_DURATIONS = REPORT.replace(
  '[profiles.created, profiles.decided]',
  '[profiles.created, profiles.time_to_decision_p50, profiles.time_to_decision_p90]',
);
/** Inserts the lines after `compare:`, the sixth line. */
const load = async (lines: string, report = WITH_DURATIONS) =>
  loadDefinitions(
    await jobsFolder({
      'acme/org.yaml': ORG,
      'acme/weekly.yaml': report.replace('compare: previous_period\n', `compare: previous_period\n${lines}\n`),
    }),
  );

describe('units and labels of a report', () => {
  test('are part of its definition and its digest', async () => {
    const jobs = await load(
      'units: { profiles.time_to_decision_p50: hours }\nlabels: { profiles.created: New, profile.risk: Rating, review_status: Stage, profile.creation_source: Origin, AP: Cleared }',
    );
    expect(jobs.diagnostics).toEqual([]);
    const { definition } = requireReport(jobs, 'acme/weekly');
    expect(definition.units).toEqual({ 'profiles.time_to_decision_p50': 'hours' });
    expect(definition.labels).toMatchObject({ 'profiles.created': 'New', AP: 'Cleared' });
    const other = requireReport(await load('labels: { profiles.created: Newer }'), 'acme/weekly').definition;
    expect(other.digest).not.toBe(definition.digest);
  });

  test('are optional', async () => {
    const { definition } = requireReport(await load(''), 'acme/weekly');
    expect([definition.units, definition.labels]).toEqual([undefined, undefined]);
  });

  test.each([
    ['units: { profiles.time_to_decision_p50: fortnights }', /"minutes", "hours", "days"|minutes, hours, days/],
    ['units: { profiles.time_to_decison_p50: hours }', /a metric of the report/],
    ['units: { profiles.decided: hours }', /a metric of the report/],
    [
      'units: { profiles.time_to_decision_p50: hours, profiles.time_to_decision_p90: days }',
      /hours, as for profiles.time_to_decision_p50/,
    ],
    ['labels: { "": New }', /as a key a text that is not empty/],
    ['labels: { profiles.creatd: New }', /a metric or a dimension of the report/],
    ['labels: { profiles.created: "" }', /./],
    ['labels: { hit.kind: Hit }', /a metric or a dimension of the report/],
  ])('%s is an error at its place', async (lines, expected) => {
    const { diagnostics } = await load(lines);
    expect(diagnostics).toMatchObject([{ file: expect.stringContaining('weekly.yaml'), line: 7 }]);
    expect(diagnostics[0]?.column).toBeGreaterThan(8);
    expect(diagnostics[0]?.expected).toMatch(expected);
  });

  test('have an error with a similar name for an unknown metric', async () => {
    const { diagnostics } = await load('labels: { profiles.creatd: New }');
    expect(diagnostics[0]?.next).toBe('did you mean "profiles.created"?');
  });
});

test('a unit that does not fit the catalog and an unknown code are reported at their place', () => {
  const text = `version: 1
title: Weekly
owner: ops@acme.example
period: previous_week
units: { profiles.created: hours }
labels:
  indivdual: Person
sections: [{ id: a, metrics: [profiles.created] }]
outputs: [{ format: csv }]
`;
  const diagnostics = validateText(BUILT_IN_READING, {
    text,
    file: 'acme/weekly.yaml',
    name: { org: 'acme', report: 'weekly' },
    of: { text: '', settings: settingsOf() },
    catalog: CATALOG,
    now: Date.parse('2026-11-20T10:00:00Z'),
  });
  expect(diagnostics).toMatchObject([
    {
      line: 5,
      column: 28,
      got: 'hours',
      expected: 'no unit for "profiles.created": it is no duration (its unit is count)',
    },
    { line: 7, column: 14, got: '"indivdual"', next: 'Did you mean "individual"?' },
  ]);
});
