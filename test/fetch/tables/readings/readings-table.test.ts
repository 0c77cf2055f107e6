import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Catalog } from '../../../../src/contract/catalog.ts';
import { withoutCurrentCounts } from '../../../../src/fetch/current-counts.ts';
import type { Table } from '../../../../src/fetch/dataset.ts';
import { fetchDataset } from '../../../../src/fetch/fetch-dataset.ts';
import { checkPlan } from '../../../../src/plan/checks/check-plan.ts';
import { checkReadings } from '../../../../src/plan/checks/reading-check.ts';
import { compilePlan } from '../../../../src/plan/compile.ts';
import type { FindReadings, Reading } from '../../../../src/plan/reading.ts';
import type { Sandbox } from '../../../../src/sandbox/sandbox.ts';
import { doneOf, fetchingFrom, keyOf, openSandbox } from '../../../support/fetch-harness.ts';
import { manualClock } from '../../../support/manual-clock.ts';
import { definitionOf, type SectionInput, settingsOf, WEEK } from '../../../support/reports.ts';
import { rowsOf } from '../../../support/rows.ts';

const NOW = Date.parse('2026-11-20T10:00:00Z');
const SETTINGS = { at: '22:30', metrics: ['alerts.open', 'reviews.overdue'], by: ['alert.type'] };
const ORG = { ...settingsOf(), readings: SETTINGS };
const ZONE = WEEK.timezone;

let sandbox: Sandbox;
let catalog: Catalog;
beforeAll(async () => {
  sandbox = await openSandbox();
});
afterAll(() => sandbox.close());

/** The count without groups is the day of the month. */
const reading = (day: string, dimension: string | null): Reading => ({
  version: 1,
  org: 'acme',
  day,
  timezone: ZONE,
  question: dimension === null ? 'whole' : `by-${dimension}`,
  metrics: dimension === null ? SETTINGS.metrics : ['alerts.open'],
  dimension,
  as_of: `${day}T21:30:05Z`,
  received_at: `${day}T21:30:06Z`,
  service_org: 'current',
  registry_version: 7,
  correlation_id: null,
  rows:
    dimension === null
      ? [{ group: null, values: { 'alerts.open': Number(day.slice(-2)), 'reviews.overdue': null } }]
      : [
          { group: 'blockchain_address', values: { 'alerts.open': Number(day.slice(-2)) } },
          ...(day < '2026-11-12' ? [{ group: 'other', values: { 'alerts.open': 7 } }] : []),
        ],
});
const findBut =
  (missed: readonly string[]): FindReadings =>
  async (_org, dimension, days) =>
    new Map(days.filter((day) => !missed.includes(day)).map((day) => [day, reading(day, dimension)]));

interface Asked {
  readonly missed?: readonly string[];
  readonly period?: typeof WEEK;
  readonly compare?: 'previous_period';
  readonly backfill?: boolean;
  readonly now?: number;
  readonly readings?: typeof SETTINGS;
  readonly labels?: Readonly<Record<string, string>>;
}

async function tableOf(
  section: Omit<SectionInput, 'id'>,
  requested: Asked = {},
): Promise<{ table: Table; calls: number }> {
  const {
    missed = [],
    period = WEEK,
    compare,
    backfill = false,
    now = NOW,
    readings = SETTINGS,
    labels = {},
  } = requested;
  const context = fetchingFrom(sandbox.url, keyOf(sandbox, 'acme'), { clock: manualClock(now) });
  catalog = await context.client.catalog('current', context.signal);
  const definition = definitionOf([{ id: 'queue', ...section }], {
    labels,
    ...(compare === undefined ? {} : { compare }),
  });
  const compiled = compilePlan({ definition, settings: { ...ORG, readings }, period, catalog });
  const dataset = doneOf(
    await fetchDataset({
      ...context,
      plan: backfill ? withoutCurrentCounts(compiled) : compiled,
      catalog,
      organization: 'Acme',
      counts: { until: backfill ? Number.NEGATIVE_INFINITY : now + 1, why: 'backfill', due: '2026-11-20T10:00:00Z' },
      readings: { settings: readings, timezone: ORG.timezone, find: findBut(missed) },
    }),
  );
  const [table] = dataset.tables;
  if (table === undefined) throw new Error('no table');
  return { table, calls: dataset.calls.length };
}
const counts = (table: Table, metric = 'alerts.open') => rowsOf(table).map(({ values }) => values[metric]);
const notes = ({ notes: all }: Table) => all.map(({ message }) => message);

