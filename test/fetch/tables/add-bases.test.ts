import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { metricBases } from '../../../src/contract/bases.ts';
import type { Catalog } from '../../../src/contract/catalog.ts';
import type { ReportRequest, ReportResponse } from '../../../src/contract/report.ts';
import type { ComparisonKind } from '../../../src/definitions/schema/comparison.ts';
import type { Dataset, Table } from '../../../src/fetch/dataset.ts';
import { fetchDataset } from '../../../src/fetch/fetch-dataset.ts';
import { withoutBaseRows } from '../../../src/fetch/internal/tables/cases.ts';
import { memoryBudget } from '../../../src/fetch/rate-limit/memory-budget.ts';
import { compilePlan } from '../../../src/plan/compile.ts';
import { explain, formatExplain } from '../../../src/plan/explain.ts';
import { addBases } from '../../../src/plan/requests/add-bases.ts';
import { hashFigures } from '../../../src/render/hash-figures.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { doneOf, fetchingFrom, keyOf, NOW, openSandbox } from '../../support/fetch-harness.ts';
import { cases, least } from '../../support/fuzz.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { sectionsOf } from '../../support/random-sections.ts';
import { definitionOf, type SectionInput, settingsOf } from '../../support/reports.ts';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await openSandbox();
});
afterAll(() => sandbox.close());

const OCTOBER = { from: '2026-10-01', to: '2026-10-31', timezone: 'Europe/Zurich', label: 'October' };
const WEEK = { from: '2026-11-09', to: '2026-11-15', timezone: 'Europe/Zurich', label: 'a week' };
const FEW_DAYS = { from: '2024-11-20', to: '2024-11-22', timezone: 'UTC', label: 'days with little in them' };

const contextOf = (label: string) =>
  fetchingFrom(sandbox.url, keyOf(sandbox, label), {
    budget: memoryBudget({ calls: 100_000, windowMs: 1, clock: manualClock(NOW) }),
    clock: manualClock(NOW),
  });

/** The tables without the numbers of cases. */
const withoutCases = (tables: readonly Table[]): unknown =>
  JSON.parse(JSON.stringify(tables), (key, value: unknown) =>
    key === 'cases' || key === 'toDateCases' ? undefined : value,
  );
/** The calls without what differs between two requests. */
const recordsOf = ({ calls }: Dataset) =>
  calls.map(({ id: _, asOf: _asOf, correlationId: _correlation, cached: _cached, ...call }) => call);

test('a plan requests the numbers of cases without additional calls, and shows the same tables', async () => {
  let based = 0;
  let known = 0;
  for (const label of ['acme', 'lakeside']) {
    const context = contextOf(label);
    const catalog = await context.client.catalog('current', context.signal);
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        sectionsOf(catalog),
        fc.constantFrom(OCTOBER, WEEK, FEW_DAYS),
        fc.constantFrom<ComparisonKind[][]>([], ['previous_period'], ['previous_year', 'previous_period']),
        fc.constantFrom(undefined, 'year' as const),
        // With smaller calls, tables are joined from several responses.
        fc.constantFrom({}, { max_metrics: 2 }, { max_range_days: 5 }, { max_rows: 40 }),
        async (sections, period, compare, toDate, limits) => {
          fc.pre(sections.length > 0);
          const definition = definitionOf(sections, {
            max_age: 0,
            ...(compare.length > 0 ? { compare } : {}),
            ...(toDate === undefined ? {} : { to_date: toDate }),
          });
          const input = { definition, settings: settingsOf(), period, catalog, limits };
          const planWith = (bases: boolean) => {
            try {
              return compilePlan({ ...input, bases });
            } catch {
              return undefined;
            }
          };
          const [plan, plain] = [planWith(true), planWith(false)];
          fc.pre(plan !== undefined && plain !== undefined);
          if (plan === undefined || plain === undefined) return;
          expect(plan.calls).toHaveLength(plain.calls.length);
          based += plan.calls.filter((call) => call.kind === 'report' && call.bases !== undefined).length;
          run += 1;
          const fetched = async (one: typeof plan, name: string) =>
            doneOf(await fetchDataset({ ...context, run: `${name}-${run}`, plan: one, catalog, organization: 'x' }));
          const [more, same] = [await fetched(plan, 'with'), await fetched(plain, 'without')];
          expect(withoutCases(more.tables)).toEqual(withoutCases(same.tables));
          expect(recordsOf(more)).toEqual(recordsOf(same));
          expect(await hashFigures(more)).toBe(await hashFigures(same));
          known += JSON.stringify(more.tables).split('"cases":').length - 1;
          expect(JSON.stringify(same.tables)).not.toContain('"cases":');
        },
      ),
      cases(40),
    );
  }
  expect(based).toBeGreaterThan(least(30));
  expect(known).toBeGreaterThan(least(100));
});

