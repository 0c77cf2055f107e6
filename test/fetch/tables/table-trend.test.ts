import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Catalog } from '../../../src/contract/catalog.ts';
import type { Period } from '../../../src/definitions/periods/period.ts';
import { type Dataset, isTextTable, type Table } from '../../../src/fetch/dataset.ts';
import { fetchDataset } from '../../../src/fetch/fetch-dataset.ts';
import { compilePlan } from '../../../src/plan/compile.ts';
import type { FindReadings } from '../../../src/plan/reading.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { doneOf, fetchingFrom, keyOf, NOW, openSandbox } from '../../support/fetch-harness.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { type DefinitionInput, definitionOf, type SectionInput, settingsOf } from '../../support/reports.ts';
import { rowsOf } from '../../support/rows.ts';

const OCTOBER: Period = { from: '2026-10-01', to: '2026-10-31', timezone: 'Europe/Zurich', label: '2026-10' };
const THIRTEEN: Period = { ...OCTOBER, from: '2025-10-01', label: '13 months' };
const METRICS = ['profiles.created', 'profiles.approval_rate'];
const card: SectionInput = { id: 'card', layout: 'scorecard', metrics: METRICS, trend: 13 };
const READINGS = { at: '22:30', metrics: ['alerts.open', 'reviews.overdue'], by: [] };

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await openSandbox();
});
afterAll(() => sandbox.close());

interface Given extends Omit<DefinitionInput, 'period'> {
  readonly period?: Period;
  readonly sectionPeriods?: Readonly<Record<string, Period>>;
  readonly catalogOf?: (catalog: Catalog) => Catalog;
  readonly find?: FindReadings;
}

async function fetched(sections: readonly SectionInput[], given: Given = {}): Promise<Dataset> {
  const { period = OCTOBER, sectionPeriods, catalogOf = (catalog) => catalog, find, ...more } = given;
  const context = fetchingFrom(sandbox.url, keyOf(sandbox, 'acme'), { clock: manualClock(NOW) });
  const catalog = catalogOf(await context.client.catalog('current', context.signal));
  const settings = { ...settingsOf(), ...(find === undefined ? {} : { readings: READINGS }) };
  const plan = compilePlan({ definition: definitionOf(sections, more), settings, period, sectionPeriods, catalog });
  const readings = find && { settings: READINGS, timezone: settings.timezone, find };
  return doneOf(await fetchDataset({ ...context, plan, catalog, organization: 'Acme', readings }));
}
const tableOf = ({ tables }: Dataset, id = 'card'): Table => {
  const table = tables.find((one) => one.id === id);
  if (table === undefined) throw new Error(`no table ${id}`);
  return table;
};
const valuesOf = ({ rows }: Table, metric: string) => rowsOf({ rows } as Table).map(({ values }) => values[metric]);

