import { describe, expect, test } from 'vitest';
import { loadDefinitions, reportFileSchema, requireReport } from '../../../src/compose/built-in-kinds.ts';
import { jobsFolder, ORG } from '../../support/jobs-folder.ts';

const HEAD = `version: 1
title: Monthly
owner: ops@acme.example
period: previous_month
outputs: [{ format: csv }]
sections:
  - id: rest
    metrics: [profiles.created]
  - id: it
`;
/** The line of the first field of the tested section. */
const FIRST = HEAD.split('\n').length;

/** Loads a report whose second section has these fields, one per line. */
const load = async (...fields: string[]) =>
  loadDefinitions(
    await jobsFolder({
      'acme/org.yaml': ORG,
      'acme/monthly.yaml': `${HEAD}${fields.map((field) => `    ${field}\n`).join('')}`,
    }),
  );
async function sectionOf(...fields: string[]) {
  const jobs = await load(...fields);
  expect(jobs.diagnostics).toEqual([]);
  return requireReport(jobs, 'acme/monthly').definition.sections[1];
}
/** The text at the position of each diagnostic. */
async function faultsOf(...fields: string[]) {
  const { diagnostics } = await load(...fields);
  return diagnostics.map(({ line = 0, column = 0, expected, next }) => {
    const field = fields[line - FIRST] ?? '';
    return { at: field.slice(column - 5).split(/[:,\]} ]/)[0], expected, next };
  });
}

describe('the metrics of groups', () => {
  test('are appended to the metrics of the section', async () => {
    const section = await sectionOf(
      'layout: scorecard',
      'metrics: [profiles.decided, rfis.sent]',
      'groups:',
      '  - { title: New, metrics: [profiles.created] }',
      '  - { title: Rest, metrics: [rfis.sent, alerts.created] }',
      'trend: 13',
    );
    expect(section).toMatchObject({
      metrics: ['profiles.decided', 'rfis.sent', 'profiles.created', 'alerts.created'],
      groups: [
        { title: 'New', metrics: ['profiles.created'] },
        { title: 'Rest', metrics: ['rfis.sent', 'alerts.created'] },
      ],
      trend: 13,
    });
  });

  test('can replace the metrics of the section, and may be used in headlines and labels', async () => {
    const section = await sectionOf('layout: scorecard', 'groups: [{ title: New, metrics: [alerts.created] }]');
    expect(section?.metrics).toEqual(['alerts.created']);
    const jobs = await load('layout: scorecard', 'groups: [{ title: New, metrics: [alerts.created] }]', 'print: false');
    const text = jobs.sources.get('acme/monthly')?.text ?? '';
    const named = `headline: [alerts.created]\nlabels: { alerts.created: New alerts }\n${text}`;
    const again = await loadDefinitions(await jobsFolder({ 'acme/org.yaml': ORG, 'acme/monthly.yaml': named }));
    expect(again.diagnostics).toEqual([]);
  });

  test('do not change when a stored definition is read', async () => {
    const jobs = await load('layout: scorecard', 'groups: [{ title: New, metrics: [alerts.created] }]', 'trend: 2');
    const { definition } = requireReport(jobs, 'acme/monthly');
    const { org: _org, report: _report, digest: _digest, ...stored } = definition;
    expect(reportFileSchema.parse(JSON.parse(JSON.stringify(stored)))).toEqual(stored);
  });
});

describe('a trend without metrics', () => {
  const trend = ['layout: trend', 'granularity: month', 'period: last_13_months'];

  test('has the metrics of the scorecard, also when a stored definition is read', async () => {
    const scorecard = '  - id: score\n    layout: scorecard\n    groups: [{ title: New, metrics: [alerts.created] }]\n';
    const text = `${HEAD}${trend.map((field) => `    ${field}\n`).join('')}${scorecard}`;
    const loaded = await loadDefinitions(await jobsFolder({ 'acme/org.yaml': ORG, 'acme/monthly.yaml': text }));
    expect(loaded.diagnostics).toEqual([]);
    const { definition } = requireReport(loaded, 'acme/monthly');
    expect(definition.sections[1]?.metrics).toEqual(['alerts.created']);
    const { org: _org, report: _report, digest: _digest, ...stored } = definition;
    expect(reportFileSchema.parse(JSON.parse(JSON.stringify(stored)))).toEqual(stored);
  });

  test('is refused in a report without a scorecard', async () => {
    expect(await faultsOf(...trend)).toMatchObject([{ at: 'trend', expected: expect.stringContaining('scorecard') }]);
  });
});

describe('the loader accepts', () => {
  test.each<[string, string[]]>([
    ['a text', ['layout: text', 'title: Remarks', 'description: The month in words.', 'print: false']],
    ['a trend', ['layout: trend', 'metrics: [profiles.created]', 'granularity: month', 'period: last_13_months']],
    [
      'exceptions of groups',
      ['layout: exceptions', 'metrics: [profiles.created]', 'dimensions: [profile.group]', 'top: 5'],
    ],
    [
      'the worst groups',
      ['layout: exceptions', 'metrics: [profiles.created]', 'dimensions: [profile.group]', 'worst: 8'],
    ],
    ['exceptions of a list', ['layout: exceptions', 'list: profiles', 'top: 5']],
    [
      'a table with a chart',
      ['layout: table', 'metrics: [profiles.created]', 'granularity: day', 'chart: { kind: line, place: beside }'],
    ],
    ['a list that is not printed', ['list: profiles', 'print: false']],
  ])('%s', async (_, fields) => {
    await sectionOf(...fields);
  });
});

