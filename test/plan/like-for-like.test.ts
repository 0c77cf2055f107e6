import { Temporal } from '@js-temporal/polyfill';
import fc from 'fast-check';
import { Settings } from 'luxon';
import { describe, expect, test } from 'vitest';
import type { Granularity } from '../../src/contract/report.ts';
import type { FiscalCalendar } from '../../src/definitions/periods/fiscal-calendar.ts';
import type { ComparisonKind } from '../../src/definitions/schema/comparison.ts';
import { type Bucket, buildBuckets, type DateRange } from '../../src/plan/buckets.ts';
import {
  compareTotals,
  differentLengths,
  findMismatch,
  findPartner,
  findRowMismatch,
  type NotComparableReason,
  toDateRange,
  yearBefore,
  yearBeforeRange,
} from '../../src/plan/like-for-like.ts';
import { cases, least } from '../support/fuzz.ts';

const ZURICH = 'Europe/Zurich';
const LATER = Date.parse('2030-01-01T00:00:00Z');
/** A fiscal year that starts on 6 April. */
const APRIL: FiscalCalendar = { fiscal_year_start: { month: 4, day: 6, named_by: 'end' } };

const rangeOf = (text: string): DateRange => {
  const [from = '', to = from] = text.split('..');
  return { from, to };
};
const textOf = ({ from, to }: DateRange): string => (from === to ? from : `${from}..${to}`);

/** The row that the row of this bucket is compared with, by the service or by `yearBefore`. */
function partnerBucket(range: DateRange, granularity: Granularity, kind: ComparisonKind, label: string) {
  const buckets = buildBuckets(range, granularity);
  const index = buckets.findIndex((bucket) => bucket.label === label);
  const bucket = buckets[index];
  if (bucket === undefined) throw new Error(`no bucket ${label}`);
  if (kind === 'previous_year') return { bucket, partner: yearBefore(bucket, granularity) };
  const before = findPartner(range, kind);
  const partner: Bucket | undefined = before === undefined ? undefined : buildBuckets(before, granularity)[index];
  return { bucket, partner };
}

const period = 'previous_period';
const year = 'previous_year';

