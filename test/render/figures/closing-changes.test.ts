import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import type { Quantity } from '../../../src/render/figures/quantity.ts';
import { computeChange } from '../../../src/render/figures/quantity.ts';
import { type ComparedFigure, showFigures } from '../../../src/render/figures/shown-change.ts';
import { cases } from '../../support/fuzz.ts';

const HOURS: Quantity = { kind: 'duration', scale: 'hours' };
const UNITS: readonly (readonly [unit: string, quantity: Quantity])[] = [
  ['count', { kind: 'count' }],
  ['ratio', { kind: 'ratio' }],
  ['seconds', HOURS],
  ['seconds', { kind: 'duration', scale: 'minutes' }],
  ['chf', { kind: 'amount', unit: 'chf', decimals: 2 }],
];

const shown = (unit: string, quantity: Quantity, value: number, before: number, more: Partial<ComparedFigure> = {}) => {
  const figures = showFigures({ value, compared: [before], quantity, unit, ...more }, 'en');
  const change = figures.changeFrom(before, computeChange(unit, value, before));
  return { value: figures.text, before: figures.textOf(before), ...change };
};

const number = (text: string): number => Number(text.replaceAll(',', '').replace(/[^\d.−-].*$/, ''));
const decimalsOf = (text: string): number => /\.(\d+)/.exec(text)?.[1]?.length ?? 0;
const isBound = (text: string): boolean => /^[<>]/.test(text);
const digits = (text: string): number => text.replaceAll(/[^\d]/g, '').replace(/^0+/, '').length;

/** A figure as a whole number of units of its last decimal. */
const whole = (text: string, decimals: number): number => Math.round(number(text) * 10 ** decimals);

/** Computes the change from the texts alone. */
function recompute({ value, before, size = '' }: ReturnType<typeof shown>): number {
  const decimals = Math.max(decimalsOf(value), decimalsOf(before));
  const [now, then] = [whole(value, decimals), whole(before, decimals)];
  if (size.includes('times as')) return Math.round(now / then);
  const places = decimalsOf(size);
  if (!size.endsWith('%')) return Math.abs(now - then) / 10 ** decimals;
  const share = (Math.abs(now - then) / Math.abs(then)) * 100;
  return Number(new Intl.NumberFormat('en', { useGrouping: false, maximumFractionDigits: places }).format(share));
}

const seconds = fc.oneof(fc.nat({ max: 40_000_000 }), fc.double({ min: 0, max: 400_000, noNaN: true }));
const valuesOf: Readonly<Record<string, fc.Arbitrary<number>>> = {
  count: fc.oneof(fc.nat({ max: 30 }), fc.nat({ max: 10_000_000 })),
  ratio: fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0.899, max: 0.901, noNaN: true })),
  seconds,
  chf: fc.integer({ min: -1_000_000, max: 1_000_000 }).map((cents) => cents / 100),
};
const compared = fc.constantFrom(...UNITS).chain(([unit, quantity]) => {
  const values = valuesOf[unit] ?? seconds;
  return fc
    .tuple(values, values, fc.double({ min: 0.9999, max: 1.0001, noNaN: true }), fc.boolean(), fc.option(values))
    .map(([value, other, factor, near, target]) => ({
      unit,
      quantity,
      value,
      before:
        near && unit !== 'count' && unit !== 'chf' ? Math.min(value * factor, unit === 'ratio' ? 1 : Infinity) : other,
      // People write targets with a few decimals.
      ...(target === null ? {} : { judged: { target: Math.round(target * 1e4) / 1e4 } }),
    }));
});

