import fc from 'fast-check';
import { DateTime } from 'luxon';
import { describe, expect, test } from 'vitest';
import type { Period } from '../../../../src/definitions/periods/period.ts';
import { daysBetween } from '../../../../src/definitions/schedules/reading-window.ts';
import type { ComparisonKind } from '../../../../src/definitions/schema/comparison.ts';
import type { Section } from '../../../../src/definitions/schema/report-definition.ts';
import type { Row, Table, TableReading } from '../../../../src/fetch/dataset.ts';
import { readingsTable } from '../../../../src/fetch/internal/tables/readings/readings-table.ts';
import type { FindReadings } from '../../../../src/plan/reading.ts';
import { changeIn } from '../../../../src/render/figures/quantity.ts';
import { cases } from '../../../support/fuzz.ts';
import { CATALOG, definitionOf, type SectionInput, WEEK } from '../../../support/reports.ts';
import { rowsOf } from '../../../support/rows.ts';

const METRIC = 'alerts.open';
const ZONE = WEEK.timezone;
const BOTH = ['previous_period', 'previous_year'] as const;

/** 20261031 for 31 October 2026, so that each value shows the day of its reading. */
const countOn = (day: string): number => Number(day.replaceAll('-', ''));

const storedBut =
  (missed: readonly string[], more: { readonly asOf?: (day: string) => string } = {}): FindReadings =>
  async (_org, dimension, days) =>
    new Map(
      days
        .filter((day) => !missed.includes(day))
        .map((day) => [
          day,
          {
            version: 1,
            org: 'acme',
            day,
            timezone: ZONE,
            question: dimension === null ? 'whole' : `by-${dimension}`,
            metrics: [METRIC],
            dimension,
            as_of: more.asOf?.(day) ?? `${day}T20:30:05Z`,
            received_at: `${day}T20:30:06Z`,
            service_org: 'current',
            registry_version: 7,
            correlation_id: `c-${day}`,
            rows: [{ group: dimension === null ? null : 'individual', values: { [METRIC]: countOn(day) } }],
          },
        ]),
    );

interface Asked {
  readonly granularity?: 'day' | 'week' | 'month';
  readonly comparisons?: readonly ComparisonKind[];
  readonly missed?: readonly string[];
  readonly now?: string;
  readonly section?: Partial<SectionInput>;
  readonly find?: FindReadings;
  readonly timezone?: string;
}

async function tableOf(from: string, to: string, requested: Asked = {}): Promise<Table> {
  const { granularity, comparisons = [], missed = [], now = '2031-01-01T12:00:00Z', timezone = ZONE } = requested;
  const input = { id: 'queue', metrics: [METRIC], ...(granularity && { granularity }), ...requested.section };
  const [section] = definitionOf([input as SectionInput]).sections;
  const period: Period = { from, to, timezone, label: 'then' };
  const table = await readingsTable({
    org: 'acme',
    section: section as Section,
    catalog: CATALOG,
    period,
    comparisons,
    readings: {
      settings: { at: '22:30', metrics: [METRIC], by: ['profile.type'] },
      timezone: ZONE,
      find: requested.find ?? storedBut(missed),
    },
    now: Date.parse(now),
  });
  if (table === undefined) throw new Error('not answered');
  return table;
}

const column = { name: METRIC, label: METRIC, kind: 'metric', type: 'integer', unit: 'count' } as const;
/** Value, compared value, reason and change of each row. */
const compared = (table: Table, kind: ComparisonKind) =>
  (table.rows as readonly Row[]).map((row) => [
    row.values[METRIC],
    row.compare?.[kind]?.values[METRIC],
    row.compare?.[kind]?.unlike,
    changeIn(column, row.values, row.compare?.[kind]).value,
  ]);
const messages = ({ notes }: Table) => notes.map(({ message }) => message);
const expectedChange = (now: string, before: string) => (countOn(now) - countOn(before)) / countOn(before);

