import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { DocketError } from '../../src/base/error.ts';
import { type Fault, formatFault } from '../../src/define/fault.ts';
import { loadJobs, requireReport } from '../../src/define/load.ts';
import { jobsFolder, ORG, REPORT } from '../support/jobs-folder.ts';

async function load(report: string, org = ORG) {
  const folder = await jobsFolder({ 'acme/org.yaml': org, 'acme/weekly.yaml': report });
  return { folder, jobs: await loadJobs(folder) };
}

/** Where `needle` first stands in the text, as a fault says it. */
function position(text: string, needle: string) {
  const offset = text.indexOf(needle);
  if (offset < 0) throw new Error(`not in the text: ${needle}`);
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 };
}

describe('a folder without faults', () => {
  test('gives settings and definitions with defaults filled in, frozen', async () => {
    const { jobs } = await load(REPORT);
    expect(jobs.faults).toEqual([]);
    const { definition, settings } = requireReport(jobs, 'acme/weekly');
    expect(settings).toMatchObject({ id: 'acme', org: 7, api_key: { env: 'ACME_KEY' } });
    expect(definition).toMatchObject({ org: 'acme', report: 'weekly', on_incomplete: 'flag' });
    expect(definition.sections[1]).toMatchObject({ list: 'profiles', totals: false });
    expect(Object.isFrozen(definition.sections[0]?.metrics)).toBe(true);
  });

  test('digests the report together with its organization', async () => {
    const digest = async (report: string, org: string) =>
      (await load(report, org)).jobs.reports.get('acme/weekly')?.digest;
    const first = await digest(REPORT, ORG);
    expect(first).toMatch(/^[0-9a-f]{64}$/);
    expect(await digest(REPORT, ORG)).toBe(first);
    expect(await digest(`${REPORT}# changed\n`, ORG)).not.toBe(first);
    expect(await digest(REPORT, `${ORG}# changed\n`)).not.toBe(first);
  });

  test('reads aliases as what they stand for', async () => {
    const text = REPORT.replace(
      'values: [high, severe] }',
      'values: &risky [high, severe] }\n      - { dimension: profile.type, values: *risky }',
    );
    const { jobs } = await load(text);
    expect(jobs.faults).toEqual([]);
    expect(jobs.reports.get('acme/weekly')?.sections[0]?.filters?.[1]?.values).toEqual(['high', 'severe']);
  });

  test('leaves alone what is hidden or not YAML', async () => {
    const folder = await jobsFolder({
      'acme/org.yaml': ORG,
      'acme/weekly.yml': REPORT,
      'acme/README.md': 'notes',
      'acme/.weekly.yaml.swp': 'half',
      'report.schema.json': '{}',
      'notes/README.md': 'no organization',
    });
    const jobs = await loadJobs(folder);
    expect(jobs.faults).toEqual([]);
    expect([...jobs.reports.keys()]).toEqual(['acme/weekly']);
  });
});

interface Case {
  readonly what: string;
  /** Replaces `from` in the report by `to`. */
  readonly from: string;
  readonly to: string;
  /** What stands where the fault is. */
  readonly at: string;
  readonly expected: RegExp;
  readonly got: RegExp;
  readonly next?: RegExp;
}