test('the numbers of cases equal the counts in a section that shows them', async () => {
  const context = contextOf('acme');
  const catalog = await context.client.catalog('current', context.signal);
  const shape: Partial<SectionInput> = { dimensions: ['profile.risk'], granularity: 'week', totals: true };
  const definition = definitionOf(
    [
      { id: 'rates', metrics: ['profiles.approval_rate', 'profiles.time_to_decision_p90'], ...shape },
      { id: 'counts', metrics: ['profiles.decided'], ...shape },
      { id: 'card', layout: 'scorecard', metrics: ['profiles.approval_rate'], trend: 13, to_date: 'year' },
      { id: 'card2', layout: 'scorecard', metrics: ['profiles.decided'], trend: 13, to_date: 'year' },
    ],
    { compare: ['previous_period', 'previous_year'] },
  );
  const plan = compilePlan({ definition, settings: settingsOf(), period: OCTOBER, catalog });
  const { tables, bases } = doneOf(await fetchDataset({ ...context, plan, catalog, organization: 'x' }));
  const [rates, counts, card, card2] = tables as [Table, Table, Table, Table];
  const rowsOf = ({ rows }: Table) => ('path' in rows ? [] : rows);
  expect(rowsOf(rates).map(({ cases }) => cases?.['profiles.approval_rate'])).toEqual(
    rowsOf(counts).map(({ values }) => values['profiles.decided']),
  );
  expect(rates.totals?.cases?.['profiles.time_to_decision_p90']).toBe(counts.totals?.values['profiles.decided']);
  for (const kind of ['previous_period', 'previous_year'] as const) {
    expect(rates.totals?.compare?.[kind]?.cases?.['profiles.approval_rate']).toBe(
      counts.totals?.compare?.[kind]?.values['profiles.decided'],
    );
  }
  expect(rowsOf(card)[0]?.toDateCases?.['profiles.approval_rate']).toBe(rowsOf(card2)[0]?.toDate?.['profiles.decided']);
  expect(card.trend?.cases?.['profiles.approval_rate']).toEqual(card2.trend?.values['profiles.decided']);
  expect(bases).toContainEqual({ metric: 'profiles.approval_rate', base: 'profiles.decided' });
});

const metric = (id: string, more: Partial<Catalog['metrics'][number]> = {}): Catalog['metrics'][number] => ({
  ...{ id, label: id, description: '', type: 'integer', unit: 'count', aggregation: 'count', time_field: 'created' },
  ...{ granularities: ['day', 'week', 'month'], dimensions: ['profile.risk'], additive_over_time: true },
  ...more,
});
const ratio = { unit: 'ratio', type: 'ratio', aggregation: 'share', additive_over_time: false };
const catalogOf = (...metrics: Catalog['metrics']): Catalog => ({
  ...{ registry_version: 1, metrics, limits: { max_range_days: 366, max_dimensions: 2, max_rows: 5000 } },
  dimensions: [{ id: 'profile.risk', label: 'Risk', description: '', type: 'enum', values: [] }],
});
const added = (request: ReportRequest, catalog: Catalog, settings = {}, max_metrics = 20) =>
  addBases(new Map([['a', request]]), catalog, { max_metrics }, settings).get('a')?.bases;

test('a request gets a base only if the catalog and the request allow it', () => {
  const rate = metric('r', ratio);
  const settings = { r: 'n' };
  const requested: ReportRequest = { metrics: ['r'], dimensions: ['profile.risk'], time: { granularity: 'day' } };
  expect(added(requested, catalogOf(rate, metric('n')), settings)).toEqual(['n']);
  expect(added({ ...requested, metrics: ['r', 'n'] }, catalogOf(rate, metric('n')), settings)).toBeUndefined();
  expect(added({ ...requested, limit: 5 }, catalogOf(rate, metric('n')), settings)).toBeUndefined();
  expect(
    added({ ...requested, order: [{ by: 'r', dir: 'desc' }] }, catalogOf(rate, metric('n')), settings),
  ).toBeUndefined();
  expect(added({ metrics: ['r'], limit: 5 }, catalogOf(rate, metric('n')), settings)).toEqual(['n']);
  expect(added(requested, catalogOf(rate, metric('n')), settings, 1)).toBeUndefined();
  for (const wrong of [
    { time_field: 'closed' },
    { dimensions: [] },
    { granularities: ['month'] },
    { aggregation: 'count_distinct' },
    { additive_over_time: false },
    ratio,
  ])
    expect(added(requested, catalogOf(rate, metric('n', wrong)), settings), JSON.stringify(wrong)).toBeUndefined();
  const filtered: ReportRequest = { metrics: ['r'], filters: [{ dimension: 'x', op: 'eq', values: ['1'] }] };
  expect(added(filtered, catalogOf(rate, metric('n')), settings)).toBeUndefined();
});

