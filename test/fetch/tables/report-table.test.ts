import { describe, expect, test } from 'vitest';
import { type ReportResponse, reportResponseSchema } from '../../../src/contract/report.ts';
import { assertValueTypes } from '../../../src/fetch/answer-checks/value-types.ts';
import type { Table } from '../../../src/fetch/dataset.ts';
import { reportTable } from '../../../src/fetch/internal/tables/report-table.ts';
import type { NoteCode } from '../../../src/fetch/notes.ts';
import { compilePlan } from '../../../src/plan/compile.ts';
import { describeFilters } from '../../../src/render/table-notes.ts';
import { notesIn } from '../../support/notes.ts';
import { CATALOG, definitionOf, type SectionInput, settingsOf, WEEK } from '../../support/reports.ts';
import { rowsOf } from '../../support/rows.ts';

/** The Monday after the week, in the time zone of the report. */
const AFTER = Date.parse('2026-11-16T07:00:00Z');
const SECTION: SectionInput = {
  id: 'types',
  title: 'By type',
  metrics: ['profiles.created', 'profiles.approval_rate'],
  dimensions: ['profile.type'],
  granularity: 'week',
  totals: true,
};
const META = {
  as_of: '2026-11-16T06:59:00Z',
  cached: false,
  timezone: 'Europe/Zurich',
  range: { from: '2026-11-09', to: '2026-11-15' },
  granularity: 'week',
  row_count: 2,
  truncated: false,
  registry_version: 7,
};
const COLUMNS = [
  { name: 'bucket', label: 'Week', kind: 'time', type: 'date', unit: null },
  { name: 'profile.type', label: 'Type', kind: 'dimension', type: 'enum', unit: null },
  { name: 'profiles.created', label: 'New profiles', kind: 'metric', type: 'integer', unit: 'count' },
  { name: 'profiles.approval_rate', label: 'Approved', kind: 'metric', type: 'number', unit: 'ratio' },
];
const ROWS = [
  {
    bucket: '2026-11-09',
    'profile.type': 'entity',
    'profiles.created': 4,
    'profiles.approval_rate': 0.5,
    partial: false,
  },
  {
    bucket: '2026-11-09',
    'profile.type': 'individual',
    'profiles.created': 0,
    'profiles.approval_rate': 1,
    partial: false,
  },
];
const TOTALS = { 'profiles.created': 4, 'profiles.approval_rate': 0.5 };

interface Change {
  readonly section?: Partial<SectionInput>;
  readonly meta?: object;
  readonly columns?: object[];
  readonly rows?: object[];
  readonly totals?: object | null;
  readonly catalog?: typeof CATALOG;
  readonly at?: number;
  readonly compare?: boolean;
}

function tableOf(change: Change = {}): Table {
  const definition = definitionOf(
    [{ ...SECTION, ...change.section }],
    change.compare ? { compare: 'previous_period' } : {},
  );
  const catalog = change.catalog ?? CATALOG;
  const plan = compilePlan({ definition, settings: settingsOf(), period: WEEK, catalog });
  const [call] = plan.calls;
  const [section] = definition.sections;
  if (call?.kind !== 'report' || section === undefined) throw new Error('expected a report');
  const rows = change.rows ?? ROWS;
  const response: ReportResponse = reportResponseSchema.parse({
    meta: { ...META, row_count: rows.length, ...change.meta },
    columns: change.columns ?? COLUMNS,
    rows,
    ...(change.totals === null ? {} : { totals: change.totals ?? TOTALS }),
  });
  assertValueTypes(call.request, response, 'POST report');
  const comparisons = plan.sections[0]?.comparisons ?? [];
  const at = change.at ?? AFTER;
  return reportTable({ section, request: call.request, response, catalog, period: WEEK, at, comparisons });
}
const notes = (change?: Change) => notesIn(tableOf(change));
const noted = (change: Change, code: NoteCode) => notes(change).filter((note) => note.code === code);

test('a table from a correct response has no notes', () => {
  expect(tableOf().notes).toEqual([]);
});