const REPORT_CASES: readonly Case[] = [
  {
    what: 'an unknown field, with the one meant',
    from: 'granularity: day',
    to: 'granularty: day',
    at: 'granularty',
    expected: /one of id, title/,
    got: /"granularty"/,
    next: /did you mean "granularity"\?/,
  },
  {
    what: 'an unknown field at the top',
    from: 'compare:',
    to: 'comapre:',
    at: 'comapre',
    expected: /one of version/,
    got: /"comapre"/,
    next: /"compare"/,
  },
  {
    what: 'an unknown field of a filter',
    from: 'op: in,',
    to: 'opp: in,',
    at: 'opp:',
    expected: /one of dimension, op, values/,
    got: /"opp"/,
    next: /"op"/,
  },
  {
    what: 'a value that is none of a list, with the one meant',
    from: 'granularity: day',
    to: 'granularity: weeek',
    at: 'weeek',
    expected: /one of day, week, month/,
    got: /"weeek"/,
    next: /"week"/,
  },
  {
    what: 'a missing field at its parent',
    from: 'title: Weekly\n',
    to: '',
    at: 'version',
    expected: /the field "title": a text/,
    got: /nothing/,
    next: /add it/,
  },
  {
    what: 'a field without a value at its name',
    from: 'title: Weekly',
    to: 'title:',
    at: 'title:',
    expected: /a text/,
    got: /nothing/,
  },
  {
    what: 'a number where a text is meant',
    from: 'title: Weekly',
    to: 'title: 2026',
    at: '2026',
    expected: /a text/,
    got: /2026 \(a number/,
    next: /quotes/,
  },
  {
    what: 'a cron with seconds',
    from: '"0 8 * * MON"',
    to: '"0 0 8 * * MON"',
    at: '"0 0 8',
    expected: /five fields.*seconds/,
    got: /"0 0 8 \* \* MON"/,
  },
  {
    what: 'a cron out of range',
    from: '"0 8 * * MON"',
    to: '"0 25 * * MON"',
    at: '"0 25',
    expected: /in its range/,
    got: /"0 25/,
  },
  {
    what: 'a cron that never comes',
    from: '"0 8 * * MON"',
    to: '"0 8 31 2 *"',
    at: '"0 8 31',
    expected: /a day that exists/,
    got: /"0 8 31 2 \*"/,
  },
  {
    what: 'an unknown zone, with the one meant',
    from: 'timezone: Europe/Zurich',
    to: 'timezone: Europe/Zürich',
    at: 'Europe/Zürich',
    expected: /an IANA time zone/,
    got: /"Europe\/Zürich"/,
    next: /"Europe\/Zurich"/,
  },
  {
    what: 'an offset for a zone',
    from: 'timezone: Europe/Zurich',
    to: 'timezone: "+01:00"',
    at: '"+01:00"',
    expected: /an IANA time zone/,
    got: /"\+01:00"/,
  },
  {
    what: 'a zone in other letters',
    from: 'timezone: Europe/Zurich',
    to: 'timezone: europe/zurich',
    at: 'europe/zurich',
    expected: /an IANA time zone/,
    got: /"europe\/zurich"/,
    next: /"Europe\/Zurich"/,
  },
  {
    what: 'a section id twice',
    from: '- id: roster',
    to: '- id: onboarding # again',
    at: 'onboarding # again',
    expected: /an id of its own.*sections\[0\]/,
    got: /"onboarding"/,
  },
  {
    what: 'an illegal section id',
    from: '- id: roster',
    to: '- id: Roster 1',
    at: 'Roster 1',
    expected: /lower-case letters/,
    got: /"Roster 1"/,
  },
  {
    what: 'a field twice',
    from: 'period: previous_week',
    to: 'period: previous_week\nperiod: previous_day',
    at: 'period: previous_day',
    expected: /each field once/,
    got: /"period" again/,
  },
  {
    what: 'a reversed period',
    from: 'period: previous_week',
    to: 'period: { from: 2026-11-15, to: 2026-11-01 }',
    at: '2026-11-01',
    expected: /a day not before "from"/,
    got: /"2026-11-01"/,
  },
  {
    what: 'a day that does not exist',
    from: 'period: previous_week',
    to: 'period: { from: 2026-02-30, to: 2026-03-01 }',
    at: '2026-02-30',
    expected: /a date/,
    got: /"2026-02-30"/,
  },
  {
    what: 'a period too long',
    from: 'period: previous_week',
    to: 'period: { from: 2024-01-01, to: 2026-01-01 }',
    at: '2026-01-01',
    expected: /366 days.*not supported yet/,
    got: /"2026-01-01"/,
  },
  {
    what: 'an unknown period, with the one meant',
    from: 'period: previous_week',
    to: 'period: previous_weak',
    at: 'previous_weak',
    expected: /a period: previous_day/,
    got: /"previous_weak"/,
    next: /"previous_week"/,
  },
  {
    what: 'too many days',
    from: 'period: previous_week',
    to: 'period: last_400_days',
    at: 'last_400_days',
    expected: /last_366_days/,
    got: /"last_400_days"/,
  },
  {
    what: 'half a period',
    from: 'period: previous_week',
    to: 'period: { from: 2026-11-15 }',
    at: '{ from: 2026',
    expected: /the field "to"/,
    got: /nothing/,
  },
  {
    what: 'more than 20 metrics',
    from: '[profiles.created, profiles.decided]',
    to: `[${Array.from({ length: 21 }, (_, i) => `m.${i}`).join(', ')}, bucket]`,
    at: '[m.0',
    expected: /at most 20 metrics.*not supported yet/,
    got: /a list of 22/,
    next: /until it is supported/,
  },
  {
    what: 'more than 50 values',
    from: '[high, severe]',
    to: `[${Array.from({ length: 51 }, (_, i) => `v${i}`).join(', ')}]`,
    at: '[v0',
    expected: /at most 50 values.*not supported yet/,
    got: /a list of 51/,
  },
  {
    what: 'a filter without values',
    from: 'values: [high, severe]',
    to: 'values: []',
    at: '[] }',
    expected: /at least 1 entry/,
    got: /an empty list/,
  },
  {
    what: 'eq with two values',
    from: 'op: in',
    to: 'op: eq',
    at: '[high, severe]',
    expected: /exactly one value for "eq"/,
    got: /a list of 2/,
    next: /op: in/,
  },
  {
    what: 'three dimensions',
    from: '[profile.type]',
    to: '[profile.type, profile.risk, profile.group]',
    at: '[profile.type',
    expected: /at most 2 dimensions/,
    got: /a list of 3/,
  },
  {
    what: 'a metric twice',
    from: '[profiles.created, profiles.decided]',
    to: '[profiles.created, profiles.created ]',
    at: 'profiles.created ]',
    expected: /each of the metrics once/,
    got: /"profiles.created"/,
  },
  {
    what: 'an order by what is no column',
    from: 'by: bucket',
    to: 'by: buckets',
    at: 'buckets',
    expected: /a column of the section \(profiles.created/,
    got: /"buckets"/,
    next: /"bucket"/,
  },
  {
    what: 'a line without a granularity',
    from: '    list: profiles\n    ordering: -id\n',
    to: '    metrics: [profiles.created]\n    chart: line # alone\n',
    at: 'line # alone',
    expected: /a "granularity" for a line/,
    got: /"line"/,
  },
  {
    what: 'fields of a list in a metrics section',
    from: 'totals: true',
    to: 'search: x',
    at: 'x\n    chart',
    expected: /no "search" here/,
    got: /"x"/,
  },
  {
    what: 'fields of metrics in a list',
    from: 'ordering: -id',
    to: 'granularity: day # list',
    at: 'day # list',
    expected: /no "granularity" here/,
    got: /"day"/,
  },
  {
    what: 'a section of nothing',
    from: '    list: profiles\n    ordering: -id\n',
    to: '    title: Empty\n',
    at: 'id: roster',
    expected: /either "metrics" or "list"/,
    got: /a mapping/,
  },
  {
    what: 'a format twice',
    from: '{ format: csv }',
    to: '{ format: xlsx }',
    at: 'xlsx }',
    expected: /each format once/,
    got: /"xlsx"/,
  },
  {
    what: 'an unknown format',
    from: '{ format: csv }',
    to: '{ format: pdf }',
    at: 'pdf',
    expected: /one of xlsx, csv/,
    got: /"pdf"/,
  },
  {
    what: 'a target not built yet',
    from: 'directory: { path: out }',
    to: 's3: { bucket: b, key: k }',
    at: '{ bucket',
    expected: /"s3" is not supported yet/,
    got: /a mapping/,
    next: /until it is supported/,
  },
  {
    what: 'two targets in one entry',
    from: '- directory:',
    to: '  directory:',
    at: 'email:',
    expected: /exactly one target/,
    got: /email and directory/,
  },
  {
    what: 'a recipient outside the allow-list',
    from: 'lead@acme.example',
    to: 'lead@evil.example',
    at: 'lead@evil',
    expected: /one of the organization's recipients/,
    got: /"lead@evil.example"/,
    next: /remove it/,
  },
  {
    what: 'a recipient that is no plain address',
    from: '[lead@acme.example]',
    to: '["Lead <lead@acme.example>"]',
    at: '"Lead',
    expected: /a plain e-mail address/,
    got: /Lead/,
  },
  {
    what: 'an owner that is no address',
    from: 'owner: ops@acme.example',
    to: 'owner: ops',
    at: 'ops\n',
    expected: /an e-mail address/,
    got: /"ops"/,
  },
  {
    what: 'a line break in a subject',
    from: 'attach: [xlsx] }',
    to: 'attach: [xlsx], subject: "a\\nBcc: x@y.example" }',
    at: '"a\\nBcc',
    expected: /on one line/,
    got: /"a\\nBcc/,
  },
  {
    what: 'another version',
    from: 'version: 1',
    to: 'version: 2',
    at: '2\ntitle',
    expected: /^1$/,
    got: /2 \(a number/,
  },
  {
    what: 'no sections',
    from: REPORT.slice(REPORT.indexOf('sections:'), REPORT.indexOf('outputs:')),
    to: 'sections: []\n',
    at: '[]',
    expected: /at least 1 entry/,
    got: /an empty list/,
  },
];

describe('a fault in a report is shown where it stands', () => {
  test.each(REPORT_CASES)('$what', async ({ from, to, at, expected, got, next }) => {
    const text = REPORT.replace(from, to);
    expect(text).not.toBe(REPORT);
    const { folder, jobs } = await load(text);
    expect(jobs.faults.map(formatFault)).toHaveLength(1);
    const [fault] = jobs.faults as [Fault];
    expect(fault.file).toBe(join(folder, 'acme/weekly.yaml'));
    expect({ line: fault.line, column: fault.column }).toEqual(position(text, at));
    expect(fault.expected).toMatch(expected);
    expect(fault.got).toMatch(got);
    if (next !== undefined) expect(fault.next).toMatch(next);
    expect(jobs.reports.size).toBe(0);
  });

  test('an attachment that no output makes', async () => {
    const text = REPORT.replace('attach: [xlsx]', 'attach: [csv]').replace('  - { format: csv }\n', '');
    const { jobs } = await load(text);
    expect(jobs.faults).toMatchObject([
      { ...position(text, 'csv] }'), expected: 'a format that "outputs" makes (xlsx)' },
    ]);
  });

  test('all of a file at once, in the order of the file, also those between fields', async () => {
    const text = REPORT.replace('title: Weekly', 'tilte: Weekly')
      .replace('previous_week', 'previous_weak')
      .replace('- id: roster', '- id: onboarding')
      .replace('attach: [xlsx]', 'attach: [csv]')
      .replace('{ format: csv }', '{ format: pdf }');
    const { jobs } = await load(text);
    expect(jobs.faults.map(({ line }) => line)).toEqual([1, 2, 5, 17, 22]);
  });
});

const ORG_CASES: readonly Case[] = [
  {
    what: 'a calendar, which is not built yet',
    from: 'timezone: Europe/Zurich',
    to: 'timezone: Europe/Zurich\ncalendar: { holidays: CH }',
    at: '{ holidays',
    expected: /a business calendar is not supported yet/,
    got: /a mapping/,
  },
  {
    what: 'a bad zone',
    from: 'Europe/Zurich',
    to: 'Mars/Olympus',
    at: 'Mars',
    expected: /an IANA time zone/,
    got: /"Mars\/Olympus"/,
  },
  {
    what: 'a wildcard domain',
    from: '[acme.example]',
    to: '["*.acme.example"]',
    at: '"*.acme',
    expected: /a domain such as/,
    got: /"\*\.acme/,
  },
  {
    what: 'an organization by name',
    from: 'org: 7',
    to: 'org: acme',
    at: 'acme\napi_key',
    expected: /number at the API, or current/,
    got: /"acme"/,
  },
  {
    what: 'a budget of nothing',
    from: 'org: 7',
    to: 'org: 7\nbudget: { calls: 0 }',
    at: '0 }',
    expected: /1 or more/,
    got: /0 \(a number/,
  },
  {
    what: 'a misspelt reference',
    from: 'env: ACME_KEY',
    to: 'evn: ACME_KEY',
    at: '{ evn',
    expected: /a reference to a secret/,
    got: /not shown/,
  },
];

test.each(ORG_CASES)('a fault in org.yaml is shown where it stands: $what', async ({ from, to, at, expected, got }) => {
  const text = ORG.replace(from, to);
  const { folder, jobs } = await load(REPORT, text);
  expect(jobs.faults).toHaveLength(1);
  expect(jobs.faults[0]).toMatchObject({ file: join(folder, 'acme/org.yaml'), ...position(text, at) });
  expect(jobs.faults[0]?.expected).toMatch(expected);
  expect(jobs.faults[0]?.got).toMatch(got);
  expect([jobs.orgs.size, jobs.reports.size]).toEqual([0, 0]);
});

describe('asking for a report', () => {
  test('that is not there names the nearest', async () => {
    const { jobs } = await load(REPORT);
    expect(() => requireReport(jobs, 'acme/weakly')).toThrow(
      expect.objectContaining({ code: 'definition.not_found', next: 'Did you mean acme/weekly?' }),
    );
    expect(() => requireReport(jobs, 'nothing/like/it')).toThrow(
      expect.objectContaining({ code: 'definition.not_found' }),
    );
  });

  test('that has faults, or whose organization has, tells them', async () => {
    for (const [report, org] of [
      [REPORT.replace('previous_week', 'previous_weak'), ORG],
      [REPORT, ORG.replace('Europe/Zurich', 'Mars/Olympus')],
    ] as const) {
      const { jobs } = await load(report, org);
      const thrown = await Promise.resolve()
        .then(() => requireReport(jobs, 'acme/weekly'))
        .catch((error: unknown) => error);
      expect(thrown).toBeInstanceOf(DocketError);
      expect(thrown).toMatchObject({
        code: 'definition.invalid',
        message: expect.stringMatching(/previous_weak|Mars/),
      });
    }
  });
});

test('a formatted fault is one line, whatever is in it', () => {
  const fault: Fault = { file: 'a\nb.yaml', line: 2, column: 3, expected: 'x', got: '"\u2028"', next: 'y' };
  expect(formatFault(fault)).toBe('a\\u000ab.yaml:2:3: expected x, got "\\u2028"; do: y');
});
