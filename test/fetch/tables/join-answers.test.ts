import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { reportResponseSchema } from '../../../src/contract/report.ts';
import type { Period } from '../../../src/definitions/periods/period.ts';
import type { Table } from '../../../src/fetch/dataset.ts';
import { fetchDataset } from '../../../src/fetch/fetch-dataset.ts';
import { joinAnswers } from '../../../src/fetch/internal/tables/join-answers.ts';
import { summedFigures } from '../../../src/fetch/internal/tables/join-totals.ts';
import { reportTable } from '../../../src/fetch/internal/tables/report-table.ts';
import { incompleteNotes, type NoteCode } from '../../../src/fetch/notes.ts';
import { compilePlan } from '../../../src/plan/compile.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { doneOf, fetchingFrom, keyOf, openSandbox } from '../../support/fetch-harness.ts';
import { notesIn } from '../../support/notes.ts';
import { CATALOG, type DefinitionInput, definitionOf, type SectionInput, settingsOf } from '../../support/reports.ts';
import { rowsOf } from '../../support/rows.ts';

const MONTHS: Period = { from: '2026-08-01', to: '2026-09-30', timezone: 'Europe/Zurich', label: 'x' };
const AFTER = Date.parse('2026-10-01T06:00:00Z');
const SECTION: SectionInput = {
  id: 'a',
  metrics: ['profiles.created', 'profiles.approval_rate'],
  dimensions: ['profile.type'],
  granularity: 'month',
  totals: true,
};

interface Answer {
  readonly rows?: Readonly<Record<string, unknown>>[];
  readonly totals?: object;
  readonly meta?: object;
  readonly at?: number;
}
interface Change {
  readonly section?: Partial<SectionInput>;
  readonly more?: DefinitionInput;
  readonly catalog?: typeof CATALOG;
  /** The responses in the order of the calls. Omitted ones have no rows. */
  readonly answers?: readonly Answer[];
}

/** The table of two months, with one call for each, from these responses. */
function tableOf({ section: change, more = {}, catalog = CATALOG, answers = [] }: Change): Table {
  const plan = compilePlan({
    definition: definitionOf([{ ...SECTION, ...change }], more),
    settings: settingsOf(),
    period: MONTHS,
    catalog,
    limits: { max_range_days: 31 },
  });
  const [at] = plan.sections;
  if (at?.join === undefined) throw new Error('expected a cut');
  const parts = plan.calls.map((call, index) => {
    if (call.kind !== 'report') throw new Error('expected a report');
    const { rows = [], totals, meta, at: came = AFTER } = answers[index] ?? {};
    const response = reportResponseSchema.parse({
      meta: {
        as_of: '2026-10-01T05:59:00Z',
        cached: false,
        timezone: 'Europe/Zurich',
        range: { from: call.request.time?.from, to: call.request.time?.to },
        row_count: rows.length,
        truncated: false,
        registry_version: 7,
        ...meta,
      },
      columns: call.request.metrics.map((name) => ({ name, label: name, kind: 'metric', type: 'integer', unit: null })),
      rows,
      totals: totals ?? {
        'profiles.created': rows.reduce((sum, row) => sum + Number(row['profiles.created'] ?? 0), 0),
      },
    });
    return { id: call.id, request: call.request, response, at: came };
  });
  const { join, section, replaced, comparisons } = at;
  const response = joinAnswers(join, new Map(parts.map((piece) => [piece.id, piece])), catalog);
  const extra = {
    ...(replaced && { replaced }),
    ...(join.undefinedTotals && { undefinedTotals: join.undefinedTotals }),
  };
  return reportTable({
    section,
    request: join.request,
    response,
    catalog,
    period: MONTHS,
    at: AFTER,
    parts,
    comparisons,
    ...extra,
  });
}

/** How the responses for these sections are joined. */
const planOf = (sections: readonly SectionInput[], limits: object = { max_range_days: 31 }) =>
  compilePlan({
    definition: definitionOf([...sections]),
    settings: settingsOf(),
    period: MONTHS,
    catalog: CATALOG,
    limits,
  }).sections.map(({ join }) => join);

const row = (bucket: string, type: string, created: number, rate: number | null, more: object = {}) => ({
  bucket,
  'profile.type': type,
  'profiles.created': created,
  'profiles.approval_rate': rate,
  partial: false,
  ...more,
});
const AUGUST: Answer = { rows: [row('2026-08-01', 'individual', 4, 0.5)], totals: { 'profiles.created': 4 } };
const SEPTEMBER: Answer = { rows: [row('2026-09-01', 'entity', 2, 1)], totals: { 'profiles.created': 2 } };
const BOTH = [AUGUST, SEPTEMBER];
const noted = (change: Change, code: NoteCode) => notesIn(tableOf(change)).filter((note) => note.code === code);
const cells = (table: Table) => rowsOf(table).map(({ values }) => Object.values(values));