test('columns have the order of the section and the labels of the catalog, not those of the response', () => {
  const { columns } = tableOf();
  expect(columns.map(({ name, label, kind, type, unit }) => [name, label, kind, type, unit])).toEqual([
    ['bucket', 'Week', 'time', 'date', null],
    ['profile.type', 'Profile type', 'dimension', 'enum', null],
    ['profiles.created', 'profiles.created', 'metric', 'integer', 'count'],
    ['profiles.approval_rate', 'profiles.approval_rate', 'metric', 'number', 'ratio'],
  ]);
  expect(columns[1]?.values?.map(({ label }) => label)).toEqual(['Individual (KYC)', 'Entity (KYB)']);
  expect(columns[3]).toMatchObject({ aggregation: 'share', counts: 'created', availableFrom: '2024-01-01' });
});

test('values are unchanged: 0 stays 0, and an undefined ratio stays null', () => {
  const rows = [{ ...ROWS[0], 'profiles.created': 0, 'profiles.approval_rate': null }];
  expect(tableOf({ rows }).rows).toEqual([
    {
      values: { bucket: '2026-11-09', 'profile.type': 'entity', 'profiles.created': 0, 'profiles.approval_rate': null },
      partial: false,
    },
  ]);
});

test('each row and the totals have the figures of the previous period', () => {
  const compare = { 'profiles.created': 3, 'profiles.approval_rate': null };
  const table = tableOf({
    compare: true,
    rows: [{ ...ROWS[0], compare }],
    totals: { ...TOTALS, compare },
    meta: { compare_range: { from: '2026-11-02', to: '2026-11-08' } },
  });
  expect(rowsOf(table)[0]?.compare).toEqual({ previous_period: { values: compare } });
  expect(table.totals).toEqual({ values: TOTALS, compare: { previous_period: { values: compare } } });
  expect(table.comparisons).toEqual([{ kind: 'previous_period', range: { from: '2026-11-02', to: '2026-11-08' } }]);
});

test('a current count has an instant instead of a range', () => {
  const table = tableOf({
    section: { metrics: ['alerts.open'], dimensions: [], granularity: undefined, totals: false },
    columns: [{ name: 'alerts.open', label: 'Open', kind: 'metric', type: 'integer', unit: 'count' }],
    rows: [{ 'alerts.open': 9, partial: false }],
    meta: { range: { from: '2026-10-18', to: '2026-11-16' }, granularity: null },
  });
  expect(table).toMatchObject({ current: true, range: null, asOf: META.as_of, notes: [] });
});

describe('the text of a filter', () => {
  const words = (filter: NonNullable<SectionInput['filters']>[number]) =>
    describeFilters(tableOf({ section: { filters: [filter] } })).map((text) => text.replace(/[\u2066-\u2069]/g, ''));
  test.each([
    ['eq', ['high'], 'Risk is HIGH'],
    ['in', ['high', 'severe'], 'Risk is HIGH or SEVERE'],
    ['in', ['low', 'high', 'severe'], 'Risk is LOW, HIGH or SEVERE'],
    ['not_in', ['low'], 'Risk is not LOW'],
    ['not_in', ['low', 'medium'], 'Risk is neither LOW nor MEDIUM'],
  ] as const)('is readable for %s %s', (op, values, text) => {
    expect(words({ dimension: 'profile.risk', op, values: [...values] })).toEqual([text]);
  });
});

