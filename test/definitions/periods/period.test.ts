import fc from 'fast-check';
import { DateTime } from 'luxon';
import { describe, expect, test } from 'vitest';
import { DocketError } from '../../../src/base/error.ts';
import {
  formatPeriod,
  parsePeriod,
  resolvePeriod,
  resolveReportPeriod,
} from '../../../src/definitions/periods/period.ts';
import { WEEKDAYS } from '../../../src/definitions/schedules/civil-day.ts';
import { orgFileSchema } from '../../../src/definitions/schema/org-settings.ts';
import { NAMED_PERIODS, type PeriodSpec, periodSpecSchema } from '../../../src/definitions/schema/report-definition.ts';
import { cases } from '../../support/fuzz.ts';

const ZONES = [
  'UTC',
  'Europe/Zurich',
  'America/New_York',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'Asia/Kathmandu',
  'Africa/Cairo',
  'America/Asuncion',
];
const MONDAY = Date.parse('2026-11-23T07:00:00Z');

const range = (spec: PeriodSpec, at = MONDAY, zone = 'Europe/Zurich') => {
  const { from, to, label } = resolvePeriod(spec, at, zone);
  return `${from} ${to} ${label}`;
};

describe('a named period', () => {
  test.each([
    ['previous_day', '2026-11-22 2026-11-22 2026-11-22'],
    ['previous_week', '2026-11-16 2026-11-22 2026-W47'],
    ['previous_month', '2026-10-01 2026-10-31 2026-10'],
    ['previous_quarter', '2026-07-01 2026-09-30 2026-Q3'],
    ['previous_year', '2025-01-01 2025-12-31 2025'],
    ['current_day', '2026-11-23 2026-11-23 2026-11-23'],
    ['current_week', '2026-11-23 2026-11-29 2026-W48'],
    ['current_month', '2026-11-01 2026-11-30 2026-11'],
    ['current_quarter', '2026-10-01 2026-12-31 2026-Q4'],
    ['current_year', '2026-01-01 2026-12-31 2026'],
    ['week_to_date', '2026-11-23 2026-11-23 2026-11-23'],
    ['month_to_date', '2026-11-01 2026-11-23 2026-11-01 to 2026-11-23'],
    ['quarter_to_date', '2026-10-01 2026-11-23 2026-10-01 to 2026-11-23'],
    ['year_to_date', '2026-01-01 2026-11-23 2026-01-01 to 2026-11-23'],
    ['last_1_days', '2026-11-22 2026-11-22 2026-11-22'],
    ['last_30_days', '2026-10-24 2026-11-22 2026-10-24 to 2026-11-22'],
    ['last_1_weeks', '2026-11-16 2026-11-22 2026-W47'],
    ['last_4_weeks', '2026-10-26 2026-11-22 2026-10-26 to 2026-11-22'],
    ['last_3_months', '2026-08-01 2026-10-31 2026-08-01 to 2026-10-31'],
    ['last_12_months', '2025-11-01 2026-10-31 2025-11-01 to 2026-10-31'],
  ] as const)('has the right days and label: %s', (spec, expected) => {
    expect(range(spec)).toBe(expected);
  });

  test('depends on the time zone, where an instant can be another day', () => {
    const at = Date.parse('2026-11-23T02:00:00Z');
    expect(range('previous_day', at, 'UTC')).toMatch(/^2026-11-22/);
    expect(range('previous_day', at, 'America/New_York')).toMatch(/^2026-11-21/);
    expect(range('previous_week', at, 'America/New_York')).toMatch(/2026-W46$/);
  });

  test('crosses years according to the ISO calendar', () => {
    const at = Date.parse('2027-01-04T07:00:00Z');
    expect(range('previous_week', at)).toBe('2026-12-28 2027-01-03 2026-W53');
    expect(range('previous_quarter', at)).toBe('2026-10-01 2026-12-31 2026-Q4');
  });

  test('has the right day when clocks change', () => {
    // On 2026-04-24 there is no midnight in Cairo, and on 2026-10-25 there are two 02:30 in Zurich.
    expect(range('current_day', Date.parse('2026-04-23T22:00:00Z'), 'Africa/Cairo')).toMatch(/^2026-04-24/);
    expect(range('current_day', Date.parse('2026-04-23T21:59:59Z'), 'Africa/Cairo')).toMatch(/^2026-04-23/);
    for (const at of ['2026-10-25T00:30:00Z', '2026-10-25T01:30:00Z']) {
      expect(range('previous_day', Date.parse(at))).toMatch(/^2026-10-24/);
    }
  });

  test('is frozen', () => {
    expect(Object.isFrozen(resolvePeriod('previous_week', MONDAY, 'UTC'))).toBe(true);
  });
});

