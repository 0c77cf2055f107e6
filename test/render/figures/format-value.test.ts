import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Column } from '../../../src/fetch/dataset.ts';
import {
  formatBucket,
  formatDateRange,
  formatIsoWeek,
  formatZonedInstant,
} from '../../../src/render/figures/format-date.ts';
import { formatJudged, formatTarget, formatValue } from '../../../src/render/figures/format-value.ts';
import {
  decimalsNeeded,
  parseCivilDate,
  parseIsoInstant,
  type Quantity,
  quantityCollector,
} from '../../../src/render/figures/quantity.ts';
import { durationColumn } from '../../support/dataset.ts';
import { cases } from '../../support/fuzz.ts';

const at = (date: string) => new Date(`${date}T00:00:00Z`);
const numberOf = (text: string): number => Number(text.replace(/[^\d.-]/g, ''));

describe('a formatted value', () => {
  it.each<[unknown, Quantity, string]>([
    [0, { kind: 'count' }, '0'],
    [1_234_567, { kind: 'count' }, '1,234,567'],
    [0, { kind: 'ratio' }, '0.0%'],
    [0.8239, { kind: 'ratio' }, '82.4%'],
    [1, { kind: 'ratio' }, '100.0%'],
    [0.0001, { kind: 'ratio' }, '0.01%'],
    [90_061, { kind: 'duration', scale: 'hours' }, '25.0 hours'],
    [-3.1, { kind: 'points' }, '-3.1 pp'],
    [0.124, { kind: 'relative' }, '+12.4%'],
    [0, { kind: 'relative' }, '0.0%'],
    [12.5, { kind: 'amount', unit: 'chf', decimals: 1 }, '12.5 chf'],
    [1_234_567.891, { kind: 'amount', unit: 'chf', decimals: 3 }, '1,234,567.891 chf'],
    [1_000_001, { kind: 'identifier' }, '1000001'],
    ['2026-11-16', { kind: 'bucket', granularity: 'day' }, 'Mon 16 Nov 2026'],
    ['not a date', { kind: 'bucket', granularity: 'day' }, 'not a date'],
    [true, { kind: 'text' }, 'yes'],
    ['2026-02-30', { kind: 'day' }, '2026-02-30'],
    ['2026-02-30T10:00:00Z', { kind: 'instant' }, '2026-02-30T10:00:00Z'],
    [-0, { kind: 'count' }, '0'],
    [-0, { kind: 'ratio' }, '0.0%'],
    [-0, { kind: 'relative' }, '0.0%'],
    [-0, { kind: 'duration', scale: 'hours' }, '0.0 hours'],
    [-0, { kind: 'amount', unit: 'chf', decimals: 2 }, '0.00 chf'],
    [-0, { kind: 'identifier' }, '0'],
    [-0, { kind: 'day' }, '0'],
    [-0.001, { kind: 'day' }, '0'],
  ])('%j of the kind %j is shown as %j', (value, quantity, text) => {
    expect(formatValue(value as number, quantity)).toBe(text);
  });

  it('is a dash when it is undefined, whatever the unit, and never a zero', () => {
    const quantities: Quantity[] = [
      { kind: 'count' },
      { kind: 'ratio' },
      { kind: 'duration', scale: 'days' },
      { kind: 'text' },
    ];
    for (const quantity of quantities) expect(formatValue(null, quantity)).toBe('–');
  });

  it('follows the locale', () => {
    expect(formatValue(0.8239, { kind: 'ratio' }, 'de-DE')).toBe('82,4\u00a0%');
    expect(formatBucket(at('2026-11-16'), 'month', 'de-DE')).toBe('Nov. 2026');
  });
});

