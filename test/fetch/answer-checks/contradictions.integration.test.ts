import { describe, expect, test } from 'vitest';
import type { ReportRequest } from '../../../src/contract/report.ts';
import type { Period } from '../../../src/definitions/periods/period.ts';
import type { SourcedTarget } from '../../../src/definitions/schema/targets.ts';
import type { Dataset } from '../../../src/fetch/dataset.ts';
import type { NoteCode } from '../../../src/fetch/notes.ts';
import type { CallLimits } from '../../../src/plan/requests/call.ts';
import { judgeDataset } from '../../../src/render/figures/judge.ts';
import { NOW } from '../../support/fetch-harness.ts';
import { notesIn } from '../../support/notes.ts';
import type { SectionInput } from '../../support/reports.ts';
import { rowsOf } from '../../support/rows.ts';
import { falsifiedSandbox, type ReportBody, type Tampering, tableIn } from '../../support/tampering-service.ts';

const service = falsifiedSandbox();

const OCTOBER: Period = { from: '2026-10-01', to: '2026-10-31', timezone: 'Europe/Zurich', label: '2026-10' };
const CREATED = 'profiles.created';
const RATE = 'profiles.approval_rate';
const P50 = 'profiles.time_to_decision_p50';
const P90 = 'profiles.time_to_decision_p90';
const METRICS = [CREATED, RATE, P50, P90];

/** Targets that every possible figure of these metrics meets. */
const TARGETS: readonly SourcedTarget[] = METRICS.map((metric) => ({
  metric,
  better: metric === RATE || metric === CREATED ? 'higher' : 'lower',
  target: metric === RATE || metric === CREATED ? 0 : 1e9,
  source: 'organization',
}));

const TABLES = {
  weeks: { id: 'a', metrics: METRICS, granularity: 'week', totals: true },
  groups: { id: 'a', metrics: METRICS, dimensions: ['profile.risk'], totals: true },
  single: { id: 'a', metrics: METRICS, totals: true },
  scorecard: { id: 'a', layout: 'scorecard', metrics: METRICS, trend: 6, totals: true },
} as const satisfies Record<string, SectionInput>;
type Shape = keyof typeof TABLES;

/** Whether the table comes from one call, or how the responses of several are joined. */
const WAYS = {
  'one call': {},
  'joined by metrics': { max_metrics: 2 },
  'joined by range': { max_range_days: 14 },
  'joined by groups': { max_rows: 3 },
} as const satisfies Record<string, Partial<CallLimits>>;
type Way = keyof typeof WAYS;

interface Asked extends NonNullable<Parameters<typeof service.fetch>[2]> {
  readonly period?: Period;
  readonly others?: readonly SectionInput[];
}

const fetched = (section: SectionInput, { period = OCTOBER, others = [], ...input }: Asked = {}) =>
  service.fetch([section, ...others], period, input);
const judgedAs = (dataset: Dataset, metric: string) =>
  judgeDataset(dataset, TARGETS, { sections: [{ id: 'a', filters: [] }] }).judgements?.filter(
    (each) => each.section === 'a' && each.metric === metric,
  );
const incomplete = (dataset: Dataset, id = 'a') => notesIn(tableIn(dataset, id)).filter((note) => note.incomplete);

const isOwn = ({ time }: ReportRequest): boolean => time?.to === OCTOBER.to && (time.from ?? '') >= OCTOBER.from;
const isToDate = ({ time }: ReportRequest): boolean => time?.from === '2026-01-01' && time.granularity === undefined;
const isTrend = ({ time }: ReportRequest): boolean => time?.granularity === 'month';

const column =
  (name: string, change: Record<string, unknown>): Tampering['report'] =>
  ({ columns }) => {
    for (const each of columns) if (each.name === name) Object.assign(each, change);
  };
/** Falsifies one metric, in the responses to these requests. */
const told =
  (metric: string, lie: (body: ReportBody) => void, of: (request: ReportRequest) => boolean = () => true) =>
  (body: ReportBody, request: ReportRequest): void => {
    if (request.metrics.includes(metric) && of(request)) lie(body);
  };
const inTotals = (metric: string, value: unknown): Tampering['report'] =>
  told(metric, ({ totals }) => void Object.assign(totals ?? {}, { [metric]: value }));
const inRows = (metric: string, value: unknown): Tampering['report'] =>
  told(metric, ({ rows }) => {
    for (const row of rows) row[metric] = value;
  });
