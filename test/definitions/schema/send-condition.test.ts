import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { loadDefinitions } from '../../../src/compose/built-in-kinds.ts';
import { COMPARISONS, meetsComparison, parseSendCondition } from '../../../src/definitions/schema/send-condition.ts';
import { parseSize } from '../../../src/definitions/schema/values/primitives.ts';
import { cases } from '../../support/fuzz.ts';
import { jobsFolder, ORG, REPORT } from '../../support/jobs-folder.ts';

const compare = (metric: string, op: string, value: number, unit: string | null = null, section?: string) => ({
  kind: 'compare',
  section,
  metric,
  op,
  value,
  unit,
});

test.each<[string, object]>([
  ['changed', { kind: 'changed' }],
  [' non_empty ', { kind: 'non_empty' }],
  ['alerts.open > 10', compare('alerts.open', '>', 10)],
  ['alerts.open>=10', compare('alerts.open', '>=', 10)],
  ['queue:sla.met < 95%', compare('sla.met', '<', 0.95, '%', 'queue')],
  ['queue : sla.met != -0.5', compare('sla.met', '!=', -0.5, null, 'queue')],
  ['profiles.time_to_decision_p50 >= 2d', compare('profiles.time_to_decision_p50', '>=', 172_800, 'd')],
  ['x = 3h', compare('x', '=', 10_800, 'h')],
  ['x <= 5m', compare('x', '<=', 300, 'm')],
])('the condition %j is parsed', (text, expected) => {
  expect(parseSendCondition(text)).toEqual(expected);
});

test.each<[string, string, string]>([
  ['always', 'unusual, or a comparison', '"always"'],
  ['', 'changed, non_empty', '""'],
  ['alerts.open == 10', 'a number after "="', '"= 10" at character 14'],
  ['alerts.open => 10', 'a number after "="', '"> 10"'],
  ['alerts.open ! 10', 'one of < <= > >= = !=', '"! 10" at character 13'],
  ['alerts.open >', 'a number after ">"', 'nothing'],
  ['alerts.open > ten', 'a number', '"ten" at character 15'],
  ['alerts.open > 1e3', 'a number', '"1e3"'],
  ['> 10', 'the id of a metric before ">"', '"> 10"'],
  ['a b > 10', 'the id of a metric', '"a b > 10"'],
  ['Queue!:x > 1', 'one of < <=', ''],
  ['QUEUE:x > 1', 'the id of a section before ":"', '"QUEUE:x"'],
  ['process.exit() > 1', 'the id of a metric', ''],
])('the condition %j is an error with its position', (text, expected, got) => {
  expect(parseSendCondition(text)).toEqual({
    expected: expect.stringContaining(expected),
    got: expect.stringContaining(got),
  });
});

test('any text is a condition or an error, and a formatted condition is parsed as the same', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ maxLength: 80 }), fc.string({ unit: 'binary', maxLength: 80 })), (text) => {
      const read = parseSendCondition(text);
      if (!('kind' in read)) expect(read).toEqual({ expected: expect.any(String), got: expect.any(String) });
      else if (read.kind === 'compare') expect(Number.isFinite(read.value)).toBe(true);
    }),
    cases(5_000),
  );
  const id = fc.stringMatching(/^[a-z][a-z0-9_.]{0,20}$/);
  const section = fc.option(fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,20}$/), { nil: undefined });
  const value = fc.integer({ min: -1e9, max: 1e9 });
  const space = fc.constantFrom('', ' ', '  ');
  fc.assert(
    fc.property(section, id, fc.constantFrom(...COMPARISONS), value, space, (of, metric, op, number, gap) => {
      const text = `${of === undefined ? '' : `${of}:`}${metric}${gap}${op}${gap}${number}`;
      expect(parseSendCondition(text)).toEqual({ kind: 'compare', section: of, metric, op, value: number, unit: null });
    }),
    cases(2_000),
  );
});

