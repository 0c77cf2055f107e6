import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readingWindow } from '../../../../src/definitions/schedules/reading-window.ts';
import { type Sandbox, startSandbox } from '../../../../src/sandbox/sandbox.ts';
import { keyOf } from '../../../support/fetch-harness.ts';
import { jobsFolder } from '../../../support/jobs-folder.ts';
import { runCommand } from '../../../support/run-command.ts';
import { TARGETS } from '../../../support/targets-file.ts';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ windowMs: 1 });
});
afterAll(() => sandbox.close());

const ORG = `version: 1
org: current
api_key: { env: ACME_KEY }
timezone: Europe/Zurich
recipients: {}
readings:
  at: "22:30"
  metrics: [alerts.open]
  by: [profile.risk]
`;
const REPORT = `version: 1
title: Scorecard
owner: ops@acme.example
period: previous_month
compare: [previous_period]
sections:
  - id: card
    metrics: [profiles.created, profiles.approval_rate]
    totals: true
  - id: backlog
    metrics: [alerts.open]
targets:
  - metric: profiles.decided
    better: higher
    target: 50
outputs:
  - { format: xlsx }
`;
const FILES = { 'org.yaml': ORG, 'targets.yaml': TARGETS, 'card.yaml': REPORT };

/** The changed file, and the line and column of the mark `«`, as an editor counts them. */
function marked(text: string, from: string, to: string) {
  expect(text.split(from)).toHaveLength(2);
  const changed = text.replace(from, () => to);
  const at = changed.indexOf('«');
  expect(at).toBeGreaterThan(0);
  const lines = changed.slice(0, at).split('\n');
  return { text: changed.replace('«', ''), line: lines.length, column: (lines.at(-1) ?? '').length + 1 };
}

type Files = Readonly<Record<string, string>>;

/** Checks organizations, each in its own folder, with one command: every command starts a thread. */
const check = async (organizations: Readonly<Record<string, Files>>) => {
  const folder = await jobsFolder(
    Object.fromEntries(
      Object.entries(organizations).flatMap(([org, files]) =>
        Object.entries({ ...FILES, ...files }).map(([name, text]) => [`${org}/${name}`, text]),
      ),
    ),
  );
  const env = { DOCKET_JOBS: folder, COMPLIANCE_API_URL: sandbox.url, ACME_KEY: keyOf(sandbox, 'acme') };
  const json = await runCommand(['check', '--json'], { env });
  const { faults, warnings, not_checked } = JSON.parse(json.stdout);
  expect(not_checked).toEqual([]);
  expect(warnings).toEqual([]);
  const faultsOf = (org: string): Record<string, unknown>[] =>
    faults.filter(({ file }: { file: string }) => file.startsWith(join(folder, org, '/')));
  return { folder, env, code: json.code, faults, faultsOf };
};

test('check accepts targets and readings that the catalog allows', async () => {
  // A time that summer time skips is valid.
  const skipped = { 'org.yaml': ORG.replace('22:30', '02:30') };
  expect(await check({ acme: {}, skipped })).toMatchObject({ code: 0, faults: [] });
});