describe('a section of current counts with readings', () => {
  test.each([
    ['day', 'Day'],
    ['week', 'Week'],
    ['month', 'Month'],
  ] as const)('by %s labels its first column like the service or the report', async (granularity, label) => {
    const { table } = await tableOf({ metrics: ['alerts.open'], granularity });
    expect(table.columns[0]).toMatchObject({ name: 'bucket', label });
    const own = await tableOf({ metrics: ['alerts.open'], granularity }, { labels: { bucket: 'Stand' } });
    expect(own.table.columns[0]).toMatchObject({ name: 'bucket', label: 'Stand' });
  });

  test('shows the reading of the last day of its period, without a call', async () => {
    const { table, calls } = await tableOf({ metrics: ['alerts.open', 'reviews.overdue'], totals: true });
    const last = WEEK.to;
    expect([counts(table), counts(table, 'reviews.overdue'), calls]).toEqual([[Number(last.slice(-2))], [null], 0]);
    expect(table).toMatchObject({
      current: false,
      range: { from: WEEK.from, to: last },
      asOf: `${last}T21:30:05Z`,
      totals: { values: { 'alerts.open': Number(last.slice(-2)) } },
    });
    expect(notes(table)).toEqual([]);
  });

  test('by day shows a missed day as a gap', async () => {
    const { table, calls } = await tableOf(
      { metrics: ['alerts.open'], granularity: 'day' },
      { missed: ['2026-11-11'] },
    );
    expect([counts(table), calls]).toEqual([[9, 10, null, 12, 13, 14, 15], 0]);
    expect(notes(table)).toContainEqual({ id: 'readings_missing', of: { days: ['2026-11-11'] } });
    expect(table.notes.every(({ incomplete }) => !incomplete)).toBe(true);
  });

  test('is compared with the readings of the previous period', async () => {
    const { table } = await tableOf({ metrics: ['alerts.open'] }, { compare: 'previous_period' });
    expect(rowsOf(table)[0]).toMatchObject({ compare: { previous_period: { values: { 'alerts.open': 8 } } } });
    const { table: gap } = await tableOf(
      { metrics: ['alerts.open'] },
      { compare: 'previous_period', missed: ['2026-11-08'] },
    );
    expect(rowsOf(gap)[0]).toMatchObject({
      values: { 'alerts.open': 15 },
      compare: { previous_period: { values: { 'alerts.open': null } } },
    });
  });

  test('shows 0 for a group that a reading lacks, and nothing for a missed reading', async () => {
    const section = { metrics: ['alerts.open'], dimensions: ['alert.type'], granularity: 'day' as const };
    const { table } = await tableOf(section, { missed: ['2026-11-15'] });
    const of = (group: string) =>
      rowsOf(table).flatMap(({ values }) => (values['alert.type'] === group ? [values['alerts.open']] : []));
    expect(of('blockchain_address')).toEqual([9, 10, 11, 12, 13, 14, null]);
    expect(of('other')).toEqual([7, 7, 7, 0, 0, 0, null]);
  });

  test('shows readings of past days in a backfill, and a gap as undefined', async () => {
    const { table } = await tableOf({ metrics: ['alerts.open'] }, { backfill: true });
    expect(counts(table)).toEqual([15]);
    const { table: gap } = await tableOf({ metrics: ['alerts.open'] }, { backfill: true, missed: [WEEK.to] });
    expect([counts(gap), gap.asOf]).toEqual([[null], null]);
  });

  test('shows days whose reading is not due yet as partial and without a count', async () => {
    const now = Date.parse('2026-11-14T12:00:00Z');
    const { table } = await tableOf(
      { metrics: ['alerts.open'], granularity: 'day' },
      { now, missed: ['2026-11-14', '2026-11-15'] },
    );
    expect(counts(table)).toEqual([9, 10, 11, 12, 13, null, null]);
    expect(rowsOf(table).map(({ partial }) => partial)).toEqual([false, false, false, false, false, true, true]);
    expect(notes(table).some(({ id }) => id === 'readings_missing')).toBe(false);
  });

  test('shows current counts if the reading of its last day is not due or cannot answer the section', async () => {
    const now = Date.parse('2026-11-14T12:00:00Z');
    for (const [section, asked] of [
      [{ metrics: ['alerts.open'] }, { now }],
      [{ metrics: ['alerts.open'] }, { now, compare: 'previous_period' }],
      [{ metrics: ['rfis.open'] }, {}],
      [
        { metrics: ['alerts.open'], filters: [{ dimension: 'alert.type', op: 'eq', values: ['blockchain_address'] }] },
        {},
      ],
    ] as const) {
      const { table, calls } = await tableOf(section as unknown as Omit<SectionInput, 'id'>, asked);
      expect([table.current, table.range, calls]).toEqual([true, null, 1]);
    }
  });

  test('is undefined in a backfill if no reading can answer it', async () => {
    const { table, calls } = await tableOf({ metrics: ['rfis.open'] }, { backfill: true });
    expect([counts(table, 'rfis.open'), table.readings, calls]).toEqual([[null], undefined, 0]);
    expect(table.notes.map(({ code }) => code)).toEqual(['undefined']);
  });

  test('shows no figures if a reading lacks one of its metrics', async () => {
    const { table } = await tableOf(
      { metrics: ['alerts.open', 'rfis.open'] },
      { readings: { ...SETTINGS, metrics: [...SETTINGS.metrics, 'rfis.open'] } },
    );
    expect([counts(table), counts(table, 'rfis.open')]).toEqual([[null], [null]]);
  });
});

