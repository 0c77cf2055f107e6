import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { BUILT_IN_READING, definitionParser } from '../../../src/compose/built-in-kinds.ts';
import { type Catalog, catalogSchema } from '../../../src/contract/catalog.ts';
import type { Diagnostic } from '../../../src/definitions/diagnostics/diagnostic.ts';
import { validateText } from '../../../src/services/definitions/definition-tasks.ts';
import { cases, within } from '../../support/fuzz.ts';
import { inProcessSandbox } from '../../support/in-process-sandbox.ts';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const ORG = `version: 1
org: 101
api_key: { env: ACME_KEY }
timezone: Europe/Zurich
recipients: { domains: [acme.example] }
`;
const settings = definitionParser.settings(ORG, 'org.yaml').value;
const of = settings && { text: ORG, settings: { ...settings, id: 'acme' } };

const LINES = `version: 1
title: Weekly figures
description: What happened last week
owner: ops@acme.example
schedule: { cron: "0 8 * * MON", catch_up: latest }
period: previous_week
compare: previous_period
locale: en-GB
sections:
  - id: onboarding
    title: Onboarding by day
    metrics: [profiles.created, profiles.decided]
    granularity: day
    totals: true
  - id: types
    title: Decisions by type
    metrics:
      - profiles.decided
      - profiles.approval_rate
    dimensions: [profile.type]
    order: [{ by: profiles.decided, dir: desc }]
  - id: risks
    title: High risks
    metrics: [profiles.created]
    dimensions: [profile.risk]
    filters:
      - { dimension: profile.risk, values: [high, severe] }
  - id: screening
    title: Screening hits
    metrics: [screening.hits]
    dimensions: [hit.kind]
    chart: column
  - id: rfis
    title: Requests for information
    metrics: [rfis.sent]
    limit: 20
  - id: roster
    title: All profiles
    list: profiles
    ordering: -id
targets:
  - metric: profiles.approval_rate
    better: higher
    target: 90%
  - metric: profiles.created
    better: higher
    target: 50
outputs:
  - { format: xlsx, name: "Figures {{ period.label }}.xlsx" }
  - format: csv
    name: "{{ section.id }} {{ period.label }}.csv"
deliveries:
  - email:
      to: [lead@acme.example]
      subject: "Figures {{ period.label }}"
      attach: [xlsx]
  - email:
      to:
        - audit@acme.example
      body: summary
on_incomplete: flag
`.split('\n');

interface Mutation {
  readonly code: Diagnostic['code'];
  /** A line of the report, and its replacement. */
  readonly from: string;
  readonly to: string;
  /** Mutations of one part may hide each other, so at most one of each part is used. */
  readonly part: string;
}

const change = (code: Diagnostic['code'], part: string, from: string, to: string): Mutation => ({
  code,
  part,
  from,
  to,
});

const SYNTAX: readonly Mutation[] = [
  change('yaml.syntax', 'title', 'title: Weekly figures', 'title: Weekly: figures'),
  change('yaml.syntax', 'title', 'title: Weekly figures', 'title: @Weekly figures'),
  change('yaml.unclosed_quote', 'title', 'title: Weekly figures', 'title: "Weekly figures'),
  change('yaml.unclosed_quote', 'title', 'title: Weekly figures', "title: 'Weekly figures"),
  change('yaml.syntax', 'title', 'title: Weekly figures', 'title:Weekly figures'),
  change('yaml.syntax', 'description', 'description: What happened last week', 'description: `last` week'),
  change('yaml.syntax', 'description', 'description: What happened last week', 'description What happened'),
  change('yaml.tab', 'onboarding', '    granularity: day', '\tgranularity: day'),
  change('yaml.syntax', 'onboarding', '    granularity: day', '     granularity: day'),
  change('yaml.syntax', 'onboarding', '    granularity: day', '   granularity: day'),
  change('yaml.syntax', 'types', '    title: Decisions by type', '    title: Decisions: by type'),
  change('yaml.missing_space', 'types', '      - profiles.decided', '      -profiles.decided'),
  change('yaml.syntax', 'screening', '    dimensions: [hit.kind]', '   dimensions: [hit.kind]'),
  change('yaml.tab', 'screening', '    chart: column', '  \tchart: column'),
  change(
    'yaml.unquoted_template',
    'xlsx',
    '  - { format: xlsx, name: "Figures {{ period.label }}.xlsx" }',
    '  - { format: xlsx, name: Figures {{ period.label }}.xlsx }',
  ),
  change(
    'yaml.syntax',
    'xlsx',
    '  - { format: xlsx, name: "Figures {{ period.label }}.xlsx" }',
    '  - { format: xlsx name: "Figures {{ period.label }}.xlsx" }',
  ),
  change(
    'yaml.unquoted_template',
    'csv',
    '    name: "{{ section.id }} {{ period.label }}.csv"',
    '    name: {{ section.id }} {{ period.label }}.csv',
  ),
  change(
    'yaml.unquoted_template',
    'first mail',
    '      subject: "Figures {{ period.label }}"',
    '      subject: {{ period.label }}: figures',
  ),
];

