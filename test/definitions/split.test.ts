import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadDefinitions } from '../../src/compose/built-in-kinds.ts';
import { parseSplitList } from '../../src/definitions/load/split-list.ts';
import type { Target } from '../../src/definitions/schema/targets.ts';
import { deskTargets, splitSlug } from '../../src/definitions/split.ts';

const ORG = 'version: 1\norg: current\napi_key: { env: KEY }\ntimezone: UTC\nrecipients: { domains: [acme.example] }\n';
const REPORT = `version: 1
title: Onboarding
owner: owner@acme.example
period: previous_week
split:
  by: profile.group
  to:
    "Retail": [retail@acme.example]
sections:
  - { id: one, metrics: [profiles.created] }
outputs: [{ format: xlsx }]
deliveries:
  - email: { to: split }
`;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-split-'));
  await mkdir(join(folder, 'acme'));
  await writeFile(join(folder, 'acme/org.yaml'), ORG);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const load = async (from: string, to: string, list?: string) => {
  expect(REPORT).toContain(from);
  await writeFile(join(folder, 'acme/desks.yaml'), REPORT.replace(from, to));
  if (list !== undefined) await writeFile(join(folder, 'acme/desks.csv'), list);
  return loadDefinitions(folder);
};

describe('a report with split', () => {
  test.each([
    ['a list without split: false', '  - { id: one', '  - { id: all, list: profiles }\n  - { id: one', 'split.invalid'],
    ['a template of a workbook', 'format: xlsx', 'format: xlsx, template: pack.xlsx', 'split.not_supported'],
    [
      'a filter on the dimension',
      'profiles.created]',
      'profiles.created], filters: [{ dimension: profile.group, values: [Retail] }]',
      'split.invalid',
    ],
    [
      'two other dimensions',
      'profiles.created]',
      'profiles.created], dimensions: [profile.risk, profile.type]',
      'split.invalid',
    ],
    [
      'rows by value in a section for all',
      '  - { id: one',
      '  - { id: all, split: false, metrics: [profiles.created], dimensions: [profile.group] }\n  - { id: one',
      'split.invalid',
    ],
    ['no split section', 'id: one,', 'id: one, split: false,', 'split.invalid'],
    ['a delivery that is not split', 'to: split', 'to: [all@acme.example]', 'split.invalid'],
    ['a path for all', '- email: { to: split }', '- { split: true, directory: { path: out } }', 'split.invalid'],
    [
      'a path with only a part of the slug',
      '- email: { to: split }',
      '- { split: true, directory: { path: "out/{{ split.slug | slice: 0, 3 }}" } }',
      'split.invalid',
    ],
    [
      'a path with the slug in a comment',
      '- email: { to: split }',
      '- { split: true, directory: { path: "out/{% comment %}{{ split.slug }}{% endcomment %}" } }',
      'split.invalid',
    ],
    ['an unquoted Yes', '"Retail"', 'Yes', 'split.invalid'],
    ['an unquoted number', '"Retail"', '1', 'split.invalid'],
    ['an unquoted null', '"Retail"', 'null', 'split.invalid'],
    ['a title that cannot be filled', 'title: Onboarding', 'title: "{{ split.nothing }}"', 'template.invalid'],
    ['an invalid address', 'retail@acme.example', 'retail', 'recipient.invalid'],
    [
      'a value twice after normalization',
      '"Retail": [retail@acme.example]',
      '"Caf\u00e9": [a@acme.example]\n    "Cafe\u0301": [b@acme.example]',
      'field.invalid',
    ],
    [
      'split: false without split',
      'split:\n  by: profile.group\n  to:\n    "Retail": [retail@acme.example]\n',
      '',
      'split.invalid',
    ],
  ])('is refused with %s', async (_, from, to, code) => {
    const { diagnostics, reports } = await load(from, to);
    expect(diagnostics.map((each) => each.code)).toContain(code);
    expect(reports.has('acme/desks')).toBe(false);
  });

  test.each(['"Yes"', '"1"', '"null"', '"../x"', '"=cmd"', '"🚀"', `"${'x'.repeat(200)}"`])(
    'accepts the quoted value %s',
    async (value) => {
      expect((await load('"Retail"', value)).diagnostics).toEqual([]);
    },
  );

  test('reads its recipients from a file, which changes its digest', async () => {
    const before = await load(
      'to:\n    "Retail": [retail@acme.example]',
      'to: desks.csv',
      'value,address\nRetail,a@acme.example\n',
    );
    const after = await load(
      'to:\n    "Retail": [retail@acme.example]',
      'to: desks.csv',
      'value,address\nRetail,b@acme.example\n',
    );
    const [one, two] = [before.reports.get('acme/desks'), after.reports.get('acme/desks')];
    expect(one?.split?.to).toEqual({ Retail: ['a@acme.example'] });
    expect(two?.split?.to).toEqual({ Retail: ['b@acme.example'] });
    expect(one?.digest).not.toBe(two?.digest);
  });
});

describe('a list of recipients', () => {
  test('may have a byte order mark, semicolons, quotes, empty lines and several addresses per value', () => {
    const text =
      '\uFEFFvalue;address\r\n\r\n"Re;tail";a@acme.example\r\n"Re;tail";b@acme.example\r\n"Say ""hi""";c@acme.example\r\n';
    expect(parseSplitList(text)).toEqual({
      to: { 'Re;tail': ['a@acme.example', 'b@acme.example'], 'Say "hi"': ['c@acme.example'] },
    });
  });

  test.each([
    ['no columns', 'Retail,a@acme.example\n', 1],
    ['no address', 'value,address\nRetail,\n', 2],
    ['an open quote', 'value,address\n"Retail,a@acme.example\n', 2],
    ['10,000 lines', `value,address\n${'Retail,a@acme.example\n'.repeat(10_000)}`, 2002],
  ])('with %s is refused with the line of the error', (_, text, line) => {
    expect(parseSplitList(text)).toMatchObject({ expected: expect.stringContaining(`line ${line} `) });
  });
});

test('the slug of a value is a safe folder name, and different for every value', () => {
  const values = [
    'Retail',
    'retail',
    'RETAIL',
    '../x',
    '=cmd',
    '🚀',
    'Zürich Süd',
    'x'.repeat(200),
    `${'x'.repeat(199)}y`,
    'CON',
  ];
  const slugs = values.map(splitSlug);
  expect(new Set(slugs).size).toBe(values.length);
  for (const slug of slugs) expect(slug).toMatch(/^([a-z0-9-]{1,40}-)?[0-9a-f]{10}$/);
  expect(splitSlug('Zürich Süd')).toMatch(/^zurich-sud-/);
});

test('a part is judged by the targets for its value and those for each desk', () => {
  const target = (more: Partial<Target>): Target => ({ metric: 'm', better: 'higher', target: 1, ...more });
  const targets = [
    target({ target: 1 }),
    target({ target: 2, each_desk: true }),
    target({ target: 3, where: { 'profile.group': 'Retail' } }),
    target({ target: 4, where: { 'profile.group': 'Merchants' } }),
    target({ target: 5, where: { 'profile.risk': 'high' }, each_desk: true }),
  ];
  const of = (value: string) => deskTargets(targets, 'profile.group', value).map((each) => each.target);
  expect(of('Retail')).toEqual([3, 5]);
  expect(of('Partners')).toEqual([2, 5]);
});