describe('docket check', () => {
  const check = (section: Omit<SectionInput, 'id'>, readings?: typeof SETTINGS) =>
    checkPlan({
      definition: definitionOf([{ id: 'queue', ...section }]),
      period: WEEK,
      catalog,
      settings: { readings },
    });

  test('allows a granularity for current counts with readings, and otherwise names the reading to add', () => {
    const section = { metrics: ['alerts.open'], granularity: 'day' as const };
    expect(check(section, SETTINGS)).toEqual([]);
    const [missing] = check(section);
    expect(missing?.path).toEqual(['sections', 0, 'granularity']);
    expect(missing?.next).toContain('"readings: metrics"');
    const [by] = check({ ...section, dimensions: ['alert.status'] }, SETTINGS);
    expect(by?.next).toContain('"alert.status" to "readings: by"');
    expect(check({ ...section, metrics: ['alerts.open', 'alerts.created'] }, SETTINGS)).toHaveLength(1);
  });

  test('refuses figures to date of current counts, and names the reading that a comparison needs', () => {
    const section = { metrics: ['alerts.open'], to_date: 'year' as const };
    for (const readings of [undefined, SETTINGS]) {
      const [toDate] = check(section, readings);
      expect(toDate?.path).toEqual(['sections', 0, 'to_date']);
      expect(toDate?.next).toContain('Remove it');
    }
    expect(check({ metrics: ['alerts.open'], compare: 'previous_year' }, SETTINGS)).toEqual([]);
    const [compare, ...more] = check({ metrics: ['rfis.open'], compare: 'previous_year' }, SETTINGS);
    expect(more).toEqual([]);
    expect(compare?.path).toEqual(['sections', 0, 'compare']);
    expect(compare?.next).toContain('Add "rfis.open" to "readings: metrics"');
  });

  test('names metrics and dimensions that readings cannot use', () => {
    expect(checkReadings(SETTINGS, catalog)).toEqual([]);
    const found = checkReadings(
      { at: '22:30', metrics: ['alerts.opne', 'alerts.created', 'rfis.open'], by: ['risk', 'hit.kind'] },
      catalog,
    );
    expect(found.map(({ path }) => path.join('.'))).toEqual([
      'readings.metrics.0',
      'readings.metrics.1',
      'readings.by.0',
      'readings.by.1',
    ]);
    expect(found[0]?.next).toContain('alerts.open');
  });
});