const settings = (over: object = {}) =>
  orgFileSchema.parse({ org: 7, api_key: { env: 'K' }, timezone: 'Europe/London', recipients: {}, ...over });
const fiscal = (month: number, day = 1, named_by: 'end' | 'start' = 'end') =>
  settings({ fiscal_year_start: { month, day, named_by } });
const words = (
  spec: PeriodSpec,
  org: ReturnType<typeof settings>,
  at = '2026-11-23T07:00Z',
  locale?: string,
  requested?: PeriodSpec,
) => {
  const { from, to, label } = resolveReportPeriod({ period: spec, locale }, org, Date.parse(at), requested);
  return `${from} ${to} ${label}`;
};

describe('a fiscal year', () => {
  test.each([
    ['previous_quarter', fiscal(4), '2026-07-01 2026-09-30 FY2027-Q2'],
    ['current_quarter', fiscal(4), '2026-10-01 2026-12-31 FY2027-Q3'],
    ['previous_year', fiscal(4), '2025-04-01 2026-03-31 FY2026'],
    ['current_year', fiscal(4, 1, 'start'), '2026-04-01 2027-03-31 FY2026'],
    ['current_year', fiscal(4, 6), '2026-04-06 2027-04-05 FY2027'],
    ['previous_quarter', fiscal(4, 6), '2026-07-06 2026-10-05 FY2027-Q2'],
    ['current_quarter', fiscal(12), '2026-09-01 2026-11-30 FY2026-Q4'],
    ['previous_quarter', fiscal(2), '2026-08-01 2026-10-31 FY2027-Q3'],
    ['year_to_date', fiscal(7), '2026-07-01 2026-11-23 2026-07-01 to 2026-11-23'],
    ['quarter_to_date', fiscal(9), '2026-09-01 2026-11-23 2026-09-01 to 2026-11-23'],
    // A fiscal year does not change these.
    ['previous_month', fiscal(4, 6), '2026-10-01 2026-10-31 2026-10'],
    ['previous_week', fiscal(4), '2026-11-16 2026-11-22 2026-W47'],
    ['previous_quarter', fiscal(1), '2026-07-01 2026-09-30 2026-Q3'],
    ['previous_year', fiscal(1), '2025-01-01 2025-12-31 2025'],
  ] as const)('has the right days and label for %s', (spec, org, expected) => {
    expect(words(spec, org)).toBe(expected);
  });

  test('starts at midnight of its first day in the time zone', () => {
    expect(words('current_year', fiscal(4, 6), '2026-04-05T22:59Z')).toContain('FY2026');
    expect(words('current_year', fiscal(4, 6), '2026-04-05T23:00Z')).toContain('FY2027');
    expect(words('year_to_date', fiscal(4, 6), '2026-04-06T12:00Z')).toBe('2026-04-06 2026-04-06 2026-04-06');
  });

  test('is abbreviated as GJ in German', () => {
    expect(words('previous_quarter', fiscal(4), undefined, 'de-CH')).toContain('GJ2027-Q2');
  });

  test('names a quarter even if it is requested by its dates; other dates have the names of the calendar', () => {
    const dates = { from: '2026-07-01', to: '2026-09-30' };
    expect(words('previous_quarter', fiscal(4), undefined, undefined, dates)).toContain('FY2027-Q2');
    expect(words('previous_month', fiscal(4), undefined, undefined, dates)).toContain(' 2026-Q3');
    expect(words('previous_quarter', fiscal(2), undefined, undefined, dates)).toContain(' 2026-Q3');
    expect(words('previous_quarter', fiscal(4), undefined, undefined, parsePeriod('2026-Q3'))).toContain('FY2027-Q2');
  });

  test('is shown to readers with label and dates', () => {
    const report = (locale: string) =>
      formatPeriod(resolveReportPeriod({ period: 'previous_quarter', locale }, fiscal(4), MONDAY), locale);
    expect(report('en-GB')).toBe('FY2027-Q2, July to September 2026 (Europe/London)');
    expect(report('de-CH')).toMatch(/^GJ2027-Q2, Juli.September 2026 \(Europe\/London\)$/);
  });
});