describe('a duration', () => {
  const scaleOf = (column: Column, ...seconds: number[]) => {
    const collector = quantityCollector(column, 'day');
    for (const value of seconds) collector.add(value);
    return collector.quantity();
  };

  it('has the unit that its report chooses, however long it is', () => {
    for (const shownIn of ['minutes', 'hours', 'days'] as const) {
      expect(scaleOf({ ...durationColumn, shownIn }, 1, 400_000)).toEqual({ kind: 'duration', scale: shownIn });
    }
  });

  it('outside a report has the unit that fits the longest one in its column', () => {
    expect(scaleOf(durationColumn, 0.4, 7_199)).toEqual({ kind: 'duration', scale: 'minutes' });
    expect(scaleOf(durationColumn, 0.4, 7_200)).toEqual({ kind: 'duration', scale: 'hours' });
    expect(scaleOf(durationColumn, 1, 172_800)).toEqual({ kind: 'duration', scale: 'days' });
    expect(scaleOf(durationColumn)).toEqual({ kind: 'duration', scale: 'minutes' });
  });

  it('is written in the language of the report', () => {
    expect(formatValue(5_400, { kind: 'duration', scale: 'hours' }, 'de-DE')).toBe('1,5 Stunden');
    expect(formatValue(5_400, { kind: 'duration', scale: 'minutes' }, 'de-DE')).toBe('90,0 Minuten');
  });

  it.each<[number, Quantity, string]>([
    [86_400, { kind: 'duration', scale: 'hours' }, '24.0 hours'],
    [108_000, { kind: 'duration', scale: 'days' }, '1.25 days'],
    [100, { kind: 'duration', scale: 'hours' }, '0.0278 hours'],
    [1_000, { kind: 'duration', scale: 'days' }, '0.0116 days'],
    [1_000, { kind: 'duration', scale: 'minutes' }, '16.67 minutes'],
    [100_000, { kind: 'duration', scale: 'minutes' }, '1,666.67 minutes'],
    [0, { kind: 'duration', scale: 'days' }, '0.0 days'],
    [0.9, { kind: 'ratio' }, '90.0%'],
    [0.8725, { kind: 'ratio' }, '87.25%'],
  ])('as a target: %d of the kind %j is shown as %s', (target, quantity, text) => {
    expect(formatTarget(target, quantity)).toBe(text);
  });

  it.each<[number, number, Quantity, string]>([
    [0.9, 0.9, { kind: 'ratio' }, '90.0%'],
    [0.8997, 0.9, { kind: 'ratio' }, '89.97%'],
    [0.9003, 0.9, { kind: 'ratio' }, '90.03%'],
    [0.87262, 0.8728, { kind: 'ratio' }, '87.26%'],
    [0.8951, 0.9, { kind: 'ratio' }, '89.5%'],
    [86_500, 86_400, { kind: 'duration', scale: 'hours' }, '24.03 hours'],
    [86_760, 86_400, { kind: 'duration', scale: 'hours' }, '24.1 hours'],
    [62, 0, { kind: 'count' }, '62'],
    [1_000, 1_000, { kind: 'duration', scale: 'minutes' }, '16.67 minutes'],
    [999.9, 1_000, { kind: 'duration', scale: 'minutes' }, '16.665 minutes'],
  ])('%d beside the target %d, of the kind %j, is shown as %s', (value, target, quantity, text) => {
    expect(formatJudged(value, { target }, quantity)).toBe(text);
  });

  it.each<[number, number, number, Quantity, string]>([
    [0.8497, 0.9, 0.85, { kind: 'ratio' }, '84.97%'],
    [0.8503, 0.9, 0.85, { kind: 'ratio' }, '85.03%'],
    [0.85, 0.9, 0.85, { kind: 'ratio' }, '85.0%'],
    [0.8725, 0.9, 0.8725, { kind: 'ratio' }, '87.25%'],
    [0.8997, 0.9, 0.89968, { kind: 'ratio' }, '89.97%'],
    [172_801, 86_400, 172_800, { kind: 'duration', scale: 'hours' }, '48.0003 hours'],
    [0.8, 0.9, 0.85, { kind: 'ratio' }, '80.0%'],
    [105_823, 112_151, 105_847, { kind: 'duration', scale: 'hours' }, '29.395 hours'],
  ])(
    '%d beside the target %d and the watch limit %d, of the kind %j, is shown as %s',
    (value, target, watch, quantity, text) => {
      expect(formatJudged(value, { target, watch }, quantity)).toBe(text);
    },
  );

  it('is shown on the same side of its target as its exact value, even when the target is an uneven number', () => {
    const seconds = fc.oneof(
      fc.integer({ min: 1, max: 5_000_000 }),
      fc.integer({ min: 1, max: 100_000 }).map((n) => n / 10),
    );
    const scale = fc.constantFrom('minutes' as const, 'hours' as const, 'days' as const);
    const distance = fc.oneof(fc.constantFrom(-1, -0.1, 0, 0.1, 1), fc.integer({ min: -1_000, max: 1_000 }));
    fc.assert(
      fc.property(seconds, distance, scale, (target, away, unit) => {
        const value = Math.max(0, Number((target + away).toFixed(1)));
        const quantity: Quantity = { kind: 'duration', scale: unit };
        const shown = formatJudged(value, { target }, quantity);
        fc.pre(!shown.startsWith('<'));
        const targets = [
          formatTarget(target, quantity, 'en-GB', [value]),
          formatTarget(target, quantity, 'en-GB', [value, target * 0.99]),
        ];
        for (const text of targets) expect(Math.sign(numberOf(shown) - numberOf(text))).toBe(Math.sign(value - target));
      }),
      { ...cases(2_000), examples: [[691_784, 0.1, 'minutes']] },
    );
  });

  it('is shown on the same side of its watch limit as its exact value', () => {
    const seconds = fc.integer({ min: 1, max: 500_000 });
    const scale = fc.constantFrom('minutes' as const, 'hours' as const, 'days' as const);
    fc.assert(
      fc.property(seconds, fc.integer({ min: -60, max: 60 }), fc.integer({ min: 0, max: 9_000 }), scale, (...of) => {
        const [watch, away, apart, unit] = of;
        const value = Math.max(0, watch + away);
        const quantity: Quantity = { kind: 'duration', scale: unit };
        const shown = formatJudged(value, { target: watch + apart, watch }, quantity);
        // On its watch limit a figure is on watch, however the two are rounded.
        fc.pre(!shown.startsWith('<') && value !== watch);
        const limit = formatTarget(watch, quantity, 'en-GB', [value]);
        expect(Math.sign(numberOf(shown) - numberOf(limit))).toBe(Math.sign(value - watch));
      }),
      cases(2_000),
    );
  });

  it('shows its target with only as many decimals as tell the two apart', () => {
    const minutes: Quantity = { kind: 'duration', scale: 'minutes' };
    // 16.745 minutes: 16.75 would be more than the figure of 16.748.
    expect(formatTarget(1_004.7, minutes, 'en-GB', [1_004.88])).toBe('16.745 minutes');
    expect(formatTarget(1_000, minutes, 'en-GB', [1_100, null])).toBe('16.67 minutes');
  });
});

