import fc from 'fast-check';
import { DateTime } from 'luxon';
import { describe, expect, test } from 'vitest';
import { DocketError } from '../../src/base/error.ts';
import { NAMED_PERIODS, type PeriodSpec, periodSpecSchema } from '../../src/define/definition.ts';
import { inWords, parsePeriod, resolvePeriod } from '../../src/define/period.ts';

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

describe('a period by its name', () => {
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
  ] as const)('%s', (spec, expected) => {
    expect(range(spec)).toBe(expected);
  });

  test('is read in the zone: one instant is two days', () => {
    const at = Date.parse('2026-11-23T02:00:00Z');
    expect(range('previous_day', at, 'UTC')).toMatch(/^2026-11-22/);
    expect(range('previous_day', at, 'America/New_York')).toMatch(/^2026-11-21/);
    expect(range('previous_week', at, 'America/New_York')).toMatch(/2026-W46$/);
  });

  test('crosses years by the ISO calendar', () => {
    const at = Date.parse('2027-01-04T07:00:00Z');
    expect(range('previous_week', at)).toBe('2026-12-28 2027-01-03 2026-W53');
    expect(range('previous_quarter', at)).toBe('2026-10-01 2026-12-31 2026-Q4');
  });

  test('knows the day of the instant on days that change their offset', () => {
    // Midnight does not exist in Cairo on 2026-04-24, and 02:30 comes twice in Zurich on 2026-10-25.
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

describe('for every instant and zone', () => {
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

  test('the period is one that a definition may write, at most 366 days, and its label fits a file name', () => {
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

  test('the previous unit ends the day before the current one, which holds the day of the instant', () => {
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

  test('a weekly report leaves no day out and counts none twice', () => {
    fc.assert(
      fc.property(instant, zone, (at, timezone) => {
        const local = DateTime.fromMillis(at, { zone: timezone });
        const first = resolvePeriod('previous_week', at, timezone);
        const second = resolvePeriod('previous_week', local.plus({ weeks: 1 }).toMillis(), timezone);
        expect(dayAfter(first.to)).toBe(second.from);
      }),
    );
  });

  test('a period that was named by its label is that period again', () => {
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
  ])('%s', (text, expected) => {
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
  ])('%j is refused with what may be written', (text) => {
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

  test('any text gives a period or a refusal', () => {
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

describe('in words', () => {
  const words = (spec: PeriodSpec, locale?: string) => inWords(resolvePeriod(spec, MONDAY, 'Europe/Zurich'), locale);

  test.each([
    ['previous_week', 'Monday 16 to Sunday 22 November 2026 (Europe/Zurich)'],
    ['previous_day', 'Sunday 22 November 2026 (Europe/Zurich)'],
    ['previous_month', 'October 2026 (Europe/Zurich)'],
    ['previous_quarter', 'July to September 2026 (Europe/Zurich)'],
    ['previous_year', '2025 (Europe/Zurich)'],
    ['last_12_months', 'November 2025 to October 2026 (Europe/Zurich)'],
    ['last_30_days', 'Saturday 24 October to Sunday 22 November 2026 (Europe/Zurich)'],
  ] as const)('%s', (spec, expected) => {
    expect(words(spec)).toBe(expected);
  });

  test('a range over the turn of the year names both', () => {
    expect(words({ from: '2025-12-29', to: '2026-01-04' })).toBe(
      'Monday 29 December 2025 to Sunday 4 January 2026 (Europe/Zurich)',
    );
  });

  test('in another language by its own rules', () => {
    expect(words('previous_month', 'de-CH')).toBe('Oktober 2026 (Europe/Zurich)');
    expect(words('previous_week', 'de-CH')).toMatch(/^Montag, 16\..*Sonntag, 22\. November 2026 \(Europe\/Zurich\)$/);
  });
});