describe('a week that starts on Sunday', () => {
  const sunday = settings({ week_start: 'SUN' });
  test.each([
    ['previous_week', '2026-11-15 2026-11-21 2026-11-15 to 2026-11-21'],
    ['current_week', '2026-11-22 2026-11-28 2026-11-22 to 2026-11-28'],
    ['week_to_date', '2026-11-22 2026-11-23 2026-11-22 to 2026-11-23'],
    ['last_2_weeks', '2026-11-08 2026-11-21 2026-11-08 to 2026-11-21'],
    ['previous_month', '2026-10-01 2026-10-31 2026-10'],
  ] as const)('has the right days and label for %s', (spec, expected) => {
    expect(words(spec, sunday)).toBe(expected);
  });
});

describe('for any instant, zone, fiscal year and first day of the week,', () => {
  const reckonings = fc.record({
    fiscal_year_start: fc.record({
      month: fc.integer({ min: 1, max: 12 }),
      day: fc.integer({ min: 1, max: 28 }),
      named_by: fc.constantFrom('end' as const, 'start' as const),
    }),
    week_start: fc.constantFrom(...WEEKDAYS),
  });
  const anyCase = fc.tuple(
    fc.integer({ min: Date.parse('2000-01-01'), max: Date.parse('2099-12-31') }),
    fc.constantFrom(...ZONES),
    reckonings,
  );
  const get = (spec: PeriodSpec, [at, zone, reckoning]: [number, string, object]) =>
    resolvePeriod(spec, at, zone, undefined, reckoning);
  const shifted = (date: string, days: number) => DateTime.fromISO(date, { zone: 'utc' }).plus({ days }).toISODate();

  test.each(['week', 'quarter', 'year'] as const)(
    'the current %s contains the day, the previous one ends the day before it, and to date ends on the day',
    (unit) => {
      fc.assert(
        fc.property(anyCase, (one) => {
          const today = DateTime.fromMillis(one[0], { zone: one[1] }).toISODate() ?? '';
          const [current, previous, toDate] = [
            get(`current_${unit}`, one),
            get(`previous_${unit}`, one),
            get(`${unit}_to_date`, one),
          ];
          expect(current.from <= today && today <= current.to).toBe(true);
          expect(previous.to).toBe(shifted(current.from, -1));
          expect(toDate).toMatchObject({ from: current.from, to: today });
          const days = DateTime.fromISO(previous.to).diff(DateTime.fromISO(previous.from), 'days').days + 1;
          const [least, most] = { week: [7, 7], quarter: [89, 92], year: [365, 366] }[unit];
          expect(Math.round(days)).toBeGreaterThanOrEqual(least ?? 0);
          expect(Math.round(days)).toBeLessThanOrEqual(most ?? 0);
        }),
        cases(300),
      );
    },
  );

  test('four quarters make up a year and are named after it', () => {
    fc.assert(
      fc.property(anyCase, ([at, zone, reckoning]) => {
        const { fiscal_year_start } = reckoning;
        fc.pre(fiscal_year_start.month !== 1 || fiscal_year_start.day !== 1);
        const year = get('current_year', [at, zone, reckoning]);
        let first = year.from;
        for (const quarter of [1, 2, 3, 4]) {
          const noon = Date.parse(`${first}T12:00Z`);
          const one = get('current_quarter', [noon, 'UTC', reckoning]);
          expect(one).toMatchObject({ from: first, label: `${year.label}-Q${quarter}` });
          first = shifted(one.to, 1) ?? '';
        }
        expect(first).toBe(shifted(year.to, 1));
        const named = Number(year.label.slice(2));
        expect(named).toBe(Number((fiscal_year_start.named_by === 'end' ? year.to : year.from).slice(0, 4)));
      }),
      cases(300),
    );
  });

  test('a week starts on the first day of the week', () => {
    fc.assert(
      fc.property(anyCase, (one) => {
        const { from } = get('current_week', one);
        expect(WEEKDAYS[DateTime.fromISO(from).weekday - 1]).toBe(one[2].week_start);
      }),
      cases(300),
    );
  });
});

