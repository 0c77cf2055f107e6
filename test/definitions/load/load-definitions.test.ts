import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { DocketError } from '../../../src/base/error.ts';
import { loadDefinitions, requireReport } from '../../../src/compose/built-in-kinds.ts';
import { type Diagnostic, formatDiagnostic } from '../../../src/definitions/diagnostics/diagnostic.ts';
import { jobsFolder, ORG, REPORT } from '../../support/jobs-folder.ts';
import { DELIVERY_CASES } from './delivery-diagnostic-cases.ts';
import { ORG_CASES, REPORT_CASES } from './diagnostic-cases.ts';

async function load(report: string, org = ORG) {
  const folder = await jobsFolder({ 'acme/org.yaml': org, 'acme/weekly.yaml': report });
  return { folder, jobs: await loadDefinitions(folder) };
}

/** The line and column of the first `needle` in the text. */
function position(text: string, needle: string) {
  const offset = text.indexOf(needle);
  if (offset < 0) throw new Error(`not in the text: ${needle}`);
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 };
}

describe('the loader', () => {
  test('returns frozen settings and definitions with defaults filled in', async () => {
    const { jobs } = await load(REPORT);
    expect(jobs.diagnostics).toEqual([]);
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

  test('gives copies of a file different digests for each report and organization', async () => {
    const [org, report] = [ORG, REPORT];
    const { reports } = await loadDefinitions(
      await jobsFolder({
        'acme/org.yaml': org,
        'acme/weekly.yaml': report,
        'acme/copy.yaml': report,
        'rival/org.yaml': org,
        'rival/weekly.yaml': report,
      }),
    );
    const digests = [...reports.values()].map(({ digest }) => digest);
    expect(digests).toHaveLength(3);
    expect(new Set(digests).size).toBe(3);
  });

  test('expands aliases', async () => {
    const text = REPORT.replace(
      'values: [high, severe] }',
      'values: &risky [high, severe] }\n      - { dimension: profile.type, values: *risky }',
    );
    const { jobs } = await load(text);
    expect(jobs.diagnostics).toEqual([]);
    expect(jobs.reports.get('acme/weekly')?.sections[0]?.filters?.[1]?.values).toEqual(['high', 'severe']);
  });

  test('accepts a single value of a filter without brackets', async () => {
    const { jobs } = await load(REPORT.replace('op: in, values: [high, severe]', 'op: eq, values: high'));
    expect(jobs.diagnostics).toEqual([]);
    expect(jobs.reports.get('acme/weekly')?.sections[0]?.filters?.[0]).toMatchObject({ op: 'eq', values: ['high'] });
  });

  test('ignores hidden files and files that are not YAML', async () => {
    const folder = await jobsFolder({
      'acme/org.yaml': ORG,
      'acme/weekly.yml': REPORT,
      'acme/README.md': 'notes',
      'acme/.weekly.yaml.swp': 'half',
      'report.schema.json': '{}',
      'notes/README.md': 'no organization',
    });
    const jobs = await loadDefinitions(folder);
    expect(jobs.diagnostics).toEqual([]);
    expect([...jobs.reports.keys()]).toEqual(['acme/weekly']);
  });
});

describe('an error in a report is shown at its place:', () => {
  test.each([...REPORT_CASES, ...DELIVERY_CASES])('$what', async ({ from, to, at, expected, got, next, org = '' }) => {
    const text = REPORT.replace(from, to);
    expect(text).not.toBe(REPORT);
    const { folder, jobs } = await load(text, `${ORG}${org}`);
    expect(jobs.diagnostics.map(formatDiagnostic)).toHaveLength(1);
    const [fault] = jobs.diagnostics as [Diagnostic];
    expect(fault.file).toBe(join(folder, 'acme/weekly.yaml'));
    expect({ line: fault.line, column: fault.column }).toEqual(position(text, at));
    expect(fault.expected).toMatch(expected);
    expect(fault.got).toMatch(got);
    if (next !== undefined) expect(fault.next).toMatch(next);
    expect(jobs.reports.size).toBe(0);
  });

  test('an attachment that no output produces', async () => {
    const text = REPORT.replace('attach: [xlsx]', 'attach: [csv]').replace('  - { format: csv }\n', '');
    const { jobs } = await load(text);
    expect(jobs.diagnostics).toMatchObject([
      { ...position(text, 'csv] }'), expected: 'a format that "outputs" makes (xlsx)' },
    ]);
  });

  test('all errors of a file at once, in the order of the file', async () => {
    const text = REPORT.replace('title: Weekly', 'tilte: Weekly')
      .replace('previous_week', 'previous_weak')
      .replace('- id: roster', '- id: onboarding')
      .replace('attach: [xlsx]', 'attach: [csv]')
      .replace('{ format: csv }', '{ format: docx }');
    const { jobs } = await load(text);
    expect(jobs.diagnostics.map(({ line }) => line)).toEqual([2, 5, 17, 22]);
  });
});

test.each(ORG_CASES)('an error in org.yaml is shown at its place: $what', async ({ from, to, at, expected, got }) => {
  const text = ORG.replace(from, to);
  const { folder, jobs } = await load(REPORT, text);
  expect(jobs.diagnostics).toHaveLength(1);
  expect(jobs.diagnostics[0]).toMatchObject({ file: join(folder, 'acme/org.yaml'), ...position(text, at) });
  expect(jobs.diagnostics[0]?.expected).toMatch(expected);
  expect(jobs.diagnostics[0]?.got).toMatch(got);
  expect([jobs.orgs.size, jobs.reports.size]).toEqual([0, 0]);
});

describe('requireReport', () => {
  test('proposes a similar name for an unknown report', async () => {
    const { jobs } = await load(REPORT);
    expect(() => requireReport(jobs, 'acme/weakly')).toThrow(
      expect.objectContaining({ code: 'definition.not_found', next: 'Did you mean acme/weekly?' }),
    );
    expect(() => requireReport(jobs, 'nothing/like/it')).toThrow(
      expect.objectContaining({ code: 'definition.not_found' }),
    );
  });

  test('throws the errors of a report or of its organization', async () => {
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

test('a formatted error is one line, whatever it contains', () => {
  const fault: Diagnostic = { file: 'a\nb.yaml', line: 2, column: 3, expected: 'x', got: '"\u2028"', next: 'y' };
  expect(formatDiagnostic(fault)).toBe('a\\u000ab.yaml:2:3: expected x, got "\\u2028"; do: y');
});