/** Found by hand with a wall calendar: granularity, range, comparison, bucket, its partner, why it is not compared. */
const ROWS: readonly (readonly [
  Granularity,
  string,
  ComparisonKind,
  string,
  string | null,
  NotComparableReason | null,
])[] = [
  // A week is compared with the week before: Monday with Monday, Sunday with Sunday.
  ['day', '2026-11-09..2026-11-15', period, '2026-11-09', '2026-11-02', null],
  ['day', '2026-11-09..2026-11-15', period, '2026-11-15', '2026-11-08', null],
  // October and September: a Thursday and a Tuesday, a Tuesday and a Sunday. The 31st has no partner.
  ['day', '2026-10-01..2026-10-31', period, '2026-10-01', '2026-09-01', 'weekdays'],
  ['day', '2026-10-01..2026-10-31', period, '2026-10-20', '2026-09-20', 'weekdays'],
  ['day', '2026-10-01..2026-10-31', period, '2026-10-31', null, 'no_partner'],
  // March after a February of 28 days: the weekdays agree. Three days are left over, one of them with 23 hours.
  ['day', '2026-03-01..2026-03-31', period, '2026-03-01', '2026-02-01', null],
  ['day', '2026-03-01..2026-03-31', period, '2026-03-28', '2026-02-28', null],
  ['day', '2026-03-01..2026-03-31', period, '2026-03-29', null, 'no_partner'],
  // March after a February of 29 days.
  ['day', '2024-03-01..2024-03-31', period, '2024-03-29', '2024-02-29', 'weekdays'],
  ['day', '2026-02-01..2026-02-28', period, '2026-02-01', '2026-01-01', 'weekdays'],
  ['day', '2026-11-16', period, '2026-11-16', '2026-11-15', 'weekdays'],
  // Days a year before have the same weekday, even when clocks change and around the leap day.
  ['day', '2026-10-01..2026-10-31', year, '2026-10-20', '2025-10-21', null],
  ['day', '2026-03-01..2026-03-31', year, '2026-03-29', '2025-03-30', null],
  ['day', '2026-10-01..2026-10-31', year, '2026-10-25', '2025-10-26', null],
  ['day', '2024-02-01..2024-02-29', year, '2024-02-29', '2023-03-02', null],
  ['day', '2025-02-01..2025-02-28', year, '2025-02-28', '2024-03-01', null],
  ['day', '2026-12-28..2027-01-03', year, '2027-01-01', '2026-01-02', null],
  // Weeks of October (Thu 1 to Sat 31) with those of September (Tue 1 to Wed 30).
  ['week', '2026-10-01..2026-10-31', period, '2026-09-28', '2026-09-01..2026-09-06', 'partial'],
  ['week', '2026-10-01..2026-10-31', period, '2026-10-05', '2026-09-07..2026-09-13', null],
  ['week', '2026-10-01..2026-10-31', period, '2026-10-26', '2026-09-28..2026-09-30', 'partial'],
  // August 2026 begins on a Saturday and has six weeks, July five.
  ['week', '2026-08-01..2026-08-31', period, '2026-08-03', '2026-07-06..2026-07-12', null],
  ['week', '2026-08-01..2026-08-31', period, '2026-08-24', '2026-07-27..2026-07-31', 'partial'],
  ['week', '2026-08-01..2026-08-31', period, '2026-08-31', null, 'no_partner'],
  ['week', '2026-10-19..2026-11-15', period, '2026-10-19', '2026-09-21..2026-09-27', null],
  ['week', '2026-12-28..2027-01-03', period, '2026-12-28', '2026-12-21..2026-12-27', null],
  // The same ISO week a year before. A week cut by the range is compared with the same weekdays.
  ['week', '2026-11-09..2026-11-15', year, '2026-11-09', '2025-11-10..2025-11-16', null],
  ['week', '2026-10-01..2026-10-31', year, '2026-09-28', '2025-10-02..2025-10-05', null],
  ['week', '2026-10-01..2026-10-31', year, '2026-10-26', '2025-10-27..2025-11-01', null],
  ['week', '2026-12-29..2027-01-10', year, '2027-01-04', '2025-12-29..2026-01-04', null],
  // 2020 and 2026 have a week 53, the years before have none; after it, weeks are 53 weeks apart.
  ['week', '2026-12-28..2027-01-03', year, '2026-12-28', null, 'no_partner'],
  ['week', '2026-12-01..2026-12-31', year, '2026-12-28', null, 'no_partner'],
  ['week', '2020-12-28..2021-01-03', year, '2020-12-28', null, 'no_partner'],
  ['week', '2021-12-27..2022-01-02', year, '2021-12-27', '2020-12-21..2020-12-27', null],
  ['week', '2027-12-27..2028-01-02', year, '2027-12-27', '2026-12-21..2026-12-27', null],
  ['week', '2028-01-03..2028-01-09', year, '2028-01-03', '2027-01-04..2027-01-10', null],
  ['week', '2026-12-21..2026-12-27', year, '2026-12-21', '2025-12-22..2025-12-28', null],
  // Months are comparable whatever their length.
  ['month', '2026-10-01..2026-10-31', period, '2026-10-01', '2026-09-01..2026-09-30', null],
  ['month', '2026-07-01..2026-09-30', period, '2026-08-01', '2026-05-01..2026-05-31', null],
  ['month', '2026-03-01..2026-03-31', period, '2026-03-01', '2026-02-01..2026-02-28', null],
  ['month', '2024-03-01..2024-03-31', period, '2024-03-01', '2024-02-01..2024-02-29', null],
  ['month', '2026-02-01..2026-02-28', year, '2026-02-01', '2025-02-01..2025-02-28', null],
  ['month', '2024-02-01..2024-02-29', year, '2024-02-01', '2023-02-01..2023-02-28', null],
  ['month', '2025-02-01..2025-02-28', year, '2025-02-01', '2024-02-01..2024-02-29', null],
  ['month', '2025-10-01..2026-10-31', year, '2026-10-01', '2025-10-01..2025-10-31', null],
  // Cut by the range: 5 to 31 October is a Monday to a Saturday, and a Sunday to a Friday a year before.
  ['month', '2026-10-05..2026-11-12', year, '2026-10-01', '2025-10-05..2025-10-31', 'partial'],
  ['month', '2026-10-05..2026-11-12', year, '2026-11-01', '2025-11-01..2025-11-12', 'partial'],
  // A single leap day is compared with the last day of February.
  ['month', '2024-02-29..2024-03-10', year, '2024-02-01', '2023-02-28', 'partial'],
  ['month', '2026-08-15..2026-10-14', period, '2026-08-01', '2026-06-15..2026-06-30', 'partial'],
  ['month', '2026-08-15..2026-10-14', period, '2026-09-01', '2026-07-01..2026-07-31', null],
];

