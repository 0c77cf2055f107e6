import { SSF } from '@e965/xlsx';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatValue } from '../../../src/render/figures/format-value.ts';
import { createRounder, type Quantity } from '../../../src/render/figures/quantity.ts';
import { isLargeGrowth, toCellValue } from '../../../src/render/formats/xlsx/sections/grid/cell-value.ts';
import { figureNumberFormat, LARGE_GROWTH_FORMAT } from '../../../src/render/formats/xlsx/style/number-formats.ts';
import { cases } from '../../support/fuzz.ts';

/** The text of a workbook cell, formatted by another program. */
function cellText(value: number, quantity: Quantity, locale = 'en-GB'): string {
  return SSF.format(
    isLargeGrowth(value, quantity)
      ? LARGE_GROWTH_FORMAT
      : figureNumberFormat(quantity, createRounder(quantity)(value), locale),
    Number(toCellValue(value, quantity)),
  );
}

const RATIO: Quantity = { kind: 'ratio' };
const RELATIVE: Quantity = { kind: 'relative' };
const POINTS: Quantity = { kind: 'points' };
const COUNT: Quantity = { kind: 'count' };
const DAYS: Quantity = { kind: 'duration', scale: 'days' };
const HOURS: Quantity = { kind: 'duration', scale: 'hours' };
const MINUTES: Quantity = { kind: 'duration', scale: 'minutes' };
const amount = (decimals: number): Quantity => ({ kind: 'amount', unit: 'chf', decimals });
const difference = (decimals: number): Quantity => ({ kind: 'difference', unit: 'chf', decimals });

describe('a figure that is not zero', () => {
  it.each<[number, Quantity, string, string]>([
    [0, RATIO, '0.0%', '0.0%'],
    [0.0004, RATIO, '0.04%', '0.04%'],
    [0.0005, RATIO, '0.05%', '0.05%'],
    [0.0006, RATIO, '0.1%', '0.1%'],
    [0.000_000_001, RATIO, '<0.000001%', '<0.000001%'],
    [0.9996, RATIO, '99.96%', '99.96%'],
    [0.9995, RATIO, '99.95%', '99.95%'],
    [0.9994, RATIO, '99.9%', '99.9%'],
    [0.999_999_999_9, RATIO, '>99.999999%', '>99.999999%'],
    [1, RATIO, '100.0%', '100.0%'],
    [1.0004, RATIO, '100.04%', '100.04%'],
    [-0.0004, RELATIVE, '-0.04%', '▼ -0.04%'],
    [-0.9996, RELATIVE, '-99.96%', '▼ -99.96%'],
    [1.000_000_000_1, RELATIVE, '<+100.000001%', '▲ <+100.000001%'],
    [-0.000_000_001, RELATIVE, '>-0.000001%', '▼ >-0.000001%'],
    [0, RELATIVE, '0.0%', '= 0.0%'],
    [0.04, POINTS, '+0.04 pp', '▲ +0.04'],
    [-0.04, POINTS, '-0.04 pp', '▼ -0.04'],
    [0.25, COUNT, '0.3', '0.3'],
    [1.25, COUNT, '1.25', '1.25'],
    [0.0064, RATIO, '0.6%', '0.6%'],
    [0.000_064, RATIO, '0.006%', '0.006%'],
    [12.345, RELATIVE, '+1234.5%', '▲ +1,235%'],
    [0.001, COUNT, '0.001', '0.001'],
    [12.5, COUNT, '12.5', '12.5'],
    [1234, COUNT, '1,234', '1,234'],
    [12.5, amount(2), '12.50 chf', '12.50'],
    [0.000_000_1, amount(2), '<0.000001 chf', '<0.000001'],
    [-0.000_000_1, amount(2), '>-0.000001 chf', '>-0.000001'],
    [-0.004, difference(2), '-0.004 chf', '▼ -0.004'],
    [360, DAYS, '0.004 days', '0.004'],
    [5, DAYS, '0.00006 days', '0.00006'],
    [0.01, DAYS, '<0.000001 days', '<0.000001'],
    [8_640, DAYS, '0.1 days', '0.1'],
    [90_000, HOURS, '25.0 hours', '25.0'],
    [108, HOURS, '0.03 hours', '0.03'],
    [-12_600, HOURS, '-3.5 hours', '-3.5'],
    [18_000_000, HOURS, '5,000.0 hours', '5,000.0'],
    [2_727, MINUTES, '45.5 minutes', '45.5'],
    [0.000_000_1, MINUTES, '<0.000001 minutes', '<0.000001'],
    [0, MINUTES, '0.0 minutes', '0.0'],
  ])('%d of the kind %j is shown as %j, and in the workbook as %j', (value, quantity, text, cell) => {
    expect([formatValue(value, quantity), cellText(value, quantity)]).toEqual([text, cell]);
  });

  const magnitudes = fc
    .tuple(fc.double({ min: 1, max: 10, noNaN: true }), fc.integer({ min: -12, max: 6 }), fc.boolean())
    .map(([digits, power, negative]) => (negative ? -1 : 1) * digits * 10 ** power);
  const nearOne = magnitudes.filter((value) => Math.abs(value) < 0.5).map((gap) => 1 - gap);
  const quantities = fc.constantFrom(
    RATIO,
    RELATIVE,
    POINTS,
    COUNT,
    amount(0),
    amount(3),
    difference(0),
    difference(2),
    DAYS,
    HOURS,
    MINUTES,
  );

  it('reads the same in the mail and in the workbook, and never as zero or as 100 %', () => {
    fc.assert(
      fc.property(fc.oneof(magnitudes, nearOne), quantities, (value, quantity) => {
        // Above 1,000 % a text has a multiple, and a cell no decimals.
        fc.pre(!isLargeGrowth(value, quantity));
        const text = formatValue(value, quantity);
        const bare = cellText(value, quantity).replace(/^[▲▼=] /, '');
        expect(text.replace(/ (pp|chf|days|hours|minutes)$/, '')).toBe(bare);
        expect(text).toMatch(/[1-9]/);
        if ((quantity.kind === 'ratio' || quantity.kind === 'relative') && Math.abs(value) !== 1) {
          expect(text).not.toMatch(/^[+-]?100(\.0+)?%$/);
        }
      }),
      cases(2_000),
    );
  });

  it('has the decimal sign of the locale when a cell shows a text instead of a number', () => {
    expect(formatValue(0.0004, RATIO, 'de-DE')).toBe('0,04\u00a0%');
    expect(cellText(1e-9, RATIO, 'de-DE')).toBe(formatValue(1e-9, RATIO, 'de-DE'));
  });

  it('shares a few rounding objects per column', () => {
    const roundingOf = createRounder(RATIO);
    const values = Array.from({ length: 10_000 }, (_, index) => index / 10_000_000);
    expect(new Set(values.map(roundingOf)).size).toBeLessThan(10);
  });
});