const MUTATIONS: readonly Mutation[] = [
  // The shape of the file.
  change('field.unknown', 'end', 'on_incomplete: flag', '      on_incomplete: flag'),
  change('yaml.duplicate_field', 'end', 'on_incomplete: flag', 'on_incomplete: flag\non_incomplete: flag'),
  change('field.unknown', 'locale', 'locale: en-GB', 'lokale: en-GB'),
  change('field.invalid', 'locale', 'locale: en-GB', 'locale: english'),
  change('field.invalid', 'owner', 'owner: ops@acme.example', 'owner: operations'),
  change('field.invalid', 'period', 'period: previous_week', 'period: previous_weak'),
  change('field.invalid', 'compare', 'compare: previous_period', 'compare: last_week'),
  change(
    'field.invalid',
    'schedule',
    'schedule: { cron: "0 8 * * MON", catch_up: latest }',
    'schedule: { cron: "0 25 * * MON", catch_up: latest }',
  ),
  change('field.invalid', 'onboarding', '    totals: true', '    totals: yes'),
  change('field.invalid', 'onboarding', '    granularity: day', '    granularity: dya'),
  change('field.unknown', 'types', '    dimensions: [profile.type]', '    dimensoins: [profile.type]'),
  change(
    'field.invalid',
    'types',
    '    order: [{ by: profiles.decided, dir: desc }]',
    '    order: [{ by: profiles.decided, dir: down }]',
  ),
  change('field.invalid', 'risks', '  - id: risks', '  - id: High Risks'),
  change('field.invalid', 'rfis', '    limit: 20', '    limit: twenty'),
  change('field.unknown', 'roster', '    ordering: -id', '    sorting_of_rows: -id'),
  change('field.invalid', 'end', 'on_incomplete: flag', 'on_incomplete: flagg'),
  change('field.invalid', 'rate', '    target: 90%', '    target: banana'),
  change('field.invalid', 'second mail', '      body: summary', '      body: sumary'),
  // Templates, recipients and formats without an output.
  change(
    'field.invalid',
    'csv',
    '    name: "{{ section.id }} {{ period.label }}.csv"',
    '    name: "{{ section.id }} {{ perod.label }}.csv"',
  ),
  change(
    'field.invalid',
    'first mail',
    '      subject: "Figures {{ period.label }}"',
    '      subject: "Figures {{ period.labels }}"',
  ),
  change('recipient.not_allowed', 'first mail', '      to: [lead@acme.example]', '      to: [lead@evil.example]'),
  change('recipient.not_allowed', 'second mail', '        - audit@acme.example', '        - audit@evil.example'),
  change('field.invalid', 'first mail', '      attach: [xlsx]', '      attach: [pdf]'),
  // The catalog.
  change('catalog.unknown', 'risks', '    metrics: [profiles.created]', '    metrics: [profiles.creatd]'),
  change(
    'catalog.unknown',
    'risks',
    '      - { dimension: profile.risk, values: [high, severe] }',
    '      - { dimension: profile.risk, values: [high, sever] }',
  ),
  change('catalog.unknown', 'screening', '    dimensions: [hit.kind]', '    dimensions: [hit.kidn]'),
  change('catalog.not_allowed', 'screening', '    dimensions: [hit.kind]', '    dimensions: [review.age]'),
  change('catalog.unknown', 'created target', '  - metric: profiles.created', '  - metric: profiles.crated'),
  change('catalog.not_allowed', 'rate', '    target: 90%', '    target: 90d'),
];