describe('missing data', () => {
  test('makes the table incomplete if the service truncated it', () => {
    expect(notes({ meta: { truncated: true } })).toEqual([
      { code: 'truncated', text: 'The service truncated the table after 2 rows: there are more.', incomplete: true },
    ]);
  });

  test('is only noted if the limit of the report caused it', () => {
    expect(notes({ section: { limit: 2 }, meta: { truncated: true } })).toEqual([
      { code: 'truncated', text: 'Only the first 2 rows, as the report defines; there are more.', incomplete: false },
    ]);
  });

  test('makes the table incomplete if the service truncated it before the limit of the report', () => {
    expect(notes({ section: { limit: 3 }, meta: { truncated: true } })).toEqual([
      { code: 'truncated', text: 'The service truncated the table after 2 rows: there are more.', incomplete: true },
    ]);
  });

  test('makes an empty column and a note if a metric is missing', () => {
    const rows = ROWS.map(({ 'profiles.approval_rate': _rate, ...row }) => row);
    const table = tableOf({ columns: COLUMNS.slice(0, 3), rows });
    expect(table.columns.map(({ name }) => name)).toContain('profiles.approval_rate');
    expect(rowsOf(table).map(({ values }) => values['profiles.approval_rate'])).toEqual([null, null]);
    expect(table.notes).toMatchObject([{ code: 'missing', incomplete: true }]);
  });

  test('makes the table incomplete if a row lacks a figure', () => {
    const { 'profiles.created': _created, ...lacking } = ROWS[1]!;
    expect(noted({ rows: [ROWS[0]!, lacking] }, 'missing')).toEqual([
      { code: 'missing', text: 'The service left out 1 cell: its value is not known.', incomplete: true },
    ]);
  });

  test('makes the table incomplete if the requested totals are missing', () => {
    expect(noted({ totals: null }, 'missing')).toMatchObject([{ incomplete: true }]);
    expect(tableOf({ totals: null }).totals).toBe(undefined);
  });

  test('makes the table incomplete if one total is missing', () => {
    expect(noted({ totals: { 'profiles.created': 4 } }, 'missing')).toEqual([
      {
        code: 'missing',
        text: 'The service did not return the total of profiles.approval_rate: not known here.',
        incomplete: true,
      },
    ]);
  });

  test('makes the table incomplete if the requested previous period is missing in a row', () => {
    const compare = { 'profiles.created': 3, 'profiles.approval_rate': null };
    const requested = {
      compare: true,
      meta: { compare_range: { from: '2026-11-02', to: '2026-11-08' } },
      totals: { ...TOTALS, compare },
    };
    expect(noted({ ...requested, rows: ROWS.map((row) => ({ ...row, compare })) }, 'missing')).toEqual([]);
    expect(noted({ ...requested, rows: [{ ...ROWS[0], compare }, ROWS[1]!] }, 'missing')).toMatchObject([
      { text: 'The service did not return the previous period: not known here.', incomplete: true },
    ]);
    const rate = { 'profiles.approval_rate': null };
    expect(noted({ ...requested, rows: ROWS.map((row) => ({ ...row, compare: rate })) }, 'missing')).toMatchObject([
      { text: 'The service did not return the previous period (profiles.created): not known here.', incomplete: true },
    ]);
  });

  test('makes the table incomplete if there are fewer rows than the service counts', () => {
    expect(noted({ meta: { row_count: 3 } }, 'missing')).toMatchObject([{ incomplete: true }]);
  });

  test('makes the table incomplete if range or time zone differ from the request', () => {
    expect(noted({ meta: { range: { from: '2026-11-09', to: '2026-11-14' } } }, 'missing')).toMatchObject([
      { incomplete: true },
    ]);
    expect(noted({ meta: { timezone: 'UTC' } }, 'missing')).toMatchObject([{ incomplete: true }]);
  });
});

describe('the age of figures', () => {
  test('makes them stale if they were computed before the end of the period and fetched long after', () => {
    // The week ends on Sunday at midnight in Zurich, 23:00 UTC.
    expect(noted({ meta: { as_of: '2026-11-15T22:59:59Z', cached: true } }, 'stale')).toMatchObject([
      { incomplete: true },
    ]);
    expect(
      noted({ meta: { as_of: '2026-11-15T23:00:00Z', cached: true }, at: Date.parse('2026-11-15T23:30:00Z') }, 'stale'),
    ).toEqual([]);
  });

  test('makes them partial instead of stale while the period is running', () => {
    const rows = ROWS.map((row) => ({ ...row, partial: true }));
    const change = { rows, meta: { as_of: '2026-11-12T08:00:00Z' }, at: Date.parse('2026-11-12T08:00:01Z') };
    expect(notes(change)).toEqual([
      { code: 'partial', text: 'The week from 2026-11-09 is still running: its figures will grow.', incomplete: false },
    ]);
    expect(rowsOf(tableOf(change)).map(({ partial }) => partial)).toEqual([true, true]);
  });

  test('makes them stale if they come from the cache and are more than an hour old', () => {
    expect(noted({ meta: { cached: true, as_of: '2026-11-16T05:58:00Z' } }, 'stale')).toMatchObject([
      { incomplete: true },
    ]);
    expect(noted({ meta: { cached: true, as_of: '2026-11-16T06:01:00Z' } }, 'stale')).toEqual([]);
  });
});