describe('for any instant and zone,', () => {
  const instant = fc.integer({ min: Date.parse('2000-01-01'), max: Date.parse('2099-12-31') });
  const zone = fc.constantFrom(...ZONES);
  const spec = fc.oneof(
    fc.constantFrom(...NAMED_PERIODS),
    fc.tuple(fc.integer({ min: 1, max: 366 }), fc.constant('days')).map(([n, unit]) => `last_${n}_${unit}`),
    fc.tuple(fc.integer({ min: 1, max: 52 }), fc.constant('weeks')).map(([n, unit]) => `last_${n}_${unit}`),
    fc.tuple(fc.integer({ min: 1, max: 12 }), fc.constant('months')).map(([n, unit]) => `last_${n}_${unit}`),
  );
  const civil = (date: string) => DateTime.fromISO(date, { zone: 'utc' });
  const dayAfter = (date: string) => civil(date).plus({ days: 1 }).toISODate();

  test('the period has at most 366 days, and its label fits into a file name', () => {
    fc.assert(
      fc.property(spec, instant, zone, (written, at, timezone) => {
        expect(periodSpecSchema.safeParse(written).success).toBe(true);
        const { from, to, label } = resolvePeriod(written, at, timezone);
        const days = civil(to).diff(civil(from), 'days').days + 1;
        expect(days).toBeGreaterThanOrEqual(1);
        expect(days).toBeLessThanOrEqual(366);
        expect(label).toMatch(/^[0-9A-Za-z -]+$/);
        expect(resolvePeriod({ from, to }, at, timezone)).toEqual({ from, to, timezone, label });
      }),
    );
  });

  test('the previous unit ends the day before the current one, which contains the day of the instant', () => {
    fc.assert(
      fc.property(fc.constantFrom('day', 'week', 'month', 'quarter', 'year'), instant, zone, (unit, at, timezone) => {
        const resolve = (name: string) => resolvePeriod(periodSpecSchema.parse(name), at, timezone);
        const previous = resolve(`previous_${unit}`);
        const current = resolve(`current_${unit}`);
        const today = DateTime.fromMillis(at, { zone: timezone }).toFormat('yyyy-MM-dd');
        expect(dayAfter(previous.to)).toBe(current.from);
        expect(current.from <= today && today <= current.to).toBe(true);
        if (unit !== 'day') expect(resolve(`${unit}_to_date`)).toMatchObject({ from: current.from, to: today });
      }),
    );
  });

  test('a weekly report includes each day exactly once', () => {
    fc.assert(
      fc.property(instant, zone, (at, timezone) => {
        const local = DateTime.fromMillis(at, { zone: timezone });
        const first = resolvePeriod('previous_week', at, timezone);
        const second = resolvePeriod('previous_week', local.plus({ weeks: 1 }).toMillis(), timezone);
        expect(dayAfter(first.to)).toBe(second.from);
      }),
    );
  });

  test('the label of a period is read as the same period', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('previous_day', 'previous_week', 'previous_month', 'previous_quarter', 'previous_year'),
        instant,
        (name, at) => {
          const period = resolvePeriod(name, at, 'UTC');
          expect(resolvePeriod(parsePeriod(period.label), at, 'UTC')).toEqual(period);
        },
      ),
    );
  });
});