/** In rows and totals: without buckets and groups the only row is the total. */
const everywhere = (metric: string, value: unknown): Tampering['report'] =>
  told(metric, ({ rows, totals }) => {
    for (const row of rows) row[metric] = value;
    if (totals !== undefined) totals[metric] = value;
  });

interface Lie {
  readonly name: string;
  readonly metric: string;
  readonly code: NoteCode;
  readonly report: Tampering['report'];
  readonly shapes?: readonly Shape[];
  readonly ways?: readonly Way[];
  readonly asked?: Asked;
}

const LIES: readonly Lie[] = [
  {
    name: 'a rate above 1',
    metric: RATE,
    code: 'invalid_value',
    report: everywhere(RATE, 1.7),
    ways: ['one call', 'joined by metrics'],
  },
  {
    name: 'a negative count',
    metric: CREATED,
    code: 'invalid_value',
    report: everywhere(CREATED, -5),
    ways: ['one call', 'joined by metrics', 'joined by range'],
  },
  { name: 'a rate in another unit', metric: RATE, code: 'unit_mismatch', report: column(RATE, { unit: 'seconds' }) },
  {
    name: 'the label of another metric',
    metric: CREATED,
    code: 'unit_mismatch',
    report: column(CREATED, { label: 'Screening hits' }),
  },
  { name: 'the label of a dimension', metric: RATE, code: 'unit_mismatch', report: column(RATE, { label: 'Risk' }) },
  { name: 'an empty label', metric: CREATED, code: 'unit_mismatch', report: column(CREATED, { label: ' ' }) },
  {
    name: 'a label with a control character',
    metric: CREATED,
    code: 'unit_mismatch',
    report: column(CREATED, { label: 'Profiles\u0007' }),
  },
  {
    name: 'a metric declared as a dimension',
    metric: P50,
    code: 'unit_mismatch',
    report: column(P50, { kind: 'dimension' }),
  },
  {
    name: 'a metric declared as a date',
    metric: P50,
    code: 'unit_mismatch',
    report: column(P50, { type: 'date' }),
  },
  {
    name: 'a metric declared as an enum',
    metric: CREATED,
    code: 'unit_mismatch',
    report: column(CREATED, { type: 'enum' }),
  },
  {
    name: 'swapped labels',
    metric: P90,
    code: 'unit_mismatch',
    report: ({ columns }) => {
      const [one, other] = [P50, P90].map((id) => columns.find(({ name }) => name === id));
      if (one !== undefined && other !== undefined) [one.label, other.label] = [other.label, one.label];
    },
    ways: ['one call'],
  },

  {
    name: 'a total rate above that of every row',
    metric: RATE,
    code: 'total_mismatch',
    report: inTotals(RATE, 0.999),
    shapes: ['weeks', 'groups', 'single', 'scorecard'],
    ways: ['one call', 'joined by metrics', 'joined by groups'],
  },
  {
    name: 'a total rate below that of every row',
    metric: RATE,
    code: 'total_mismatch',
    report: inTotals(RATE, 0.001),
    ways: ['one call', 'joined by metrics'],
  },
  {
    name: 'a total median below that of every row',
    metric: P50,
    code: 'total_mismatch',
    report: inTotals(P50, 1),
    ways: ['one call', 'joined by metrics'],
  },
  {
    name: 'an undefined total of defined rates',
    metric: RATE,
    code: 'total_mismatch',
    report: inTotals(RATE, null),
    ways: ['one call', 'joined by metrics'],
  },
  {
    name: 'a total of undefined rates',
    metric: RATE,
    code: 'total_mismatch',
    report: inRows(RATE, null),
    ways: ['one call', 'joined by metrics'],
  },
  {
    name: 'a total of the 90th percentile that differs from the only row',
    metric: P90,
    code: 'total_mismatch',
    report: inTotals(P90, 1e8),
    shapes: ['single', 'scorecard'],
    ways: ['one call', 'joined by metrics'],
  },
  {
    name: 'a median above the 90th percentile',
    metric: P50,
    code: 'invalid_value',
    report: everywhere(P50, 9e8),
    ways: ['one call', 'joined by metrics'],
  },

  {
    name: 'a year to date below the period',
    metric: CREATED,
    code: 'total_mismatch',
    report: told(CREATED, (body) => everywhere(CREATED, 1)?.(body, { metrics: [CREATED] }), isToDate),
    shapes: ['single', 'scorecard', 'groups'],
    ways: ['one call', 'joined by metrics'],
    asked: { to_date: 'year' },
  },
  {
    name: 'a period above the year to date',
    metric: CREATED,
    code: 'total_mismatch',
    report: told(CREATED, (body) => everywhere(CREATED, 1e6)?.(body, { metrics: [CREATED] }), isOwn),
    shapes: ['single', 'scorecard'],
    ways: ['one call', 'joined by metrics'],
    asked: { to_date: 'year' },
  },
  {
    name: 'a point of the trend that differs from the period',
    metric: RATE,
    code: 'total_mismatch',
    report: told(RATE, ({ rows }) => void Object.assign(rows.at(-1) ?? {}, { [RATE]: 0.123 }), isTrend),
    shapes: ['scorecard'],
    ways: ['one call', 'joined by metrics'],
  },
  {
    name: 'a period that differs from the point of the trend',
    metric: CREATED,
    code: 'total_mismatch',
    report: told(
      CREATED,
      (body) => everywhere(CREATED, 7)?.(body, { metrics: [CREATED] }),
      ({ time }) => time?.granularity === undefined && time?.from === OCTOBER.from,
    ),
    shapes: ['scorecard'],
    ways: ['one call', 'joined by metrics'],
  },
];