describe('a field that does not fit the layout is refused at its place:', () => {
  const metrics = 'metrics: [profiles.created]';
  const groups = 'groups: [{ title: New, metrics: [alerts.created] }]';
  test.each<[string, string[], string, RegExp]>([
    ['trend of a table', [metrics, 'trend: 13'], '13', /layout: scorecard/],
    ['groups of a table', [groups], '', /layout: scorecard/],
    ['top of a scorecard', ['layout: scorecard', metrics, 'top: 3'], '3', /layout: exceptions/],
    ['worst of a scorecard', ['layout: scorecard', metrics, 'worst: 3'], '3', /layout: exceptions/],
    ['two kinds of exceptions', ['layout: exceptions', 'list: profiles', 'top: 3', 'worst: 8'], '8', /not both/],
    ['a scorecard by day', ['layout: scorecard', metrics, 'granularity: day'], 'day', /one row for each metric/],
    ['a scorecard by group', ['layout: scorecard', metrics, 'dimensions: [profile.group]'], '', /one row for each/],
    ['a scorecard of a list', ['layout: scorecard', 'list: profiles'], 'profiles', /one row for each metric/],
    ['a trend without granularity', ['layout: trend', metrics], 'trend', /"granularity"/],
    [
      'a trend by group',
      ['layout: trend', metrics, 'granularity: day', 'dimensions: [profile.group]'],
      '',
      /over time/,
    ],
    [
      'a trend in another order',
      ['layout: trend', metrics, 'granularity: day', 'order: [{ by: bucket, dir: desc }]'],
      '',
      /over time/,
    ],
    ['a trend with a chart', ['layout: trend', metrics, 'granularity: day', 'chart: line'], 'line', /over time/],
    ['exceptions without rows', ['layout: exceptions', metrics], 'exceptions', /exceptions are rows/],
    ['a text with figures', ['layout: text', metrics], '', /no figures of its own/],
    ['a text with totals', ['layout: text', 'totals: true'], 'true', /no figures of its own/],
    ['a text of a list', ['layout: text', 'list: profiles'], 'profiles', /no figures of its own/],
    [
      'a metric in two groups',
      ['layout: scorecard', 'groups: [{ title: A, metrics: [x.a, x.b] }, { title: B, metrics: [x.b] }]'],
      'x.b',
      /in one group/,
    ],
    ['an unknown layout', ['layout: score', metrics], 'score', /table, scorecard, trend, exceptions, text/],
    ['a trend of one point', ['layout: scorecard', metrics, 'trend: 1'], '1', /2 or more/],
    ['a trend that is too long', ['layout: scorecard', metrics, 'trend: 37'], '37', /at most 36/],
    ['too many exceptions', ['layout: exceptions', 'list: profiles', 'top: 101'], '101', /at most 100/],
    [
      'an unknown place of a chart',
      [metrics, 'granularity: day', 'chart: { kind: line, place: below }'],
      'below',
      /above, beside, own_sheet/,
    ],
    ['neither metrics nor a list', ['title: Nothing'], '', /either "metrics" or "list"/],
  ])('%s', async (_, fields, at, expected) => {
    const faults = await faultsOf(...fields);
    expect(faults).toHaveLength(1);
    expect(faults[0]?.expected).toMatch(expected);
    expect(faults[0]?.next).toBeTruthy();
    if (at !== '') expect(faults[0]?.at).toBe(at);
  });

  test('too many metrics in groups', async () => {
    const ids = Array.from({ length: 101 }, (_, index) => `x.m${index}`).join(', ');
    const faults = await faultsOf('layout: scorecard', `groups: [{ title: A, metrics: [${ids}] }]`);
    expect(faults).toMatchObject([{ expected: 'at most 100 metrics a section' }]);
  });

  test('a report with only text', async () => {
    const folder = await jobsFolder({
      'acme/org.yaml': ORG,
      'acme/monthly.yaml': HEAD.replace('    metrics: [profiles.created]\n  - id: it\n', '    layout: text\n'),
    });
    const { diagnostics } = await loadDefinitions(folder);
    expect(diagnostics).toMatchObject([{ line: 7, expected: expect.stringContaining('no figures of its own') }]);
  });

  test('a second section without its own CSV name, but not a second text', async () => {
    const named = HEAD.replace('format: csv', 'format: csv, name: month.csv').replace('  - id: it\n', '');
    const diagnosticsOf = async (section: string) =>
      (await loadDefinitions(await jobsFolder({ 'acme/org.yaml': ORG, 'acme/monthly.yaml': `${named}${section}` })))
        .diagnostics;
    expect(await diagnosticsOf('  - { id: it, layout: text }\n')).toEqual([]);
    expect(await diagnosticsOf('  - { id: it, list: profiles }\n')).toHaveLength(1);
  });
});