describe('the trend of a scorecard', () => {
  const months: SectionInput = { id: 'months', metrics: METRICS, granularity: 'month', period: 'last_13_months' };

  test('shows the figures of the last 13 months, ending with the period', async () => {
    const own = tableOf(await fetched([card]));
    const other = tableOf(
      await fetched([months], { period: THIRTEEN, sectionPeriods: { months: THIRTEEN } }),
      'months',
    );
    expect(own.trend?.granularity).toBe('month');
    expect(own.trend?.buckets.map(({ label }) => label)).toEqual(valuesOf(other, 'bucket'));
    expect(own.trend?.buckets).toHaveLength(13);
    for (const metric of METRICS) {
      expect(own.trend?.values[metric]).toEqual(valuesOf(other, metric));
      expect(own.trend?.values[metric]?.at(-1)).toBe(valuesOf(own, metric)[0]);
    }
    expect(own.trend?.buckets.some(({ partial }) => partial)).toBe(false);
  });

  test.each<[string, Partial<SectionInput>, Given]>([
    ['a section over the same months', {}, {}],
    ['a section with a comparison', {}, { compare: 'previous_period' }],
    ['a section with the layout `trend`', { layout: 'trend' }, {}],
  ])('is the same when it shares its calls with %s', async (_, more, report) => {
    const alone = await fetched([{ ...card, trend: 6 }]);
    const input = { ...report, sectionPeriods: { months: THIRTEEN } };
    const together = await fetched([{ ...card, trend: 6 }, { ...months, ...more } as SectionInput], input);
    expect(tableOf(together).trend).toEqual(tableOf(alone).trend);
    // One call of its own; the others are shared with the months.
    const readers = together.calls.filter(({ sections }) => sections.includes('card'));
    expect(readers.length).toBeGreaterThan(1);
    expect(readers.filter(({ sections }) => !sections.includes('months'))).toHaveLength(1);
  });

  test('is undefined instead of zero in months without data', async () => {
    const from = '2026-03-15';
    const catalogOf = (catalog: Catalog): Catalog => ({
      ...catalog,
      metrics: catalog.metrics.map((each) => (each.id === METRICS[0] ? { ...each, data_available: { from } } : each)),
    });
    const { trend } = tableOf(await fetched([card], { catalogOf }));
    const labels = trend?.buckets.map(({ label }) => label) ?? [];
    const undefinedIn = labels.filter((_, index) => trend?.values[METRICS[0] ?? '']?.[index] === null);
    expect(undefinedIn).toEqual(labels.filter((label) => label < '2026-03-01'));
    expect(undefinedIn.length).toBeGreaterThan(3);
    expect(trend?.values[METRICS[1] ?? '']?.every((value) => value !== null)).toBe(true);
  });

  test('marks the running bucket as partial', async () => {
    const period = { ...OCTOBER, from: '2026-11-16', to: '2026-11-22' };
    const { trend } = tableOf(await fetched([{ ...card, trend: 3 }], { period }));
    expect(trend).toMatchObject({
      granularity: 'week',
      buckets: [
        { label: '2026-11-02', partial: false },
        { label: '2026-11-09', partial: false },
        { label: '2026-11-16', partial: true },
      ],
    });
  });

  test('is null for a metric that lacks the granularity', async () => {
    const period = { ...OCTOBER, from: '2026-11-15', to: '2026-11-15' };
    const weekly = (catalog: Catalog): Catalog => ({
      ...catalog,
      metrics: catalog.metrics.map((each) => (each.id === METRICS[1] ? { ...each, granularities: ['week'] } : each)),
    });
    const { trend } = tableOf(await fetched([{ ...card, trend: 2 }], { period, catalogOf: weekly }));
    expect(trend?.values[METRICS[1] ?? '']).toEqual([null, null]);
    expect(trend?.values[METRICS[0] ?? '']).not.toContain(null);
  });
});