describe('--period', () => {
  test.each([
    ['previous_month', 'previous_month'],
    ['last_30_days', 'last_30_days'],
    ['2026-09', { from: '2026-09-01', to: '2026-09-30' }],
    ['2024-02', { from: '2024-02-01', to: '2024-02-29' }],
    ['2026-W46', { from: '2026-11-09', to: '2026-11-15' }],
    ['2026-W53', { from: '2026-12-28', to: '2027-01-03' }],
    ['2026', { from: '2026-01-01', to: '2026-12-31' }],
    ['2026-Q3', { from: '2026-07-01', to: '2026-09-30' }],
    ['2026-11-01', { from: '2026-11-01', to: '2026-11-01' }],
    ['2026-11-01..2026-11-15', { from: '2026-11-01', to: '2026-11-15' }],
  ])('reads %s as the right days', (text, expected) => {
    expect(parsePeriod(text)).toEqual(expected);
  });

  test.each([
    '',
    'last week',
    '2026-13',
    '2026-00',
    '2025-W53',
    '2026-W00',
    '2026-Q5',
    '2026-02-30',
    '2026-11-15..2026-11-01',
    '2014-01-01..2026-01-01',
    'last_0_days',
    'last_4000_days',
    '{}',
    '2026-11-01..',
    '../../etc',
  ])('%j is refused with an error that lists valid values', (text) => {
    const refusal = (() => {
      try {
        return parsePeriod(text);
      } catch (error) {
        return error;
      }
    })();
    expect(refusal).toBeInstanceOf(DocketError);
    expect(refusal).toMatchObject({
      code: 'usage.invalid',
      where: '--period',
      expected: expect.stringMatching(/2026-W46|"from"|days/),
    });
  });

  test('any text gives a period or a usage error', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.stringMatching(/^\d{4}(-[WQ]?\d{1,2})?(-\d\d)?(\.\.\d{4}-\d\d-\d\d)?$/)),
        (text) => {
          try {
            const { from, to } = resolvePeriod(parsePeriod(text), MONDAY, 'UTC');
            expect(from <= to).toBe(true);
          } catch (error) {
            expect(error).toMatchObject({ code: 'usage.invalid' });
          }
        },
      ),
    );
  });
});

describe('the text of a period', () => {
  const words = (spec: PeriodSpec, locale?: string) =>
    formatPeriod(resolvePeriod(spec, MONDAY, 'Europe/Zurich'), locale);

  test.each([
    ['previous_week', 'Monday 16 to Sunday 22 November 2026 (Europe/Zurich)'],
    ['previous_day', 'Sunday 22 November 2026 (Europe/Zurich)'],
    ['previous_month', 'October 2026 (Europe/Zurich)'],
    ['previous_quarter', 'July to September 2026 (Europe/Zurich)'],
    ['previous_year', '2025 (Europe/Zurich)'],
    ['last_12_months', 'November 2025 to October 2026 (Europe/Zurich)'],
    ['last_30_days', 'Saturday 24 October to Sunday 22 November 2026 (Europe/Zurich)'],
  ] as const)('is readable for %s', (spec, expected) => {
    expect(words(spec)).toBe(expected);
  });

  test('names both years if the period spans the turn of the year', () => {
    expect(words({ from: '2025-12-29', to: '2026-01-04' })).toBe(
      'Monday 29 December 2025 to Sunday 4 January 2026 (Europe/Zurich)',
    );
  });

  test('follows the rules of another language', () => {
    expect(words('previous_month', 'de-CH')).toBe('Oktober 2026 (Europe/Zurich)');
    expect(words('previous_week', 'de-CH')).toMatch(/^Montag, 16\..*Sonntag, 22\. November 2026 \(Europe\/Zurich\)$/);
  });
});