test('operators compare numbers like arithmetic, and are never met by an undefined figure', () => {
  fc.assert(
    fc.property(fc.integer({ min: -3, max: 3 }), fc.integer({ min: -3, max: 3 }), (a, b) => {
      const held = COMPARISONS.filter((op) => meetsComparison(a, op, b));
      expect(held).toEqual(a < b ? ['<', '<=', '!='] : a > b ? ['>', '>=', '!='] : ['<=', '>=', '=']);
    }),
  );
  expect(COMPARISONS.filter((op) => meetsComparison(null, op, 0))).toEqual([]);
});

test.each<[string, string, string | RegExp]>([
  ['send_if: profiles.created > ten', 'a number after ">"', '"ten" at character 20'],
  ['send_if: profiles.creatd > 1', 'a metric of the report (profiles.created, profiles.decided)', '"profiles.creatd"'],
  ['send_if: onbording:profiles.created > 1', 'a section with metrics (onboarding)', '"onbording"'],
  ['send_if: roster:profiles.created > 1', 'a section with metrics (onboarding)', '"roster"'],
  ['send_if: 5', 'a text', '5 (a number)'],
])('docket check shows %j at its place', async (line, expected, got) => {
  const report = REPORT.replace('  - directory: { path: out }', `  - directory: { path: out }\n    ${line}`);
  const folder = await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': report });
  const { diagnostics } = await loadDefinitions(folder);
  const at = report.split('\n').findIndex((each) => each.includes('send_if'));
  expect(diagnostics).toEqual([
    expect.objectContaining({
      file: join(folder, 'acme/weekly.yaml'),
      line: at + 1,
      column: 14,
      expected: expect.stringContaining(expected),
      got: expect.stringContaining(String(got)),
    }),
  ]);
});

test('a valid condition is stored as it is written', async () => {
  const report = REPORT.replace(
    '  - directory: { path: out }',
    '  - directory: { path: out }\n    send_if: "onboarding:profiles.created >= 1"',
  );
  const { reports, diagnostics } = await loadDefinitions(
    await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': report }),
  );
  expect(diagnostics).toEqual([]);
  expect(reports.get('acme/weekly')?.deliveries[1]?.send_if).toBe('onboarding:profiles.created >= 1');
});

test.each([
  ['10MB', 10 * 1024 * 1024],
  ['500 kb', 512_000],
  ['1', 1],
  ['100MB', 100 * 1024 * 1024],
  ['101MB', undefined],
  ['0', undefined],
  ['-1MB', undefined],
  ['1.5MB', undefined],
  ['10 GB', undefined],
])('a size of %j is %j bytes', (text, bytes) => {
  expect(parseSize(text)).toBe(bytes);
});

test.each([
  [
    'smtp: { oauth2: { user: me, token_url: "https://x.example/t", client_id: { env: A }, refresh_token: { env: B } } }',
    'no "oauth2" without a "url"',
  ],
  [
    'smtp: { url: { env: U }, oauth2: { user: me, token_url: "http://x.example/t", client_id: { env: A }, refresh_token: { env: B } } }',
    'a URL, https://…',
  ],
  [
    'smtp: { url: { env: U }, oauth2: { user: me, token_url: "https://x.example/t", client_id: { env: A } } }',
    '"refresh_token" or "client_secret"',
  ],
  [
    'smtp: { dkim: { domain: Acme.example, selector: s1, key: { file: k.pem } } }',
    'a domain such as acme.example, in lower case',
  ],
  ['smtp: { dkim: { domain: acme.example, selector: "s1; x=y", key: { file: k.pem } } }', 'the selector of the key'],
])('%s is an error in org.yaml', async (line, expected) => {
  const { diagnostics } = await loadDefinitions(
    await jobsFolder({ 'acme/org.yaml': `${ORG}${line}\n`, 'acme/weekly.yaml': REPORT }),
  );
  expect(diagnostics).toEqual([expect.objectContaining({ expected: expect.stringContaining(expected) })]);
});