describe('a joined table', () => {
  test('has every group in every bucket, with counts of 0 where a response lacks the group', () => {
    expect(cells(tableOf({ answers: BOTH }))).toEqual([
      ['2026-08-01', 'individual', 4, 0.5],
      ['2026-08-01', 'entity', 0, null],
      ['2026-09-01', 'individual', 0, null],
      ['2026-09-01', 'entity', 2, 1],
    ]);
  });

  test('is sorted and limited after joining, with undefined figures last in both directions', () => {
    const section = { order: [{ by: 'profiles.approval_rate', dir: 'desc' as const }], limit: 3 };
    const table = tableOf({ section, answers: BOTH });
    expect(cells(table)).toEqual([
      ['2026-09-01', 'entity', 2, 1],
      ['2026-08-01', 'individual', 4, 0.5],
      ['2026-08-01', 'entity', 0, null],
    ]);
    expect(noted({ section, answers: BOTH }, 'truncated')).toMatchObject([
      { text: 'Only the first 3 rows, as the report defines; there are more.', incomplete: false },
    ]);
  });

  test('adds up the totals of the responses if the metric allows it; otherwise a note says why the total is undefined', () => {
    const table = tableOf({ answers: BOTH });
    expect(table.totals).toEqual({ values: { 'profiles.created': 6, 'profiles.approval_rate': null } });
    expect(notesIn(table).filter(({ text }) => text.startsWith('The total of'))).toEqual([
      {
        code: 'undefined',
        text: expect.stringMatching(
          /^The total of profiles.approval_rate is undefined: the period is longer than one call/,
        ),
        incomplete: false,
      },
    ]);
    expect(incompleteNotes({ tables: [table] })).toEqual([]);
  });

  test('lists which figures are sums over several calls', () => {
    const created = 'profiles.created';
    const monthly = planOf([
      { ...SECTION, dimensions: [] },
      { ...SECTION, id: 'b', totals: false },
    ]);
    expect(monthly.map((join) => join && summedFigures(join))).toEqual([{ cells: [], totals: [created] }, undefined]);
    // Two months in one row.
    const { granularity: _, dimensions: __, ...folded } = { ...SECTION, metrics: ['profiles.created'] };
    const whole = planOf([{ ...folded, totals: false }]);
    expect(whole.map((join) => join && summedFigures(join))).toEqual([{ cells: [created], totals: [] }]);
    // A filter that is split by value: its parts are added up, or are separate rows.
    const filters = [{ dimension: 'profile.risk', op: 'in' as const, values: ['high', 'low'] }];
    const risk = { ...folded, filters, totals: false };
    const parted = planOf([risk, { ...risk, id: 'b', dimensions: ['profile.risk'] }], {
      max_range_days: 366,
      max_filter_values: 1,
    });
    expect(parted.map((join) => join && summedFigures(join))).toEqual([{ cells: [created], totals: [] }, undefined]);
  });

  test('matches the buckets of the previous period by position', () => {
    const before = [
      { rows: [row('2026-06-01', 'entity', 7, 0.1)], totals: { 'profiles.created': 7 } },
      { rows: [row('2026-07-01', 'entity', 8, 0.2)], totals: { 'profiles.created': 8 } },
    ];
    const table = tableOf({ more: { compare: 'previous_period' }, answers: [...BOTH, ...before] });
    expect(table.comparisons).toEqual([{ kind: 'previous_period', range: { from: '2026-06-01', to: '2026-07-31' } }]);
    expect(rowsOf(table).map(({ compare }) => Object.values(compare?.previous_period?.values ?? {}))).toEqual([
      [0, null],
      [7, 0.1],
      [0, null],
      [8, 0.2],
    ]);
    expect(table.totals?.compare?.previous_period?.values).toEqual({
      'profiles.created': 15,
      'profiles.approval_rate': null,
    });
  });

  test('is running or not according to the call with the last day, whatever the age of the other responses', () => {
    const old = { ...AUGUST, meta: { as_of: '2026-09-30T21:00:00Z', cached: true } };
    expect(tableOf({ answers: [old, SEPTEMBER] }).running).toBe(false);
    const early = { meta: { as_of: '2026-09-30T21:00:00Z' }, at: Date.parse('2026-09-30T21:00:00Z') };
    expect(tableOf({ answers: [AUGUST, { ...SEPTEMBER, ...early }] }).running).toBe(true);
  });

  test('has a group for records without a value, and groups that the catalog does not list, in both periods', () => {
    const typed = (bucket: string, type: string | null, created: number) => ({
      ...row(bucket, '', created, 1),
      'profile.type': type,
    });
    const now = [
      { rows: [typed('2026-08-01', null, 1), typed('2026-08-01', 'trust', 2)] },
      { rows: [typed('2026-09-01', 'foundation', 3), typed('2026-09-01', 'entity', 4)] },
    ];
    const before = [{ rows: [typed('2026-06-01', null, 5)] }, { rows: [typed('2026-07-01', 'trust', 6)] }];
    const section = { metrics: ['profiles.created'], totals: false };
    const more = { compare: 'previous_period' as const };
    const table = tableOf({ section, more, answers: [...now, ...before] });
    expect(
      rowsOf(table).map(({ values, compare }) => [
        ...Object.values(values),
        compare?.previous_period?.values['profiles.created'],
      ]),
    ).toEqual([
      ['2026-08-01', 'entity', 0, 0],
      ['2026-08-01', 'foundation', 0, 0],
      ['2026-08-01', 'trust', 2, 0],
      ['2026-08-01', null, 1, 5],
      ['2026-09-01', 'entity', 4, 0],
      ['2026-09-01', 'foundation', 3, 0],
      ['2026-09-01', 'trust', 0, 6],
      ['2026-09-01', null, 0, 0],
    ]);
    expect(incompleteNotes({ tables: [table] })).toEqual([]);
  });

  test('has a note that names the metric that replaces a deprecated one', () => {
    const section = { metrics: ['profiles.opened'], totals: false };
    const found = noted({ section, more: { follow_replacements: true }, answers: BOTH }, 'deprecated');
    expect(found.map(({ text }) => text)).toEqual([
      'profiles.created (profiles.created) replaces profiles.opened (profiles.opened), which is deprecated.',
    ]);
  });
});