describe('an impossible or contradictory figure is marked as wrong and gets no status', () => {
  const cases = LIES.flatMap((lie) =>
    (lie.shapes ?? (Object.keys(TABLES) as Shape[])).flatMap((shape) =>
      (lie.ways ?? (['one call', 'joined by metrics'] as const)).flatMap((way) =>
        // Only a table with groups can be split by groups, and rates can only be split by range between weeks.
        (way === 'joined by groups' && shape !== 'groups') || (way === 'joined by range' && shape !== 'weeks')
          ? []
          : [{ ...lie, shape, way }],
      ),
    ),
  );
  test.each(cases)('$name, $shape, $way', async ({ metric, code, report, shape, way, asked = {} }) => {
    const truth = await fetched(TABLES[shape], { ...asked, limits: WAYS[way] });
    expect(incomplete(truth)).toEqual([]);
    expect(judgedAs(truth, metric)?.map(({ status }) => status)).toEqual(['on_target']);
    service.tell({ report });
    const dataset = await fetched(TABLES[shape], { ...asked, limits: WAYS[way] });
    expect(incomplete(dataset).map((note) => note.code)).toContain(code);
    expect(judgedAs(dataset, metric)).toMatchObject([{ status: 'undefined', wrong: true }]);
  });
});

test('a label that differs from the catalog is no finding: the table shows the catalog’s label, and the run records the other', async () => {
  service.tell({ report: column(CREATED, { label: 'Profiles made' }) });
  const dataset = await fetched(TABLES.weeks);
  expect(incomplete(dataset)).toEqual([]);
  expect(tableIn(dataset).columns.find(({ name }) => name === CREATED)?.label).toBe('Profiles created');
  expect(dataset.calls.map(({ labels }) => labels)).toEqual([{ [CREATED]: 'Profiles made' }]);
  expect(judgedAs(dataset, CREATED)).toMatchObject([{ status: 'on_target' }]);
});

test('a bucket that has the label of a metric is marked and not shown under it', async () => {
  service.tell({ report: column('bucket', { label: 'Approval rate' }) });
  const dataset = await fetched(TABLES.weeks);
  expect(incomplete(dataset).map(({ code }) => code)).toEqual(['unit_mismatch']);
  expect(tableIn(dataset).columns.filter(({ label }) => label === 'Approval rate')).toHaveLength(1);
});

test('the label of another metric is never shown, whether or not the report sets its own', async () => {
  service.tell({ report: column(CREATED, { label: 'Screening hits' }) });
  const labelled = await fetched(TABLES.single, { labels: { [CREATED]: 'Screening hits' } });
  expect(incomplete(labelled).map(({ code }) => code)).toEqual(['unit_mismatch']);
  expect(tableIn(labelled).columns.map(({ label }) => label)).toContain('Screening hits');
  const plain = await fetched(TABLES.single);
  expect(tableIn(plain).columns[0]?.label).toBe('Profiles created');
});