describe('whether a range is running', () => {
  const noon = '2026-11-12T11:00:00Z';
  const early = { meta: { as_of: noon }, at: Date.parse(noon) };
  const { bucket: _, 'profile.type': __, ...folded } = ROWS[0]!;

  test('depends on the dates, whatever the rows say', () => {
    expect(tableOf().running).toBe(false);
    expect(tableOf({ rows: [{ ...ROWS[0], partial: true }] }).running).toBe(false);
    expect(tableOf({ ...early, rows: [] }).running).toBe(true);
    expect(tableOf(early).running).toBe(true);
    expect(rowsOf(tableOf(early)).map(({ partial }) => partial)).toEqual([true, true]);
  });

  test('changes at the end of its last day in its time zone', () => {
    // Sunday ends at 23:00 UTC in Zurich.
    const at = (as_of: string) => tableOf({ meta: { as_of }, at: Date.parse(as_of) }).running;
    expect(at('2026-11-15T22:59:59Z')).toBe(true);
    expect(at('2026-11-15T23:00:00Z')).toBe(false);
  });

  test('is decided by the time of the response if the service does not send `as_of`', () => {
    expect(tableOf({ meta: { as_of: null }, at: Date.parse(noon) }).running).toBe(true);
    expect(tableOf({ meta: { as_of: null } }).running).toBe(false);
  });

  test('does not change because the clock of the service is ahead', () => {
    expect(tableOf({ meta: { as_of: '2026-11-20T00:00:00Z' }, at: Date.parse(noon) }).running).toBe(true);
  });

  test('also marks rows without a bucket', () => {
    const rows = (change: Change) =>
      rowsOf(tableOf({ section: { granularity: undefined, dimensions: [] }, rows: [folded], ...change }));
    expect(rows(early).map(({ partial }) => partial)).toEqual([true]);
    expect(rows({}).map(({ partial }) => partial)).toEqual([false]);
  });

  test('does not affect a current count', () => {
    const table = tableOf({
      section: { metrics: ['alerts.open'], dimensions: [], granularity: undefined, totals: false },
      columns: [{ name: 'alerts.open', label: 'Open', kind: 'metric', type: 'integer', unit: 'count' }],
      rows: [{ 'alerts.open': 9, partial: false }],
      ...early,
    });
    expect(table).toMatchObject({ running: false, rows: [{ partial: false }] });
  });
});

test.each<[string, NonNullable<SectionInput['order']>, true | undefined]>([
  ['none', [], undefined],
  ['by time', [{ by: 'bucket', dir: 'asc' }], undefined],
  [
    'by time, then by a metric',
    [
      { by: 'bucket', dir: 'asc' },
      { by: 'profiles.created', dir: 'desc' },
    ],
    undefined,
  ],
  ['by a metric', [{ by: 'profiles.created', dir: 'desc' }], true],
  ['by a metric, ascending', [{ by: 'profiles.created', dir: 'asc' }], true],
  ['by time, descending', [{ by: 'bucket', dir: 'desc' }], true],
  [
    'by a group, then by time',
    [
      { by: 'profile.type', dir: 'asc' },
      { by: 'bucket', dir: 'asc' },
    ],
    true,
  ],
])('a table with the order "%s" is ranked: %j', (_name, order, ranked) => {
  expect(tableOf({ section: { order } }).ranked).toBe(ranked);
});

test('a note explains undefined figures', () => {
  const rows = [{ ...ROWS[0], 'profiles.approval_rate': null }];
  expect(notes({ rows, totals: { ...TOTALS, 'profiles.approval_rate': null } })).toEqual([
    { code: 'undefined', text: expect.stringMatching(/not 0: profiles\.approval_rate\.$/), incomplete: false },
  ]);
});

test('a deprecated metric, a late start of its data and an unknown unit each get a note', () => {
  const catalog = {
    ...CATALOG,
    metrics: CATALOG.metrics.map((metric) =>
      metric.id === 'profiles.opened' ? { ...metric, unit: 'parsecs', data_available: { from: '2026-11-11' } } : metric,
    ),
  };
  const table = tableOf({
    catalog,
    section: { metrics: ['profiles.opened'], dimensions: [], totals: false },
    columns: [
      COLUMNS[0]!,
      { name: 'profiles.opened', label: 'Opened', kind: 'metric', type: 'integer', unit: 'parsecs' },
    ],
    rows: [{ bucket: '2026-11-09', 'profiles.opened': 1, partial: false }],
  });
  expect(table.notes.map(({ code, incomplete }) => [code, incomplete])).toEqual([
    ['deprecated', false],
    ['data_available_from', false],
    ['unknown_unit', false],
  ]);
  expect(notesIn(table)[0]?.text).toContain('profiles.created takes its place');
  expect(table.columns[1]).toMatchObject({ unit: 'parsecs', replacedBy: 'profiles.created' });
});