it('readers who compute a change from the shown figures get the shown change', () => {
  fc.assert(
    fc.property(compared, ({ unit, quantity, value, before, judged }) => {
      const change = shown(unit, quantity, value, before, { judged });
      const { direction, size = '', unseen } = change;
      if (unseen) {
        expect(change.value).toBe(change.before);
        expect(direction).toBeNull();
        return;
      }
      if (value === before) {
        expect(direction).toBe('same');
        return;
      }
      expect(change.value).not.toBe(change.before);
      expect(direction).toBe(value > before ? 'up' : 'down');
      if (size === '' || isBound(change.value) || isBound(change.before)) return;
      expect(decimalsOf(change.value)).toBe(decimalsOf(change.before));
      const computed = recompute(change);
      if (size.startsWith('<')) expect(computed).toBeLessThan(number(size.slice(1)) + 1e-9);
      else if (size.startsWith('>')) expect(computed).toBeGreaterThan(number(size.slice(1)));
      else expect(computed).toBeCloseTo(number(size), 9);
      if (size.endsWith('%')) {
        expect(decimalsOf(size)).toBeLessThanOrEqual(digits(change.value) >= 4 && digits(change.before) >= 4 ? 1 : 0);
        expect(number(size.replace(/^[<>]/, ''))).toBeGreaterThan(0);
      }
    }),
    cases(2_000),
  );
});

describe('a change', () => {
  test('in points is the difference of the shown shares', () => {
    expect(shown('ratio', { kind: 'ratio' }, 0.12449, 0.11451)).toMatchObject({
      value: '12.4%',
      before: '11.5%',
      size: '0.9 pp',
    });
  });

  test('beside a target has enough decimals to tell the figure from the target', () => {
    const judged = { target: 0.9 };
    expect(shown('ratio', { kind: 'ratio' }, 0.8996, 0.85, { judged })).toMatchObject({
      value: '89.96%',
      before: '85.00%',
      size: '4.96 pp',
    });
  });

  test('is a whole percentage, or has one decimal when both figures have four digits', () => {
    expect(shown('count', { kind: 'count' }, 153, 137)).toMatchObject({ size: '12%' });
    expect(shown('count', { kind: 'count' }, 6_390, 5_685)).toMatchObject({ size: '12.4%' });
    expect(shown('count', { kind: 'count' }, 1_000, 999)).toMatchObject({ size: '<1%', text: '<+1%' });
    expect(shown('count', { kind: 'count' }, 3, 1_000)).toMatchObject({ size: '>99%', text: '<-99%' });
  });

  test('of a duration is a difference when its percentage does not follow from the shown figures', () => {
    // 23.54 to 26.46 hours: 12% of the exact figures, 13% of the shown ones.
    expect(shown('seconds', HOURS, 26.46 * 3_600, 23.54 * 3_600)).toMatchObject({
      value: '26.5 hours',
      before: '23.5 hours',
      text: '+3.0 hours',
    });
  });

  test('that rounding hides has no arrow', () => {
    expect(shown('seconds', HOURS, 86_410, 86_400)).toEqual({
      value: '24.0 hours',
      before: '24.0 hours',
      direction: null,
      text: 'no visible change',
      unseen: true,
    });
  });

  test('of more than 1,000% is a multiple', () => {
    expect(shown('count', { kind: 'count' }, 4_000, 3)).toMatchObject({ size: '1,333 times as many', times: true });
    expect(shown('seconds', HOURS, 432_000, 36_000)).toMatchObject({ size: '12 times as long' });
    expect(shown('count', { kind: 'count' }, 33, 3)).toMatchObject({ size: '1000%' });
  });

  test('of more than 1,000% is a multiple in German', () => {
    const figures = showFigures({ value: 4_000, compared: [3], quantity: { kind: 'count' }, unit: 'count' }, 'de-CH');
    expect(figures.changeFrom(3, computeChange('count', 4_000, 3)).text).toBe("1'333-mal so viele");
  });

  test('in a long table is computed from unrounded figures', () => {
    const change = shown('ratio', { kind: 'ratio' }, 0.12449, 0.11451, { columnDecimals: 1 });
    expect(change).toMatchObject({ value: '12.4%', before: '11.5%', size: '1.0 pp' });
  });
});