let catalog: Catalog;
beforeAll(async () => {
  const sandbox = inProcessSandbox({ now: NOW });
  catalog = catalogSchema.parse((await sandbox.get('/api/orgs/101/analytics/metrics/')).body);
});

const faultsOf = (text: string): readonly Diagnostic[] =>
  validateText(BUILT_IN_READING, {
    text,
    file: 'weekly.yaml',
    name: { org: 'acme', report: 'weekly' },
    of,
    catalog,
    now: NOW,
  });

/** The text with these mutations, and the expected place of each error. */
function mutate(mutations: readonly Mutation[]) {
  const expected: string[] = [];
  const lines: string[] = [];
  for (const line of LINES) {
    const mutation = mutations.find(({ from }) => from === line);
    const changed = mutation === undefined ? [line] : mutation.to.split('\n');
    lines.push(...changed);
    if (mutation !== undefined) expected.push(`${lines.length} ${mutation.code}`);
  }
  return { text: lines.join('\n'), expected };
}

describe('the check of a report', { timeout: within(4) }, () => {
  test('finds no errors in the file before any mutation, and each mutation changes one line', () => {
    expect(faultsOf(LINES.join('\n'))).toEqual([]);
    for (const { from } of [...SYNTAX, ...MUTATIONS]) expect(LINES.filter((line) => line === from)).toHaveLength(1);
  });

  test.each(SYNTAX.map((mutation) => [mutation.code, mutation.to.trim(), mutation] as const))(
    'shows only errors of syntax if there is one: %s in %s',
    (_, __, mutation) => {
      const { text, expected } = mutate([mutation]);
      // Other errors are shown after the syntax is fixed.
      const found = faultsOf(text.replace('version: 1', 'version: 2'));
      expect(found.map(({ line, code }) => `${line} ${code}`)).toEqual(expected);
    },
  );

  test('shows an unclosed bracket in the next line', () => {
    const text = LINES.join('\n').replace('attach: [xlsx]', 'attach: [xlsx');
    const line = text.split('\n').indexOf('      attach: [xlsx') + 2;
    expect(faultsOf(text)).toMatchObject([
      { code: 'yaml.syntax', line, expected: expect.stringContaining('brackets closed') },
    ]);
  });

  test('shows all lines with broken syntax', () => {
    const { text, expected } = mutate(SYNTAX.filter(({ to }) => /@Weekly|`last`|subject: \{\{|\t/.test(to)));
    expect(faultsOf(text).map(({ line, code }) => `${line} ${code}`)).toEqual(expected);
  });

  test('shows the start of an unresolved merge conflict', () => {
    const conflict = '<<<<<<< HEAD\ntitle: Weekly\n=======\ntitle: Monthly\n>>>>>>> theirs';
    const text = LINES.join('\n').replace('title: Weekly figures', conflict);
    expect(faultsOf(text)).toMatchObject([{ code: 'yaml.merge_conflict', line: 2 }]);
  });

  test.each(MUTATIONS.map((mutation) => [mutation.code, mutation.to.trim(), mutation] as const))(
    'gives one error for one cause: %s in %s',
    (_, __, mutation) => {
      const { text, expected } = mutate([mutation]);
      expect(faultsOf(text).map(({ line, code }) => `${line} ${code}`)).toEqual(expected);
    },
  );

  test('gives one error for each of any number of causes, in the order of the file', () => {
    const parts = [...new Set(MUTATIONS.map(({ part }) => part))];
    const drawn = fc
      .shuffledSubarray(parts, { minLength: 2, maxLength: parts.length })
      .chain((chosen) =>
        fc.tuple(...chosen.map((part) => fc.constantFrom(...MUTATIONS.filter((each) => each.part === part)))),
      );
    fc.assert(
      fc.property(drawn, (mutations) => {
        const { text, expected } = mutate(mutations);
        expect(faultsOf(text).map(({ line, code }) => `${line} ${code}`)).toEqual(expected);
      }),
      cases(400),
    );
  });
});