describe('a joined table invents no figure for', () => {
  test('a bucket that a response lacks for one of its groups', () => {
    const answers = [AUGUST, { ...SEPTEMBER, rows: [row('2026-08-01', 'entity', 1, 1)] }];
    expect(cells(tableOf({ answers }))).toEqual([
      ['2026-08-01', 'individual', 4, 0.5],
      ['2026-08-01', 'entity', 0, null],
      ['2026-09-01', 'individual', 0, null],
      ['2026-09-01', 'entity', null, null],
    ]);
    expect(noted({ answers }, 'missing')).toMatchObject([{ text: expect.stringContaining('2 cells') }]);
  });

  test('a missing figure', () => {
    const { 'profiles.created': _created, ...lacking } = row('2026-09-01', 'entity', 2, 1);
    expect(noted({ answers: [AUGUST, { ...SEPTEMBER, rows: [lacking] }] }, 'missing')).toMatchObject([
      { text: 'The service left out 1 cell: its value is not known.', incomplete: true },
    ]);
  });

  test('a row without a group, which must not count as the group of records without a value', () => {
    const { 'profile.type': _type, ...lacking } = row('2026-09-01', '', 2, 1);
    const answers = [AUGUST, { ...SEPTEMBER, rows: [lacking] }];
    expect(noted({ answers }, 'missing')).toMatchObject([{ incomplete: true }]);
  });

  test('groups that the service truncated', () => {
    const answers = [AUGUST, { ...SEPTEMBER, meta: { truncated: true } }];
    expect(cells(tableOf({ answers })).map(([bucket, type]) => [bucket, type])).toEqual([
      ['2026-08-01', 'individual'],
      ['2026-08-01', 'entity'],
      ['2026-09-01', 'entity'],
    ]);
    expect(noted({ answers }, 'truncated')).toMatchObject([{ incomplete: true }]);
  });

  test('a summand that the service truncated', () => {
    const section: Partial<SectionInput> = { metrics: ['profiles.created'], granularity: undefined, totals: false };
    const folded = ({ bucket: _bucket, ...rest }: ReturnType<typeof row>) => rest;
    const august = { rows: [folded(row('', 'individual', 4, 0)), folded(row('', 'entity', 5, 0))] };
    const september = { rows: [folded(row('', 'entity', 2, 0))] };
    expect(cells(tableOf({ section, answers: [august, september] }))).toEqual([
      ['individual', 4],
      ['entity', 7],
    ]);
    const answers = [august, { ...september, meta: { truncated: true } }];
    expect(cells(tableOf({ section, answers }))).toEqual([['entity', 7]]);
  });

  test('a missing total', () => {
    const answers = [AUGUST, { ...SEPTEMBER, totals: {} }];
    expect(tableOf({ answers }).totals).toBe(undefined);
    expect(noted({ answers }, 'missing')).toMatchObject([{ incomplete: true }]);
  });

  test('a missing group if the unit has no known zero', () => {
    const metrics = CATALOG.metrics.map((metric) => ({ ...metric, unit: 'parsecs' }));
    const change = { catalog: { ...CATALOG, metrics }, answers: BOTH };
    expect(cells(tableOf(change))).toContainEqual(['2026-08-01', 'entity', null, null]);
    expect(noted(change, 'missing')).toMatchObject([{ text: expect.stringContaining('4 cells'), incomplete: true }]);
  });
});