describe('a comparison of readings', () => {
  test('compares the last days of months, a leap February included, for both kinds', async () => {
    const table = await tableOf('2025-01-01', '2025-03-31', { granularity: 'month', comparisons: BOTH });
    const ends = ['2025-01-31', '2025-02-28', '2025-03-31'];
    const partners = {
      previous_period: ['2024-10-31', '2024-11-30', '2024-12-31'],
      previous_year: ['2024-01-31', '2024-02-29', '2024-03-31'],
    };
    for (const kind of BOTH) {
      expect(compared(table, kind)).toEqual(
        ends.map((day, index) => {
          const before = partners[kind][index] ?? '';
          return [countOn(day), countOn(before), undefined, expectedChange(day, before)];
        }),
      );
    }
    expect(table.notes.map(({ code }) => code)).toEqual(['read_at']);
  });

  test('of a whole period compares its last day, also in the totals', async () => {
    for (const [from, to, kind, before] of [
      ['2026-10-01', '2026-10-31', 'previous_period', '2026-09-30'],
      ['2026-10-01', '2026-10-31', 'previous_year', '2025-10-31'],
      ['2025-02-01', '2025-02-28', 'previous_year', '2024-02-29'],
      ['2026-11-09', '2026-11-15', 'previous_year', '2025-11-16'],
      ['2026-11-09', '2026-11-15', 'previous_period', '2026-11-08'],
    ] as const) {
      const table = await tableOf(from, to, { comparisons: [kind], section: { totals: true } });
      expect(compared(table, kind)).toEqual([[countOn(to), countOn(before), undefined, expectedChange(to, before)]]);
      expect(table.totals).toEqual({
        values: { [METRIC]: countOn(to) },
        compare: { [kind]: { values: { [METRIC]: countOn(before) } } },
      });
    }
  });

  test('of week 53 with the year before does not exist, and a note says why', async () => {
    const table = await tableOf('2026-12-21', '2027-01-03', { granularity: 'week', comparisons: ['previous_year'] });
    expect(compared(table, 'previous_year')).toEqual([
      [20261227, 20251228, undefined, expectedChange('2026-12-27', '2025-12-28')],
      [20270103, null, 'no_partner', null],
    ]);
    expect(messages(table)).toContainEqual({
      id: 'unlike_rows',
      of: {
        granularity: 'week',
        reasons: [{ reason: 'no_partner', kinds: [], first: false, last: true, others: false }],
      },
    });
    const alone = await tableOf('2026-12-28', '2027-01-03', { comparisons: ['previous_year'] });
    expect(compared(alone, 'previous_year')).toEqual([[20270103, null, 'no_partner', null]]);
    expect(alone.comparisons).toEqual([{ kind: 'previous_year', range: null }]);
  });

  test('lists the days of the rows separately if they differ from those of the totals', async () => {
    const table = await tableOf('2026-10-01', '2026-10-31', { granularity: 'week', comparisons: ['previous_year'] });
    expect(table.comparisons).toEqual([
      {
        kind: 'previous_year',
        range: { from: '2025-10-01', to: '2025-10-31' },
        rows: { from: '2025-10-02', to: '2025-11-01' },
      },
    ]);
  });

  test('shows no change for partial weeks and other weekdays, with one note', async () => {
    const weeks = await tableOf('2026-10-01', '2026-10-31', { granularity: 'week', comparisons: ['previous_period'] });
    expect(compared(weeks, 'previous_period').map(([, , reason, change]) => [reason, change === null])).toEqual([
      ['partial', true],
      [undefined, false],
      [undefined, false],
      [undefined, false],
      ['partial', true],
    ]);
    expect(messages(weeks).filter(({ id }) => id === 'unlike_rows')).toHaveLength(1);
    const days = await tableOf('2026-10-01', '2026-10-31', { granularity: 'day', comparisons: ['previous_period'] });
    expect(compared(days, 'previous_period').every(([, , , change]) => change === null)).toBe(true);
    expect(messages(days).filter(({ id }) => id === 'unlike_rows')).toHaveLength(1);
  });

  test('has a note if totals are compared in spite of different weekdays', async () => {
    const table = await tableOf('2026-10-01', '2026-10-30', { comparisons: ['previous_period'] });
    expect(compared(table, 'previous_period')[0]?.[3]).toBeCloseTo(expectedChange('2026-10-30', '2026-09-30'));
    expect(messages(table)).toContainEqual({
      id: 'unlike_totals',
      of: {
        totals: [{ kind: 'previous_period', compared: true, reason: 'weekdays', days: null, ofReadings: true }],
        several: false,
      },
    });
  });

  test.each([
    ['in the period', ['2026-10-31'], [null, 20260930, undefined, null], ['2026-10-31']],
    ['in the previous period', ['2026-09-30'], [20261031, null, undefined, null], ['2026-09-30']],
    ['in both', ['2026-09-30', '2026-10-31'], [null, null, undefined, null], ['2026-09-30', '2026-10-31']],
    ['on another day than the last', ['2026-10-30'], undefined, undefined],
  ])('with a gap %s shows only existing figures and their changes', async (_of, missed, row, days) => {
    const table = await tableOf('2026-10-01', '2026-10-31', { comparisons: ['previous_period'], missed });
    expect(compared(table, 'previous_period')[0]).toEqual(
      row ?? [20261031, 20260930, undefined, expectedChange('2026-10-31', '2026-09-30')],
    );
    const missing = messages(table).filter(({ id }) => id === 'readings_missing');
    expect(missing).toEqual(days === undefined ? [] : [{ id: 'readings_missing', of: { days } }]);
    expect(table.asOf).toBe(missed.includes('2026-10-31') ? null : '2026-10-31T20:30:05Z');
  });

  test('notes gaps in the totals and readings that lack a metric of the section', async () => {
    const stored = storedBut([]);
    const find: FindReadings = async (org, dimension, days) =>
      dimension === null ? new Map() : stored(org, dimension, days);
    const section = { dimensions: ['profile.type'], totals: true };
    const table = await tableOf('2026-10-01', '2026-10-31', { section, find });
    expect(table.totals?.values).toEqual({ [METRIC]: null });
    expect(messages(table)).toEqual([{ id: 'readings_missing', of: { days: ['2026-10-31'] } }]);
    const lacking: FindReadings = async (...of) =>
      new Map([...(await stored(...of))].map(([day, reading]) => [day, { ...reading, metrics: ['rfis.open'] }]));
    const other = await tableOf('2026-10-01', '2026-10-31', { find: lacking });
    expect(messages(other)).toEqual([{ id: 'readings_missing', of: { days: ['2026-10-31'] } }]);
  });

  test('never uses a reading from another local day in the time zone of the report', async () => {
    const find = storedBut([]);
    // 22:30 in Zurich is the next morning in Tokyo.
    const table = await tableOf('2026-10-01', '2026-10-31', { find, timezone: 'Asia/Tokyo' });
    expect(rowsOf(table)[0]?.values).toEqual({ [METRIC]: null });
    expect(messages(table)).toEqual([{ id: 'readings_missing', of: { days: ['2026-10-31'] } }]);
  });

  test('treats a day without a reading yet as unfinished, and uses a reading as soon as it is stored', async () => {
    const requested = { granularity: 'day', comparisons: ['previous_year'], now: '2026-11-14T21:40:00Z' } as const;
    const table = await tableOf('2026-11-13', '2026-11-15', { ...requested, missed: ['2026-11-15'] });
    expect((table.rows as readonly Row[]).map(({ partial }) => partial)).toEqual([false, false, true]);
    expect(compared(table, 'previous_year').map(([value, , reason]) => [value, reason])).toEqual([
      [20261113, undefined],
      [20261114, undefined],
      [null, 'unfinished'],
    ]);
    expect(table.running).toBe(true);
    expect(messages(table)).toContainEqual({ id: 'readings_to_come', of: { days: ['2026-11-15'] } });
    expect(messages(table).some(({ id }) => id === 'readings_missing')).toBe(false);
  });

  test('lists the reading behind each figure, gaps included', async () => {
    const table = await tableOf('2026-10-01', '2026-10-31', {
      comparisons: BOTH,
      section: { totals: true, dimensions: ['profile.type'] },
      missed: ['2025-10-31'],
    });
    const day = (of: TableReading['of'], comparison: ComparisonKind | null, at: string): TableReading => ({
      of,
      bucket: null,
      comparison,
      day: at,
      question: of === 'rows' ? 'by-profile.type' : 'whole',
      asOf: at === '2025-10-31' ? null : `${at}T20:30:05Z`,
      correlationId: at === '2025-10-31' ? null : `c-${at}`,
    });
    expect(table.readings).toEqual(
      (['rows', 'totals'] as const).flatMap((of) => [
        day(of, null, '2026-10-31'),
        day(of, 'previous_period', '2026-09-30'),
        day(of, 'previous_year', '2025-10-31'),
      ]),
    );
  });

  test('shows for each bucket the reading of its last day or nothing, whichever readings are missing', async () => {
    const all = daysBetween('2023-06-01', '2027-03-31');
    await fc.assert(
      fc.asyncProperty(
        fc.nat(400),
        fc.nat(120),
        fc.constantFrom('day', 'week', 'month', undefined),
        fc.uniqueArray(fc.constantFrom(...all), { maxLength: 800 }),
        async (start, length, granularity, missed) => {
          const first = DateTime.fromISO('2025-11-01', { zone: 'utc' }).plus({ days: start });
          const from = first.toISODate() ?? '';
          const to = first.plus({ days: length }).toISODate() ?? '';
          const table = await tableOf(from, to, { comparisons: BOTH, missed, ...(granularity && { granularity }) });
          const gaps = new Set(missed);
          for (const row of table.rows as readonly Row[]) {
            const label = DateTime.fromISO(String(row.values.bucket ?? from), { zone: 'utc' });
            const end = granularity === undefined ? to : (label.endOf(granularity).toISODate() ?? '');
            const last = end > to ? to : end;
            expect(row.values[METRIC]).toBe(gaps.has(last) ? null : countOn(last));
            for (const kind of BOTH) {
              const reading = table.readings?.find(
                (one) => one.comparison === kind && one.bucket === (row.values.bucket ?? null),
              );
              const before = row.compare?.[kind];
              expect(before?.values[METRIC]).toBe(
                reading === undefined || gaps.has(reading.day) ? null : countOn(reading.day),
              );
              const { value } = changeIn(column, row.values, before);
              if (gaps.has(last) || before?.values[METRIC] == null || before.unlike !== undefined) {
                expect(value).toBeNull();
              }
            }
          }
          const shown = new Set(table.readings?.filter(({ asOf }) => asOf === null).map(({ day }) => day));
          const noted = messages(table).flatMap((message) =>
            message.id === 'readings_missing' ? message.of.days : [],
          );
          expect(noted).toEqual([...shown].sort());
        },
      ),
      cases(60),
    );
  });
});