test('a column whose unit differs from the catalog is shown without a unit', () => {
  const columns = COLUMNS.map((column) =>
    column.name === 'profiles.approval_rate' ? { ...column, unit: 'seconds' } : column,
  );
  const table = tableOf({ columns });
  expect(table.columns.map(({ unit }) => unit)).toEqual([null, null, 'count', null]);
  expect(notesIn(table)).toEqual([
    {
      code: 'unit_mismatch',
      text: 'The response has other units than the catalog of the service: profiles.approval_rate in "seconds", not "ratio". Shown as plain numbers.',
      incomplete: true,
    },
  ]);
});

test('a metric without any data in the period makes the table incomplete', () => {
  const catalog = {
    ...CATALOG,
    metrics: CATALOG.metrics.map((metric) => ({ ...metric, data_available: { from: '2026-11-16' } })),
  };
  expect(noted({ catalog }, 'data_available_from').map(({ incomplete }) => incomplete)).toEqual([true, true]);
});

describe('figures of days before the first data', () => {
  const catalogFrom = (first: string) => ({
    ...CATALOG,
    metrics: CATALOG.metrics.map((metric) =>
      metric.id === 'profiles.created' ? { ...metric, data_available: { from: first } } : metric,
    ),
  });
  const days = ['2026-11-09', '2026-11-10', '2026-11-11'].map((bucket, index) => ({
    ...ROWS[0],
    bucket,
    'profiles.created': index,
    'profiles.approval_rate': 0.5,
  }));
  const zero = { ...TOTALS, 'profiles.created': 0 };
  const shown = (first: string, change: Change = {}) => {
    const table = tableOf({ catalog: catalogFrom(first), rows: days, ...change });
    return {
      rows: rowsOf(table).map(({ values }) => values['profiles.created']),
      others: rowsOf(table).map(({ values }) => values['profiles.approval_rate']),
      total: table.totals?.values['profiles.created'],
      said: table.notes.flatMap(({ code, message }) =>
        code === 'data_available_from' || code === 'undefined' ? message.id : [],
      ),
    };
  };
  const byDay: Change = { section: { granularity: 'day' } };

  test('are undefined in each bucket without data; a total that also includes days with data is shown', () => {
    expect(shown('2026-11-11', byDay)).toEqual({
      rows: [null, null, 2],
      others: [0.5, 0.5, 0.5],
      total: TOTALS['profiles.created'],
      said: ['data_from'],
    });
    expect(shown('2026-11-09', byDay)).toMatchObject({ rows: [0, 1, 2], said: [] });
  });

  test('are undefined in the total as well if no day of the range has data', () => {
    expect(shown('2026-11-16', { ...byDay, totals: zero })).toEqual({
      rows: [null, null, null],
      others: [0.5, 0.5, 0.5],
      total: null,
      said: ['no_data_before'],
    });
  });

  test('are shown in a week with data on any day inside the range', () => {
    const weeks = (first: string) =>
      shown(first, {
        section: { granularity: 'week' },
        meta: { range: { from: '2026-11-09', to: '2026-11-12' } },
        rows: [{ ...ROWS[0], bucket: '2026-11-09', 'profiles.created': 0, 'profiles.approval_rate': 0.5 }],
      }).rows;
    expect(weeks('2026-11-12')).toEqual([0]);
    expect(weeks('2026-11-13')).toEqual([null]);
  });

  test('are undefined in a row without a bucket in the same cases as in the total', () => {
    const { bucket: _, ...row } = ROWS[0]!;
    const change: Change = {
      section: { granularity: undefined },
      rows: [{ ...row, 'profiles.created': 0 }],
      totals: zero,
    };
    expect(shown('2026-11-16', change)).toMatchObject({ rows: [null], total: null });
    expect(shown('2026-11-15', change)).toMatchObject({ rows: [0], total: 0 });
  });
});