describe('a flaw of one response makes the joined table incomplete:', () => {
  test.each<[string, NoteCode, Answer]>([
    ['another range', 'missing', { meta: { range: { from: '2026-09-01', to: '2026-09-29' } } }],
    ['another zone', 'missing', { meta: { timezone: 'UTC' } }],
    ['fewer rows than its row count', 'missing', { meta: { row_count: 9 } }],
    ['figures older than the end of the period', 'stale', { meta: { as_of: '2026-09-30T21:00:00Z' } }],
    ['a cached response that is too old', 'stale', { meta: { cached: true, as_of: '2026-10-01T04:00:00Z' } }],
  ])('%s', (_name, code, change) => {
    expect(noted({ answers: [AUGUST, { ...SEPTEMBER, ...change }] }, code)).toMatchObject([{ incomplete: true }]);
  });

  test('a response for days that had already ended may be older than the end of the period', () => {
    const then = '2026-09-30T21:00:00Z';
    const answers = [{ ...AUGUST, meta: { as_of: then }, at: Date.parse(then) }, SEPTEMBER];
    expect(noted({ answers }, 'stale')).toEqual([]);
    expect(tableOf({ answers }).asOf).toBe('2026-09-30T21:00:00Z');
  });
});

describe('with the figures of the sandbox,', () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await openSandbox();
  });
  afterAll(() => sandbox.close());

  test('18 months and the 18 months before them show the same figures as one call per month', async () => {
    const context = fetchingFrom(sandbox.url, keyOf(sandbox, 'acme'));
    const catalog = await context.client.catalog('current', context.signal);
    const metrics = ['profiles.created', 'profiles.approval_rate', 'screening.profiles_hit'];
    const period: Period = { from: '2025-01-01', to: '2026-06-30', timezone: 'Europe/Zurich', label: 'x' };
    const definition = definitionOf([{ id: 'a', metrics, granularity: 'month' }], { compare: 'previous_period' });
    const plan = compilePlan({ definition, settings: settingsOf(), period, catalog });
    const dataset = doneOf(await fetchDataset({ ...context, plan, catalog, organization: 'x' }));
    expect(dataset.calls.map(({ sections }) => sections)).toEqual([['a'], ['a'], ['a'], ['a']]);
    // Nothing is summed: each month is in one call, and there are no totals.
    expect(dataset.sums).toBeUndefined();
    const [table] = dataset.tables;
    expect(table?.rows.length).toBe(18);
    expect(table?.comparisons).toEqual([{ kind: 'previous_period', range: { from: '2023-07-01', to: '2024-12-31' } }]);
    const first = catalog.metrics.find(({ id }) => id === metrics[0])?.data_available?.from ?? '';

    const alone = async (from: string) => {
      const [year = 0, month = 0] = from.split('-').map(Number);
      const to = new Date(Date.UTC(year, month, 0)).toISOString().slice(0, 10);
      const time = { from, to, timezone: 'Europe/Zurich' };
      const { body } = await context.client.report('current', { metrics, time }, context.signal);
      return metrics.map((id) => body.rows[0]?.[id]);
    };
    const folded = compilePlan({
      definition: definitionOf([{ id: 'b', metrics: ['profiles.created'], totals: true }]),
      settings: settingsOf(),
      period,
      catalog,
    });
    const added = doneOf(await fetchDataset({ ...context, plan: folded, catalog, organization: 'x' }));
    expect(added.sums).toEqual({ b: { cells: ['profiles.created'], totals: ['profiles.created'] } });
    for (const [index, { values, compare }] of rowsOf(table).entries()) {
      const bucket = new Date(Date.UTC(2025, index, 1)).toISOString().slice(0, 10);
      const before = new Date(Date.UTC(2023, 6 + index, 1)).toISOString().slice(0, 10);
      expect(values.bucket).toBe(bucket);
      expect(metrics.map((id) => values[id])).toEqual(await alone(bucket));
      // The service has no data for the first months, and sends 0.
      const expected = before < first ? metrics.map(() => null) : await alone(before);
      expect(metrics.map((id) => compare?.previous_period?.values[id])).toEqual(expected);
    }
    expect(first > '2023-07-01' && first < '2024-12-01').toBe(true);
    expect(table?.notes.map(({ message }) => message.id)).toContain('not_compared_before');
  });
});