test.each(ROWS)('%s of %s, %s: bucket %s has partner %s (%s)', (granularity, days, kind, label, expected, reason) => {
  const range = rangeOf(days);
  const { bucket, partner } = partnerBucket(range, granularity, kind, label);
  expect(partner === undefined ? null : textOf(partner)).toBe(expected);
  const context = { timezone: ZURICH, asOf: LATER };
  expect(findRowMismatch(bucket, partner, granularity, context) ?? null).toBe(reason);
});

type Totals = ReturnType<typeof compareTotals>;
const like: Totals = { compared: true };

/** Totals, also found by hand: range, comparison, compared range, and whether they are compared. */
const TOTALS: readonly (readonly [string, ComparisonKind, string | null, Totals, FiscalCalendar?])[] = [
  ['2026-11-09..2026-11-15', period, '2026-11-02..2026-11-08', like],
  ['2026-10-01..2026-10-31', period, '2026-09-01..2026-09-30', { compared: true, days: [31, 30] }],
  ['2026-03-01..2026-03-31', period, '2026-02-01..2026-02-28', { compared: true, days: [31, 28] }],
  ['2024-03-01..2024-03-31', period, '2024-02-01..2024-02-29', { compared: true, days: [31, 29] }],
  ['2026-08-01..2026-08-31', period, '2026-07-01..2026-07-31', like],
  ['2026-01-01..2026-03-31', period, '2025-10-01..2025-12-31', { compared: true, days: [90, 92] }],
  ['2026-10-01..2026-12-31', period, '2026-07-01..2026-09-30', like],
  // Ten days from a Sunday, and ten days from a Thursday.
  ['2026-11-01..2026-11-10', period, '2026-10-22..2026-10-31', { compared: true, unlike: 'weekdays' }],
  ['2026-11-10..2026-11-12', period, '2026-11-07..2026-11-09', { compared: false, unlike: 'weekdays' }],
  ['2026-11-16', period, '2026-11-15', { compared: false, unlike: 'weekdays' }],
  ['2026-11-10..2026-11-12', year, '2025-11-11..2025-11-13', like],
  ['2026-10-01..2026-10-15', year, '2025-10-02..2025-10-16', like],
  ['2024-02-29', year, '2023-03-02', like],
  ['2026-02-01..2026-02-28', year, '2025-02-01..2025-02-28', like],
  ['2024-01-01..2024-12-31', year, '2023-01-01..2023-12-31', { compared: true, days: [366, 365] }],
  ['2023-03-01..2024-02-29', year, '2022-03-01..2023-02-28', { compared: true, days: [366, 365] }],
  ['2025-10-01..2026-10-31', year, '2024-10-01..2025-10-31', like],
  ['2026-10-19..2026-11-15', year, '2025-10-20..2025-11-16', like],
  ['2026-12-28..2027-01-03', year, null, { compared: false, unlike: 'no_partner' }],
  ['2026-12-07..2027-01-03', year, '2025-12-08..2026-01-04', like],
  ['2026-09-01..2026-10-15', year, '2025-09-02..2025-10-16', like],
  // Only whole weeks are compared with the weeks of the same number, which are 53 weeks earlier here.
  ['2027-12-27..2028-01-02', year, '2026-12-21..2026-12-27', like],
  ['2027-12-27..2027-12-29', year, '2026-12-28..2026-12-30', like],
  ['2027-12-29..2028-01-02', year, '2026-12-30..2027-01-03', like],
  ['2026-12-28..2027-01-10', year, '2025-12-29..2026-01-11', like],
  // Months of a fiscal year that starts on 6 April. The previous period of the service is as many days, not a fiscal month.
  ['2026-04-06..2026-05-05', period, '2026-03-07..2026-04-05', { compared: true, unlike: 'weekdays' }, APRIL],
  ['2026-04-06..2026-05-05', year, '2025-04-06..2025-05-05', like, APRIL],
  ['2024-02-06..2024-03-05', year, '2023-02-06..2023-03-05', { compared: true, days: [29, 28] }, APRIL],
  ['2026-04-06..2026-07-05', year, '2025-04-06..2025-07-05', like, APRIL],
  // Without a fiscal year this is a range of days.
  ['2026-04-06..2026-05-05', year, '2025-04-07..2025-05-06', like],
];