test('a request gets no base if another request already has the metric with its base', () => {
  const catalog = catalogOf(metric('r', ratio), metric('n'));
  const [small, large]: ReportRequest[] = [{ metrics: ['r'] }, { metrics: ['r', 'n'] }];
  const bodies = addBases(
    new Map([
      ['a', small!],
      ['b', large!],
    ]),
    catalog,
    { max_metrics: 20 },
    { r: 'n' },
  );
  expect([...bodies.values()]).toEqual([{ request: small }, { request: large }]);
});

test('an organization can replace or remove a base', () => {
  const catalog = catalogOf(metric('profiles.approval_rate', ratio), metric('profiles.decided'), metric('other'));
  const basesWith = (settings?: Record<string, string>) =>
    metricBases(['profiles.approval_rate'], catalog, settings).map(({ base }) => base);
  expect(basesWith()).toEqual(['profiles.decided']);
  expect(basesWith({ 'profiles.approval_rate': 'other' })).toEqual(['other']);
  expect(basesWith({ 'profiles.approval_rate': 'none' })).toEqual([]);
  expect(basesWith({ 'profiles.approval_rate': 'unknown' })).toEqual([]);
});

test('the cases of a turnaround are the created profiles times the completion rate, if both are requested', () => {
  const duration = { unit: 'seconds', type: 'duration', aggregation: 'p50', additive_over_time: false };
  const catalog = catalogOf(
    metric('cohort.turnaround_p50', duration),
    metric('cohort.completion_rate', ratio),
    metric('profiles.created'),
  );
  expect(metricBases(['cohort.turnaround_p50'], catalog)).toEqual([]);
  expect(metricBases(['cohort.turnaround_p50', 'cohort.completion_rate'], catalog)[0]).toEqual({
    metric: 'cohort.turnaround_p50',
    base: 'profiles.created',
    share: 'cohort.completion_rate',
  });
});

test('a base that is only an upper bound is not added to a request by group, where it could add rows', () => {
  const duration = { unit: 'seconds', type: 'duration', aggregation: 'p50', additive_over_time: false };
  const catalog = catalogOf(metric('intake.time_to_submit_p50', duration), metric('intake.submissions'));
  const request: ReportRequest = { metrics: ['intake.time_to_submit_p50'] };
  expect(added(request, catalog)).toEqual(['intake.submissions']);
  expect(added({ ...request, dimensions: ['profile.risk'] }, catalog)).toBeUndefined();
  expect(metricBases(request.metrics, catalog)).toMatchObject([{ atMost: true }]);
});

test('a response loses groups with data only for the base, and keeps a rate of zero', () => {
  const column = (name: string, unit: string | null) => ({ name, label: name, kind: 'metric', type: 'integer', unit });
  const response: ReportResponse = {
    meta: {
      ...{ as_of: '2026-11-20T10:00:00Z', cached: false, timezone: 'UTC', granularity: null, truncated: false },
      ...{ row_count: 4, registry_version: 1, range: { from: '2026-10-01', to: '2026-10-31' } },
    },
    columns: [column('r', 'ratio'), column('n', 'count')],
    rows: [
      { 'profile.risk': 'low', r: 0, n: 4 },
      { 'profile.risk': 'high', r: null, n: 3 },
      { 'profile.risk': 'severe', r: null, n: 0 },
      { 'profile.risk': null, r: null, n: 2, compare: { r: 0.5, n: 2 } },
    ],
  };
  const call = { kind: 'report' as const, id: 'x', org: 'current' as const, bases: ['n'] };
  const request: ReportRequest = { metrics: ['r', 'n'], dimensions: ['profile.risk'] };
  const left = withoutBaseRows({ ...call, request }, response);
  expect(left.rows.map((row) => row['profile.risk'])).toEqual(['low', 'severe', null]);
  expect(left.meta.row_count).toBe(3);
  expect(left.columns.map(({ name }) => name)).toEqual(['r']);
});

test('docket explain names the sections whose calls have no room for the number of cases', async () => {
  const context = contextOf('acme');
  const catalog = await context.client.catalog('current', context.signal);
  const metrics = ['profiles.approval_rate'];
  const definition = definitionOf([
    { id: 'whole', metrics },
    { id: 'top', metrics, dimensions: ['profile.group'], limit: 3 },
  ]);
  const document = explain(compilePlan({ definition, settings: settingsOf(), period: OCTOBER, catalog }), { catalog });
  expect(document.sections.map(({ without_cases }) => without_cases)).toEqual([[], metrics]);
  expect(formatExplain(document)).toContain(
    'top: its calls have no room for the number of cases of profiles.approval_rate',
  );
});
