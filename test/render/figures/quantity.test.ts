import { SSF } from '@e965/xlsx';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatValue } from '../../../src/render/figures/format-value.ts';
import { createRounder, DAY_SECONDS, type Quantity } from '../../../src/render/figures/quantity.ts';
import { toCellValue } from '../../../src/render/formats/xlsx/grid.ts';
import { figureNumberFormat } from '../../../src/render/formats/xlsx/style.ts';

/** What a cell of the workbook shows, as another program formats it. */
function cellText(value: number, quantity: Quantity, locale = 'en-GB'): string {
  return SSF.format(
    figureNumberFormat(quantity, createRounder(quantity)(value), locale),
    Number(toCellValue(value, quantity)),
  );
}

const RATIO: Quantity = { kind: 'ratio' };
const RELATIVE: Quantity = { kind: 'relative' };
const POINTS: Quantity = { kind: 'points' };
const COUNT: Quantity = { kind: 'count' };
const DAYS: Quantity = { kind: 'duration', scale: 'days' };
const CLOCK: Quantity = { kind: 'duration', scale: 'clock' };
const SECONDS: Quantity = { kind: 'duration', scale: 'seconds' };
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
    [12.345, RELATIVE, '+1234.5%', '▲ +1234.5%'],
    [0.001, COUNT, '0.001', '0.001'],
    [12.5, COUNT, '12.5', '12.5'],
    [1234, COUNT, '1,234', '1,234'],
    [12.5, amount(2), '12.50 chf', '12.50'],
    [0.000_000_1, amount(2), '<0.000001 chf', '<0.000001'],
    [-0.000_000_1, amount(2), '>-0.000001 chf', '>-0.000001'],
    [-0.004, difference(2), '-0.004 chf', '▼ -0.004'],
    [360, DAYS, '6 min', '0.004'],
    [5, DAYS, '5 s', '0.00006'],
    [0.01, DAYS, '0.01 s', '<0.000001'],
    [DAY_SECONDS / 10, DAYS, '2 h 24 min', '0.1'],
    [0.4, CLOCK, '0.4 s', '0:00:00.4'],
    [0.04, CLOCK, '0.04 s', '0:00:00.04'],
    [0.000_4, CLOCK, '0.0004 s', '<0:00:00.001'],
    [90, CLOCK, '1 min 30 s', '0:01:30'],
    [0.000_000_1, SECONDS, '0.0000001 s', '<0.000001'],
    [12.5, SECONDS, '12.5 s', '12.5'],
  ])('%d as %j reads %j, and in the workbook %j', (value, quantity, text, cell) => {
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
  );

  it('reads the same in the mail and in the workbook, and never as zero or as 100 %', () => {
    fc.assert(
      fc.property(fc.oneof(magnitudes, nearOne), quantities, (value, quantity) => {
        const text = formatValue(value, quantity);
        const bare = cellText(value, quantity).replace(/^[▲▼=] /, '');
        expect(text.replace(/ (pp|chf)$/, '')).toBe(bare);
        expect(text).toMatch(/[1-9]/);
        if ((quantity.kind === 'ratio' || quantity.kind === 'relative') && Math.abs(value) !== 1) {
          expect(text).not.toMatch(/^[+-]?100(\.0+)?%$/);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('is no zero as a duration either, in no unit', () => {
    fc.assert(
      fc.property(magnitudes.map(Math.abs), fc.constantFrom(DAYS, CLOCK, SECONDS), (value, quantity) => {
        expect(formatValue(value, quantity)).toMatch(/[1-9]/);
        expect(cellText(value, quantity)).toMatch(/[1-9]/);
      }),
      { numRuns: 1_000 },
    );
  });

  it('has the decimal sign of the report where a cell shows a text in place of its number', () => {
    expect(formatValue(0.0004, RATIO, 'de-DE')).toBe('0,04\u00a0%');
    expect(cellText(1e-9, RATIO, 'de-DE')).toBe(formatValue(1e-9, RATIO, 'de-DE'));
  });

  it('has few roundings a column, each one object', () => {
    const roundingOf = createRounder(RATIO);
    const values = Array.from({ length: 10_000 }, (_, index) => index / 10_000_000);
    expect(new Set(values.map(roundingOf)).size).toBeLessThan(10);
  });
});
