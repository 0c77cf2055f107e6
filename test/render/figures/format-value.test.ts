import { describe, expect, it } from 'vitest';
import type { Column } from '../../../src/fetch/dataset.ts';
import {
  formatBucket,
  formatDateRange,
  formatIsoWeek,
  formatTarget,
  formatValue,
  formatZonedInstant,
} from '../../../src/render/figures/format-value.ts';
import {
  decimalsNeeded,
  parseCivilDate,
  parseIsoInstant,
  type Quantity,
  quantityCollector,
} from '../../../src/render/figures/quantity.ts';
import { durationColumn } from '../../support/dataset.ts';

const at = (date: string) => new Date(`${date}T00:00:00Z`);

describe('a value for a person', () => {
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
  ])('%j as %j reads %j', (value, quantity, text) => {
    expect(formatValue(value as number, quantity)).toBe(text);
  });

  it('shows a dash for what is undefined, whatever the unit, and never a zero', () => {
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

  it('has the unit that its report gives it, whatever its figures', () => {
    for (const shownIn of ['minutes', 'hours', 'days'] as const) {
      expect(scaleOf({ ...durationColumn, shownIn }, 1, 400_000)).toEqual({ kind: 'duration', scale: shownIn });
    }
  });

  it('outside a report has the unit of the longest', () => {
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
    [100, { kind: 'duration', scale: 'hours' }, '0.027778 hours'],
    [0, { kind: 'duration', scale: 'days' }, '0.0 days'],
    [0.9, { kind: 'ratio' }, '90.0%'],
    [0.8725, { kind: 'ratio' }, '87.25%'],
  ])('as a target of %d in %j reads %s', (target, quantity, text) => {
    expect(formatTarget(target, quantity)).toBe(text);
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

  it('of a bucket reads by its granularity', () => {
    expect(formatBucket(at('2026-11-16'), 'week')).toBe('2026-W47 (from 16 Nov)');
    expect(formatBucket(at('2026-11-01'), 'month')).toBe('Nov 2026');
  });

  it('and an instant and a range are formatted', () => {
    expect(formatZonedInstant(new Date('2026-11-16T07:00:00Z'), 'Europe/Zurich')).toBe(
      '16 November 2026, 08:00 (Europe/Zurich)',
    );
    expect(formatDateRange({ from: '2026-11-09', to: '2026-11-15' })).toMatch(/^9\s?–\s?15 November 2026$/);
    expect(formatDateRange({ from: '2026-11-09', to: '2026-11-09' })).toBe('9 November 2026');
  });
});

it('decimals show a value in full, with at most six', () => {
  expect(decimalsNeeded(1)).toBe(0);
  expect(decimalsNeeded(1_234_567.891)).toBe(3);
  expect(decimalsNeeded(1 / 3)).toBe(6);
});
