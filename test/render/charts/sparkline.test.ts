import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sparklinePath, sparklineScale, sparklineSvg } from '../../../src/render/charts/sparkline.ts';

const points = (values: readonly (number | null)[], partial: readonly number[] = []) =>
  values.map((value, index) => ({ value, partial: partial.includes(index) }));

describe('a sparkline', () => {
  it('joins neighbouring figures and leaves gaps', () => {
    const { line, dots } = sparklinePath(points([0, 10, null, 10, 0]), 44, 24);
    expect(line).toBe('M2 22L12 2M32 2L42 22');
    expect(dots).toEqual([{ x: 42, y: 22, hollow: false }]);
  });

  it('has a dot for its last figure, hollow when that is partial, and for a figure without neighbours', () => {
    const { line, dots } = sparklinePath(points([5, null, 0, 10], [3]), 34, 24);
    expect(line).toBe('M22 22L32 2');
    expect(dots).toEqual([
      { x: 2, y: 12, hollow: false },
      { x: 32, y: 2, hollow: true },
    ]);
    expect(sparklinePath(points([1, null]), 20, 20).dots).toHaveLength(1);
  });

  it('has a hollow dot for each period that is cut off or has not ended', () => {
    const { dots } = sparklinePath(points([0, 10, 0, 10], [0, 3]), 34, 24);
    expect(dots).toEqual([
      { x: 2, y: 22, hollow: true },
      { x: 32, y: 2, hollow: true },
    ]);
  });

  it('of one point is in the middle, and of none is empty', () => {
    expect(sparklinePath(points([7]), 40, 20)).toEqual({ line: '', dots: [{ x: 20, y: 10, hollow: false }] });
    expect(sparklinePath(points([null, null]), 40, 20)).toEqual({ line: '', dots: [] });
    expect(sparklinePath([], 40, 20)).toEqual({ line: '', dots: [] });
  });

  it('has a background only when a ground colour is given, and a dot at its end', () => {
    const colours = { line: '#0b6e69', last: '#d55e00', ground: '#ffffff' };
    const svg = sparklineSvg(points([0, 10, 0]), { width: 44, height: 24 }, colours);
    expect(svg).toContain('<rect width="44" height="24" fill="#ffffff"/><path d="M2 22L22 2L42 22"');
    expect(svg).toContain('<circle cx="42" cy="22" r="2" fill="#d55e00"/>');
    expect(sparklineSvg(points([1]), { width: 9, height: 9 }, { line: '#0b6e69', last: '#d55e00' })).not.toContain(
      'rect',
    );
  });

  it('does not exaggerate small changes, and goes below zero only for negative figures', () => {
    const scale = sparklineScale([100, 101]);
    expect(scale?.min).toBeCloseTo(95.45);
    expect(scale?.max).toBeCloseTo(105.55);
    expect(sparklineScale([0, 0])?.min).toBe(0);
    expect(sparklineScale([0.01, 5])).toEqual({ min: 0.01, max: 5 });
    expect(sparklineScale([-5, 5])).toEqual({ min: -5, max: 5 });
    expect(sparklineScale([null])).toBeUndefined();
  });

  it('stays inside its picture and keeps the order of its figures', () => {
    const values = fc.array(fc.option(fc.double({ min: -1e12, max: 1e12, noNaN: true })), { maxLength: 40 });
    fc.assert(
      fc.property(values, (of) => {
        const { line, dots } = sparklinePath(points(of), 80, 20);
        const drawn = [...line.matchAll(/[ML]([\d.]+) ([\d.]+)/g)].map(([, x, y]) => [Number(x), Number(y)] as const);
        for (const [x, y] of [...drawn, ...dots.map((dot) => [dot.x, dot.y] as const)]) {
          expect(x).toBeGreaterThanOrEqual(0);
          expect(x).toBeLessThanOrEqual(80);
          expect(y).toBeGreaterThanOrEqual(0);
          expect(y).toBeLessThanOrEqual(20);
        }
        const known = of.filter((value) => value !== null).length;
        const alone = of.filter(
          (value, index) => value !== null && (of[index - 1] ?? null) === null && (of[index + 1] ?? null) === null,
        ).length;
        expect(drawn).toHaveLength(known - alone);
        expect(drawn.map(([x]) => x)).toEqual(drawn.map(([x]) => x).toSorted((a, b) => a - b));
      }),
    );
  });
});