test.each(
  TOTALS.map(([days, kind, expected, comparison, calendar = {}]) => ({ days, kind, expected, comparison, calendar })),
)('the total of $days has the partner $expected for $kind', ({ days, kind, expected, comparison, calendar }) => {
  const range = rangeOf(days);
  const partner = findPartner(range, kind, calendar);
  expect(partner === undefined ? null : textOf(partner)).toBe(expected);
  expect(compareTotals(range, partner, { timezone: ZURICH, asOf: LATER, calendar })).toStrictEqual(comparison);
});

test.each<[string, string, Totals, readonly [number, number] | null]>([
  // Totals of seven days or more are compared in spite of other weekdays.
  ['2026-11-09..2026-11-15', '2026-11-03..2026-11-09', { compared: true, unlike: 'weekdays' }, null],
  ['2026-11-09..2026-11-14', '2026-11-03..2026-11-08', { compared: false, unlike: 'weekdays' }, null],
  ['2026-11-09..2026-11-18', '2026-11-01..2026-11-08', { compared: true, unlike: 'length', days: [10, 8] }, [10, 8]],
  ['2026-11-09..2026-11-18', '2026-11-03..2026-11-08', { compared: false, unlike: 'length' }, [10, 6]],
  ['2026-11-09..2026-11-12', '2026-11-01..2026-11-08', { compared: false, unlike: 'length' }, [4, 8]],
])('totals of %s and %s are compared only if both have seven days or more', (range, partner, comparison, days) => {
  const context = { timezone: ZURICH, asOf: LATER };
  expect(compareTotals(rangeOf(range), rangeOf(partner), context)).toStrictEqual(comparison);
  expect(differentLengths(rangeOf(range), rangeOf(partner))).toEqual(days);
  expect(differentLengths(undefined, rangeOf(partner))).toBeNull();
  expect(differentLengths(rangeOf(range), undefined)).toBeNull();
});

test('days have partners and ends even if the local time zone skipped one of them', () => {
  const { defaultZone } = Settings;
  // Samoa had no 30 December 2011.
  Settings.defaultZone = 'Pacific/Apia';
  try {
    expect(textOf(buildBuckets(rangeOf('2011-12-29..2011-12-31'), 'day')[1]!)).toBe('2011-12-30');
    expect(textOf(findPartner(rangeOf('2012-12-28'), year)!)).toBe('2011-12-30');
    expect(textOf(yearBefore({ label: '2012-12-24', from: '2012-12-24', to: '2012-12-28' }, 'week')!)).toBe(
      '2011-12-26..2011-12-30',
    );
  } finally {
    Settings.defaultZone = defaultZone;
  }
});

describe('a range is unfinished until the end of its last day in its time zone:', () => {
  // Days of 24, 23 and 25 hours, and a day of 24 hours in winter time.
  test.each([
    ['2026-07-01', '2026-07-01T22:00:00Z'],
    ['2026-03-29', '2026-03-29T22:00:00Z'],
    ['2026-10-25', '2026-10-25T23:00:00Z'],
    ['2026-10-31', '2026-10-31T23:00:00Z'],
  ])('%s ends at %s', (day, end) => {
    const range = rangeOf(day);
    const bucket = { ...range, label: day };
    const partner = yearBefore(bucket, 'day');
    const at = (asOf: number) => ({ timezone: ZURICH, asOf });
    expect(findRowMismatch(bucket, partner, 'day', at(Date.parse(end) - 1))).toBe('unfinished');
    expect(findRowMismatch(bucket, partner, 'day', at(Date.parse(end)))).toBeUndefined();
    expect(compareTotals(range, partner, at(Date.parse(end) - 1))).toEqual({ compared: false, unlike: 'unfinished' });
    expect(compareTotals(range, partner, at(Date.parse(end)))).toEqual(like);
  });
});