describe('a date', () => {
  it('has the ISO week of its Thursday, also across a year', () => {
    expect(formatIsoWeek(at('2026-11-16'))).toBe('2026-W47');
    expect(formatIsoWeek(at('2027-01-01'))).toBe('2026-W53');
    expect(formatIsoWeek(at('2024-12-30'))).toBe('2025-W01');
  });

  it('is not parsed from an invalid text', () => {
    expect(parseCivilDate('2026-02-29')).toBeUndefined();
    expect(parseCivilDate('2028-02-29')).toEqual(at('2028-02-29'));
    expect(parseIsoInstant('2026-03-01T10:20:30')).toBeUndefined();
    expect(parseIsoInstant('2026-03-01T10:20:30+01:00')?.toISOString()).toBe('2026-03-01T09:20:30.000Z');
  });

  it('of a bucket is formatted by its granularity', () => {
    expect(formatBucket(at('2026-11-16'), 'week')).toBe('2026-W47 (from 16 Nov)');
    expect(formatBucket(at('2026-11-01'), 'month')).toBe('Nov 2026');
  });

  it('is formatted as an instant in a time zone, or as a range', () => {
    expect(formatZonedInstant(new Date('2026-11-16T07:00:00Z'), 'Europe/Zurich')).toBe(
      '16 November 2026, 08:00 (Europe/Zurich)',
    );
    expect(formatDateRange({ from: '2026-11-09', to: '2026-11-15' })).toMatch(/^9\s?–\s?15 November 2026$/);
    expect(formatDateRange({ from: '2026-11-09', to: '2026-11-09' })).toBe('9 November 2026');
  });
});

it('a value has as many decimals as it needs, and at most six', () => {
  expect(decimalsNeeded(1)).toBe(0);
  expect(decimalsNeeded(1_234_567.891)).toBe(3);
  expect(decimalsNeeded(1 / 3)).toBe(6);
});