describe('a comparison with days before the first data', () => {
  const from = (first: string) => ({
    ...CATALOG,
    metrics: CATALOG.metrics.map((metric) =>
      metric.id === 'profiles.created' ? { ...metric, data_available: { from: first } } : metric,
    ),
  });
  const compare = { 'profiles.created': 0, 'profiles.approval_rate': 0.25 };
  const rows = ['2026-11-09', '2026-11-10', '2026-11-11'].map((bucket) => ({ ...ROWS[0], bucket, compare }));
  const compared = (catalog: typeof CATALOG, change: Change = {}): Change => ({
    catalog,
    compare: true,
    meta: { compare_range: { from: '2026-11-02', to: '2026-11-08' }, ...change.meta },
    rows: change.rows ?? rows,
    totals: { ...TOTALS, compare },
    section: { granularity: 'day', ...change.section },
  });
  const figures = (change: Change) => {
    const table = tableOf(change);
    return {
      rows: rowsOf(table).map((row) => row.compare?.previous_period?.values['profiles.created']),
      totals: table.totals?.compare?.previous_period?.values['profiles.created'],
      others: rowsOf(table).map((row) => row.compare?.previous_period?.values['profiles.approval_rate']),
      said: table.notes.filter(({ code }) => code === 'data_available_from').map(({ message }) => message.id),
    };
  };

  test('is undefined in the rows compared with such a day and in the totals, with a note', () => {
    expect(figures(compared(from('2026-11-04')))).toEqual({
      rows: [null, null, 0],
      totals: null,
      others: [0.25, 0.25, 0.25],
      said: ['not_compared_before'],
    });
  });

  test('is shown if all compared days have data', () => {
    expect(figures(compared(from('2026-11-02')))).toEqual({
      rows: [0, 0, 0],
      totals: 0,
      others: [0.25, 0.25, 0.25],
      said: [],
    });
  });

  test('is undefined in a week whose compared days begin before the first data', () => {
    const weeks = (first: string) =>
      figures(
        compared(from(first), {
          section: { granularity: 'week' },
          // Wednesday to Sunday, and the five days before them.
          meta: {
            range: { from: '2026-11-11', to: '2026-11-15' },
            compare_range: { from: '2026-11-06', to: '2026-11-10' },
          },
          rows: [{ ...ROWS[0], bucket: '2026-11-09', compare }],
        }),
      ).rows;
    expect(weeks('2026-11-07')).toEqual([null]);
    expect(weeks('2026-11-06')).toEqual([0]);
  });

  test('is undefined in a row without a bucket in the same cases as in the totals', () => {
    const folded = { granularity: undefined, dimensions: [] };
    const { bucket: _, 'profile.type': __, ...row } = ROWS[0]!;
    const change = (first: string) => compared(from(first), { section: folded, rows: [{ ...row, compare }] });
    expect(figures(change('2026-11-03'))).toMatchObject({ rows: [null], totals: null, said: ['not_compared_before'] });
    expect(figures(change('2026-11-02'))).toMatchObject({ rows: [0], totals: 0, said: [] });
  });

  test('is undefined even if the service does not say which days it compared', () => {
    expect(figures(compared(from('2026-11-03'), { meta: { compare_range: null } }))).toMatchObject({
      rows: [null, 0, 0],
      totals: null,
      said: ['not_compared_before'],
    });
  });

  test('has a separate note if data starts within the period, and none if the period has no data at all', () => {
    expect(figures(compared(from('2026-11-10'))).said).toEqual(['data_from', 'not_compared_before']);
    expect(figures(compared(from('2026-11-16'))).said).toEqual(['no_data_before']);
  });
});

test.each<[string, Change]>([
  ['a figure that is a text', { rows: [{ ...ROWS[0], 'profiles.created': '4' }] }],
  ['an infinite figure', { rows: [{ ...ROWS[0], 'profiles.created': Number.POSITIVE_INFINITY }] }],
  ['a group that is a number', { rows: [{ ...ROWS[0], 'profile.type': 4 }] }],
  ['a figure of the previous period that is a text', { rows: [{ ...ROWS[0], compare: { 'profiles.created': '4' } }] }],
  ['a total that is a list', { totals: { ...TOTALS, 'profiles.created': [4] } }],
  ['a total of the previous period that is a boolean', { totals: { compare: { 'profiles.approval_rate': true } } }],
])('%s makes the response unreadable', (_name, change) => {
  expect(() => tableOf(change)).toThrow(expect.objectContaining({ code: 'api.unreadable' }));
});