test.each<[string, 'year' | 'fiscal_year' | 'quarter', string, FiscalCalendar]>([
  ['2026-10-01..2026-10-31', 'year', '2026-01-01..2026-10-31', {}],
  ['2026-12-28..2027-01-03', 'year', '2027-01-01..2027-01-03', {}],
  ['2024-02-01..2024-02-29', 'quarter', '2024-01-01..2024-02-29', {}],
  ['2026-03-01..2026-03-31', 'fiscal_year', '2025-04-06..2026-03-31', APRIL],
  ['2026-04-01..2026-04-06', 'fiscal_year', '2026-04-06..2026-04-06', APRIL],
  ['2026-10-01..2026-10-31', 'quarter', '2026-10-06..2026-10-31', APRIL],
  ['2026-10-01..2026-10-05', 'quarter', '2026-07-06..2026-10-05', APRIL],
  ['2026-10-01..2026-10-06', 'quarter', '2026-10-06..2026-10-06', APRIL],
  ['2026-10-01..2026-10-31', 'year', '2026-01-01..2026-10-31', APRIL],
])('the figures to date of %s, by %s, cover %s', (days, unit, expected, calendar) => {
  const { from, to } = toDateRange(rangeOf(days), unit, calendar);
  expect(`${from}..${to}`).toBe(expected);
});

/* The same rules, implemented independently with another calendar library, by counting instead of computing. */

const day = (text: string) => Temporal.PlainDate.from(text);
const isSame = (a: Temporal.PlainDate, b: Temporal.PlainDate) => Temporal.PlainDate.compare(a, b) === 0;
const isBefore = (a: Temporal.PlainDate, b: Temporal.PlainDate) => Temporal.PlainDate.compare(a, b) < 0;
const count = (range: DateRange) => day(range.from).until(day(range.to)).days + 1;

/** The number of whole months that start on this day of the month, counted one by one. */
function countMonths(range: DateRange, first: number): number {
  if (day(range.from).day !== first) return 0;
  const after = day(range.to).add({ days: 1 });
  for (let months = 1; months <= 60; months += 1) {
    const next = day(range.from).add({ months });
    if (isSame(next, after)) return months;
    if (isBefore(after, next)) return 0;
  }
  return 0;
}

/** The Monday of the same week number a year before, searched among earlier Mondays. */
function sameWeekBefore(monday: Temporal.PlainDate): Temporal.PlainDate | undefined {
  for (const weeks of [51, 52, 53, 54]) {
    const before = monday.subtract({ weeks });
    if (before.yearOfWeek === Number(monday.yearOfWeek) - 1 && before.weekOfYear === monday.weekOfYear) return before;
  }
  return undefined;
}

const months = (range: DateRange, first: number | undefined) =>
  countMonths(range, 1) || (first === undefined ? 0 : countMonths(range, first));

function independentPartner(range: DateRange, kind: ComparisonKind, first: number | undefined): string | null {
  const [from, to] = [day(range.from), day(range.to)];
  const text = (a: Temporal.PlainDate, b: Temporal.PlainDate) => textOf({ from: a.toString(), to: b.toString() });
  if (kind === 'previous_period') {
    const calendarMonths = countMonths(range, 1);
    const start =
      calendarMonths > 0 ? from.subtract({ months: calendarMonths }) : from.subtract({ days: count(range) });
    return text(start, from.subtract({ days: 1 }));
  }
  if (months(range, first) > 0) {
    return text(from.subtract({ years: 1 }), to.add({ days: 1 }).subtract({ years: 1 }).subtract({ days: 1 }));
  }
  if (from.dayOfWeek === 1 && to.dayOfWeek === 7) {
    const week = sameWeekBefore(from);
    if (week === undefined && count(range) === 7) return null;
    if (week !== undefined) return text(week, week.add({ days: count(range) - 1 }));
  }
  return text(from.subtract({ days: 364 }), to.subtract({ days: 364 }));
}

const isLike = (a: DateRange, b: DateRange, first: number | undefined): boolean => {
  const whole = months(a, first);
  if (whole > 0 && whole === months(b, first)) return true;
  return count(a) === count(b) && day(a.from).dayOfWeek === day(b.from).dayOfWeek;
};