describe('responses that were computed at different times', () => {
  const earlier =
    (of: (request: ReportRequest) => boolean, minutes: number, lie: Tampering['report']) =>
    (body: ReportBody, request: ReportRequest): void => {
      if (!of(request)) return;
      lie?.(body, request);
      Object.assign(body.meta, { as_of: new Date(NOW - minutes * 60_000).toISOString(), cached: true });
    };
  const point = (value: number) =>
    told(CREATED, ({ rows }) => void Object.assign(rows.at(-1) ?? {}, { [CREATED]: value }));

  test.each<[string, Asked, Tampering['report']]>([
    ['a point of the trend', {}, earlier(isTrend, 52, point(7))],
    ['a year to date', { to_date: 'year' }, earlier(isToDate, 52, everywhere(CREATED, 1))],
  ])('%s that differs gets a note with both times, and the figure keeps its status', async (_, requested, report) => {
    service.tell({ report });
    const dataset = await fetched(TABLES.scorecard, requested);
    expect(incomplete(dataset)).toEqual([]);
    const [note] = tableIn(dataset).notes.filter(({ code }) => code === 'total_mismatch');
    expect(note?.message).toMatchObject({
      of: { at: expect.arrayContaining([new Date(NOW - 52 * 60_000).toISOString(), new Date(NOW).toISOString()]) },
    });
    expect(judgedAs(dataset, CREATED)).toMatchObject([{ status: 'on_target' }]);
  });

  test('get no note if they agree', async () => {
    service.tell({ report: earlier(isTrend, 52, undefined) });
    expect(tableIn(await fetched(TABLES.scorecard)).notes.filter(({ code }) => code === 'total_mismatch')).toEqual([]);
  });
});

describe('figures equal to those of the previous year', () => {
  const months: SectionInput = { id: 'a', metrics: [CREATED], granularity: 'month', totals: true };
  const QUARTERS: Period = { ...OCTOBER, from: '2026-04-01', to: '2026-09-30', label: 'x' };
  const isBefore = ({ time }: ReportRequest): boolean => time?.from === '2025-04-01';
  const THIS_YEAR = [400, 410, 420, 430, 440, 450];
  const withRows = (values: readonly number[]) =>
    told(CREATED, ({ rows, totals }) => {
      for (const [index, row] of rows.entries()) row[CREATED] = values[index];
      if (totals !== undefined) totals[CREATED] = values.reduce((sum, value) => sum + value, 0);
    });

  test.each([
    ['in every row above 100', THIS_YEAR, true],
    ['in all rows but one', [...THIS_YEAR.slice(0, 5), 451], false],
    ['in two rows above 100', [400, 410, 1, 2, 3, 4], false],
  ])('%s are marked as wrong: %s', async (_, before, marked) => {
    const large = marked || before.length !== 6 || before[2] !== 1 ? THIS_YEAR : before;
    service.tell({
      report: (body, request) => withRows(isBefore(request) ? before : large)(body, request),
    });
    const dataset = await fetched(months, { compare: 'previous_year', period: QUARTERS });
    expect(incomplete(dataset).map(({ code }) => code)).toEqual(marked ? ['total_mismatch'] : []);
    expect(judgedAs(dataset, CREATED)?.map(({ status }) => status)).toEqual([marked ? 'undefined' : 'on_target']);
    expect(rowsOf(tableIn(dataset)).every(({ compare }) => (compare?.previous_year?.wrong ?? []).length > 0)).toBe(
      marked,
    );
  });
});

describe('a total of a metric that does not add up', () => {
  const DISTINCT = 'screening.profiles_hit';
  const OPEN = 'alerts.open';
  const hits: SectionInput = { id: 'a', metrics: [DISTINCT], granularity: 'week', totals: true };
  const open: SectionInput = { id: 'a', metrics: [OPEN], totals: true };

  test.each<[string, SectionInput, string, number | null]>([
    ['a distinct count below that of a week', hits, DISTINCT, 1],
    ['a distinct count above the sum of all weeks', hits, DISTINCT, 1e6],
    ['a current count that differs from its only row', open, OPEN, 1e6],
  ])('%s is marked', async (_, section, metric, value) => {
    expect(incomplete(await fetched(section))).toEqual([]);
    service.tell({ report: inTotals(metric, value) });
    const dataset = await fetched(section);
    expect(incomplete(dataset).map(({ code }) => code)).toEqual(['total_mismatch']);
    expect(tableIn(dataset).wrong).toEqual([{ metric, at: 'column' }]);
  });
});
