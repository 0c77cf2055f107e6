import { expect, test } from 'vitest';
import { reportFileSchema } from '../../../src/compose/built-in-kinds.ts';
import { formatDiagnostic } from '../../../src/definitions/diagnostics/diagnostic.ts';
import { parseYaml } from '../../../src/definitions/yaml/parse-yaml.ts';

const REPORT = `version: 1
title: KPIs
owner: ops@acme.example
period: previous_month
sections:
  - id: kpis
    metrics: [profiles.created]
outputs:
  - format: xlsx
`;
const parse = (text: string) => parseYaml('weekly.yaml', text, reportFileSchema);
const found = (text: string) =>
  parse(text).diagnostics.map(({ code, line, column, got }) => [code, line, column, /U\+[0-9A-F]{4}/.exec(got)?.[0]]);
const INVISIBLE = 'yaml.invisible_character';

test.each([
  ['for indentation', '    metrics', '\u00a0\u00a0\u00a0\u00a0metrics', 7, 1, 'U+00A0'],
  ['in the indentation', '    metrics', '  \u00a0\u00a0metrics', 7, 3, 'U+00A0'],
  ['before a colon', 'title:', 'title\u00a0:', 2, 6, 'U+00A0'],
  ['after a colon', 'period: ', 'period:\u202f', 4, 8, 'U+202F'],
  ['of full width after a colon', 'title: ', 'title:\u3000', 2, 7, 'U+3000'],
  ['after a dash', '- id', '-\u00a0id', 6, 4, 'U+00A0'],
  ['after a value', 'xlsx', 'xlsx\u00a0', 9, 17, 'U+00A0'],
  ['without width in a value', 'previous_', 'previous_\u200b', 4, 18, 'U+200B'],
  ['without width before a name', 'owner', '\ufeffowner', 3, 1, 'U+FEFF'],
  ['as a soft hyphen in a name', 'owner', 'ow\u00adner', 3, 3, 'U+00AD'],
])('an invisible space %s is named and is the only error', (_, from, to, line, column, character) => {
  expect(found(REPORT)).toEqual([]);
  expect(found(REPORT.replace(from, to))).toEqual([[INVISIBLE, line, column, character]]);
});

test('other errors are reported as well, and texts may contain such spaces', () => {
  const text = REPORT.replace('KPIs', 'KPIs\u00a0of Z\u00fcrich').replace('period: ', 'period:\u00a0');
  expect(found(text)).toEqual([[INVISIBLE, 4, 8, 'U+00A0']]);
  expect(found(text.replace('version: 1', 'version: 2')).map(([code, line]) => [code, line])).toEqual([
    ['field.invalid', 1],
    [INVISIBLE, 4],
  ]);
  expect(parse(text.replace('period:\u00a0', 'period: ')).value?.title).toBe('KPIs\u00a0of Z\u00fcrich');
});

test('a printed diagnostic shows invisible spaces in a value', () => {
  const [diagnostic] = parse(REPORT.replace('previous_month', '"previous_month\u00a0"')).diagnostics;
  expect(diagnostic && formatDiagnostic(diagnostic)).toContain('"previous_month\\u00a0"');
});