const START = day('2018-12-20');
/** Ranges of days, whole weeks and whole months, across leap years and years with 53 weeks. */
const ranges: fc.Arbitrary<DateRange> = fc
  .record({
    offset: fc.nat({ max: 3600 }),
    length: fc.integer({ min: 1, max: 420 }),
    whole: fc.constantFrom('days', 'weeks', 'months', 'fiscal'),
  })
  .map(({ offset, length, whole }) => {
    const at = START.add({ days: offset });
    if (whole === 'weeks') {
      const from = at.subtract({ days: at.dayOfWeek - 1 });
      return { from: from.toString(), to: from.add({ days: 7 * (1 + (length % 8)) - 1 }).toString() };
    }
    if (whole === 'days') return { from: at.toString(), to: at.add({ days: length - 1 }).toString() };
    const from = at.with({ day: whole === 'months' ? 1 : 6 });
    const to = from.add({ months: 1 + (length % 14) }).subtract({ days: 1 });
    return { from: from.toString(), to: to.toString() };
  });
const calendars = fc.constantFrom<FiscalCalendar>({}, APRIL);
const firstOf = ({ fiscal_year_start: fiscal }: FiscalCalendar) => fiscal?.day;

test('partners of ranges, and whether they are comparable, agree with another calendar library', () => {
  let likes = 0;
  fc.assert(
    fc.property(ranges, fc.constantFrom(period, year), calendars, (range, kind, calendar) => {
      const partner = findPartner(range, kind, calendar);
      const first = firstOf(calendar);
      expect(partner === undefined ? null : textOf(partner)).toBe(independentPartner(range, kind, first));
      if (partner === undefined) return;
      const unlike = findMismatch(range, partner, calendar);
      if (unlike === undefined) likes += 1;
      expect(unlike === undefined).toBe(isLike(range, partner, first));
      if (unlike !== undefined) expect(unlike).toBe(count(range) === count(partner) ? 'weekdays' : 'length');
    }),
    cases(800),
  );
  expect(likes).toBeGreaterThan(least(100));
});

test('partners of buckets agree with another calendar library and are within the requested days', () => {
  fc.assert(
    fc.property(ranges, fc.constantFrom<Granularity>('day', 'week', 'month'), (range, granularity) => {
      const buckets = buildBuckets(range, granularity);
      const requested = yearBeforeRange(buckets, granularity);
      const answered = requested === undefined ? [] : buildBuckets(requested, granularity);
      for (const bucket of buckets) {
        const partner = yearBefore(bucket, granularity);
        const label = day(bucket.label);
        const expected =
          granularity === 'day'
            ? label.subtract({ weeks: 52 })
            : granularity === 'week'
              ? sameWeekBefore(label)
              : label.subtract({ years: 1 });
        expect(partner?.label).toBe(expected?.toString());
        if (partner === undefined) {
          expect([granularity, label.weekOfYear]).toEqual(['week', 53]);
          continue;
        }
        // The response for the whole requested range contains each partner.
        expect(answered).toContainEqual(partner);
        // Days and weeks a year before are comparable, even when cut.
        if (granularity !== 'month') expect(isLike(bucket, partner, undefined)).toBe(true);
        const unlike = findRowMismatch(bucket, partner, granularity, { timezone: 'UTC', asOf: LATER });
        expect(unlike === undefined).toBe(isLike(bucket, partner, undefined));
      }
    }),
    cases(40),
  );
});

test('the start of a year or quarter to date agrees with another calendar library', () => {
  const units = fc.constantFrom('year' as const, 'fiscal_year' as const, 'quarter' as const);
  fc.assert(
    fc.property(ranges, units, calendars, (range, unit, calendar) => {
      const { month, day: first } =
        unit === 'year' ? { month: 1, day: 1 } : (calendar.fiscal_year_start ?? { month: 1, day: 1 });
      let at = day(range.to);
      const begins = () => at.day === first && (unit === 'quarter' ? (at.month - month) % 3 === 0 : at.month === month);
      while (!begins()) at = at.subtract({ days: 1 });
      expect(toDateRange(range, unit, calendar)).toEqual({ from: at.toString(), to: range.to });
    }),
    cases(200),
  );
});