describe('the trend of current counts', () => {
  const counts: SectionInput = { ...card, metrics: ['alerts.open', 'reviews.overdue'], trend: 4 };
  /** The count of each day is its day of the month. Missed days have no reading. */
  const finding =
    (...missed: string[]): FindReadings =>
    async (_org, dimension, days) =>
      new Map(
        days
          .filter((day) => dimension === null && !missed.includes(day))
          .map((day) => [
            day,
            {
              version: 1,
              org: 'acme',
              service_org: 'current',
              day,
              timezone: 'Europe/Zurich',
              question: 'whole',
              metrics: READINGS.metrics,
              dimension: null,
              as_of: `${day}T21:30:05Z`,
              received_at: `${day}T21:30:06Z`,
              registry_version: 7,
              correlation_id: null,
              rows: [{ group: null, values: { 'alerts.open': Number(day.slice(-2)), 'reviews.overdue': null } }],
            },
          ]),
      );

  test('shows the reading of the last day of each bucket, and a gap for a missed day', async () => {
    const dataset = await fetched([counts], { find: finding('2026-08-31') });
    expect(dataset.calls).toEqual([]);
    expect(tableOf(dataset).trend).toEqual({
      granularity: 'month',
      buckets: ['2026-07-01', '2026-08-01', '2026-09-01', '2026-10-01'].map((label) => ({ label, partial: false })),
      values: { 'alerts.open': [31, null, 30, 31], 'reviews.overdue': [null, null, null, null] },
      readings: ['2026-07-31', null, '2026-09-30', '2026-10-31'].map((day, index) => ({
        bucket: `2026-${String(7 + index).padStart(2, '0')}-01`,
        day: day ?? '2026-08-31',
        question: 'whole',
        asOf: day === null ? null : `${day}T21:30:05Z`,
        correlationId: null,
      })),
    });
  });

  test('has a gap for a future reading, while the table shows the current counts', async () => {
    const period = { ...OCTOBER, from: '2026-11-20', to: '2026-11-20' };
    const table = tableOf(await fetched([counts], { period, find: finding('2026-11-20') }));
    expect(table.current).toBe(true);
    expect(table.trend?.values['alerts.open']).toEqual([17, 18, 19, null]);
    expect(table.trend?.buckets.map(({ partial }) => partial)).toEqual([false, false, false, true]);
  });

  test('does not exist if a metric has no readings', async () => {
    expect(tableOf(await fetched([counts])).trend).toBeUndefined();
    const more = { ...counts, metrics: ['alerts.open', 'rfis.open'] };
    expect(tableOf(await fetched([more], { find: finding() })).trend).toBeUndefined();
  });
});

describe('layouts of tables', () => {
  test('come from the sections, as does whether they are printed', async () => {
    const groups = [{ title: 'New', metrics: ['profiles.created'] }];
    const { tables, headlineMetrics } = await fetched(
      [
        { id: 'plain', metrics: METRICS },
        { id: 'explicit', layout: 'table', metrics: METRICS, print: true },
        { id: 'grouped', layout: 'scorecard', metrics: ['profiles.decided'], groups, print: false },
        { id: 'days', layout: 'trend', metrics: METRICS, granularity: 'day' },
        { id: 'few', layout: 'exceptions', metrics: METRICS, granularity: 'day' },
        { id: 'fewer', layout: 'exceptions', metrics: METRICS, granularity: 'day', top: 3 },
      ],
      { headline: ['profiles.decided'] },
    );
    expect(tables.map(({ layout, print }) => [layout, print])).toEqual([
      [undefined, undefined],
      [undefined, undefined],
      [{ kind: 'scorecard', groups }, false],
      [{ kind: 'trend' }, undefined],
      [{ kind: 'exceptions', top: 20 }, undefined],
      [{ kind: 'exceptions', top: 3 }, undefined],
    ]);
    expect(tableOf({ tables } as Dataset, 'grouped').columns.map(({ name }) => name)).toEqual([
      'profiles.decided',
      'profiles.created',
    ]);
    // `top` limits only what is shown. The table keeps all rows.
    expect(tableOf({ tables } as Dataset, 'fewer').rows).toHaveLength(31);
    expect(headlineMetrics).toEqual(['profiles.decided']);
  });

  test('give a text section a title and a description, but no rows and no call', async () => {
    const text: SectionInput = { id: 'words', layout: 'text', title: 'Remarks', description: 'In words.' };
    const { tables, calls, headlineMetrics } = await fetched([text, { ...card, trend: undefined } as SectionInput]);
    expect(tables.map(isTextTable)).toEqual([true, false]);
    expect(tables[0]).toMatchObject({ title: 'Remarks', description: 'In words.', columns: [], rows: [], notes: [] });
    expect(calls).toHaveLength(1);
    expect(headlineMetrics).toBeUndefined();
  });

  test('also apply to lists', async () => {
    const roster: SectionInput = { id: 'roster', list: 'profiles', search: 'Freight', print: false };
    const { tables } = await fetched([roster, { ...roster, id: 'few', layout: 'exceptions', top: 2 }]);
    expect(tables.map(({ layout, print }) => [layout, print])).toEqual([
      [undefined, false],
      [{ kind: 'exceptions', top: 2 }, false],
    ]);
  });
});