const FAULTS: readonly (readonly [string, keyof typeof FILES, string, string, RegExp])[] = [
  [
    'a target of no catalog',
    'targets.yaml',
    '- metric: profiles.created',
    '- metric: «profiles.creatde',
    /profiles\.created/,
  ],
  ['a target of no catalog in a report', 'card.yaml', '- metric: profiles.decided', '- metric: «banana', /catalog/],
  ['a target that is no number', 'targets.yaml', 'target: 90%', 'target: «banana', /number/],
  ['a target that is no number in a report', 'card.yaml', 'target: 50', 'target: «banana', /number/],
  [
    'two targets for one day',
    'targets.yaml',
    '- metric: profiles.created\n    per: week',
    '- metric: profiles.approval_rate\n    from: «2026-07-01',
    /targets\[0\] is one already/,
  ],
  [
    'two targets without a day',
    'card.yaml',
    'target: 50\n',
    'target: 50\n  - metric: «profiles.decided\n    better: higher\n    target: 60\n',
    /targets\[0\] is one already/,
  ],
  ['"watch" on the better side', 'targets.yaml', 'watch: 85%', 'watch: «95%', /less than the target/],
  ['"watch" at the target', 'targets.yaml', 'watch: 85%', 'watch: «90%', /less than the target/],
  ['"watch" on the better side where lower is', 'targets.yaml', 'watch: 36h', 'watch: «12h', /more than the target/],
  ['hours of a ratio', 'targets.yaml', 'target: 90%\n    watch: 85%', 'target: «24h', /ratio/],
  ['a ratio over one', 'targets.yaml', 'target: 90%\n    watch: 85%', 'target: «90', /ratio/],
  ['percent of a duration', 'targets.yaml', 'target: 24h\n    watch: 36h', 'target: «24%', /duration/],
  ['percent of a count', 'targets.yaml', 'target: 100', 'target: «100%', /without a unit/],
  ['days of a count in a report', 'card.yaml', 'target: 50', 'target: «2d', /without a unit/],
  ['a value that the dimension does not take', 'targets.yaml', 'profile.risk: high', 'profile.risk: «hihg', /takes/],
  [
    'a dimension that the metric does not take',
    'targets.yaml',
    'where: { profile.risk',
    'where: «{ hit.kind',
    /accepts/,
  ],
  ['a reading after 23:00', 'org.yaml', 'at: "22:30"', 'at: «"23:01"', /at most "23:00"/],
  ['a reading at no time', 'org.yaml', 'at: "22:30"', 'at: «"24:00"', /local time/],
  [
    'a reading of what has a history',
    'org.yaml',
    'metrics: [alerts.open]',
    'metrics: [alerts.open, «profiles.created]',
    /history|current count/,
  ],
  [
    'a reading of no catalog',
    'org.yaml',
    'metrics: [alerts.open]',
    'metrics: [alerts.open, «alerts.opne]',
    /current count/,
  ],
  ['a reading by a dimension that it does not take', 'org.yaml', 'by: [profile.risk]', 'by: [«hit.kind]', /accepts/],
  [
    'a history of counts that nobody reads',
    'card.yaml',
    'metrics: [alerts.open]',
    'metrics: [rfis.overdue]\n    compare: «previous_year',
    /current counts/,
  ],
  [
    'a year before the data',
    'card.yaml',
    'period: previous_month\ncompare: [previous_period]\n',
    'period: { from: 2024-01-01, to: 2024-01-31 }\ncompare: [previous_period, «previous_year]\n',
    /year before/,
  ],
  [
    'a fiscal year that nobody defined',
    'card.yaml',
    'compare: [previous_period]\n',
    'compare: [previous_period]\nto_date: «fiscal_year\n',
    /fiscal_year_start/,
  ],
  [
    'a condition in a unit that does not fit',
    'card.yaml',
    '  - { format: xlsx }\n',
    '  - { format: xlsx }\ndeliveries:\n  - directory: { path: out }\n    send_if: «profiles.approval_rate < 90\n',
    /ratio/,
  ],
  [
    'a headline of no section',
    'card.yaml',
    'compare: [previous_period]\n',
    'compare: [previous_period]\nheadline: [«profiles.banana]\n',
    /a metric of the report/,
  ],
];

describe('check names the place of', () => {
  const changes = new Map(
    FAULTS.map(([what, file, from, to], index) => [
      what,
      { org: `org-${index}`, file, ...marked(FILES[file], from, to) },
    ]),
  );
  let checked: ReturnType<typeof check> | undefined;
  const checkAll = () => {
    checked ??= check(Object.fromEntries([...changes.values()].map(({ org, file, text }) => [org, { [file]: text }])));
    return checked;
  };

  test.each(FAULTS)('%s', async (what, _, __, ___, expected) => {
    const change = changes.get(what);
    if (change === undefined) throw new Error(what);
    const { org, file, line, column } = change;
    const { folder, faultsOf } = await checkAll();
    const faults = faultsOf(org);
    expect(faults).toMatchObject([{ file: join(folder, org, file), line, column }]);
    const [{ message = '', expected: rule, got, next } = {}] = faults;
    expect(`${message} ${rule} ${got} ${next}`).toMatch(expected);
  });

  test('every error, and of no other', async () => {
    const { code, faults } = await checkAll();
    expect(code).toBe(1);
    expect(faults).toHaveLength(FAULTS.length);
  });
});

test('the text of check has the place, the source line and a mark', async () => {
  const { text, line, column } = marked(TARGETS, 'target: 90%', 'target: «banana');
  const { env } = await check({ acme: { 'targets.yaml': text } });
  const { code, stdout } = await runCommand(['check'], { env });
  expect(code).toBe(1);
  const [place = '', source = '', mark = ''] = stdout.split('\n');
  expect(place).toContain(`acme/targets.yaml:${line}:${column}: `);
  expect(source.slice(source.indexOf('|') + 2)).toBe('    target: banana');
  expect(mark.slice(mark.indexOf('|') + 2)).toBe(`${' '.repeat(column - 1)}^^^^^^`);
});

test('a reading at a time that summer time skips is taken right after the gap', () => {
  const window = readingWindow('2027-03-28', '02:30', 'Europe/Zurich');
  expect(new Date(window?.at ?? 0).toISOString()).toBe('2027-03-28T01:00:00.000Z');
});
