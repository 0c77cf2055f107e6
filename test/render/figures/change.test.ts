import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { computeChange } from '../../../src/render/figures/quantity.ts';

describe('a change', () => {
  it('of a ratio is in percentage points', () => {
    const change = computeChange('ratio', 0.86, 0.83);
    expect(change).toMatchObject({ kind: 'points', direction: 'up' });
    expect(change.value).toBeCloseTo(3);
  });

  it('of a count or a duration is relative to the earlier figure', () => {
    expect(computeChange('count', 112, 100)).toEqual({ kind: 'relative', value: 0.12, direction: 'up' });
    expect(computeChange('seconds', 30, 60)).toEqual({ kind: 'relative', value: -0.5, direction: 'down' });
  });

  it('of an unknown unit is a difference', () => {
    expect(computeChange('chf', 10, -2)).toEqual({ kind: 'difference', value: 12, direction: 'up' });
  });

  it('from zero has a direction but no size, and is zero from zero to zero', () => {
    expect(computeChange('count', 5, 0)).toEqual({ kind: 'relative', value: null, direction: 'up' });
    expect(computeChange('count', 0, 0)).toEqual({ kind: 'relative', value: 0, direction: 'same' });
  });

  it('is undefined when one of its figures is undefined', () => {
    expect(computeChange('ratio', null, 0.5)).toEqual({ kind: 'points', value: null, direction: null });
    expect(computeChange('ratio', 0.5, undefined)).toEqual({ kind: 'points', value: null, direction: null });
  });

  it('has the sign of its direction', () => {
    const figure = fc.double({ min: -1e9, max: 1e9, noNaN: true });
    fc.assert(
      fc.property(fc.constantFrom('count', 'ratio', 'seconds', 'chf', null), figure, figure, (unit, now, before) => {
        const { value, direction } = computeChange(unit, now, before);
        if (value === null) expect(before === 0 && now !== 0).toBe(true);
        else if (direction === 'same') expect(value).toBe(0);
        else expect(direction === 'up' ? value >= 0 : value <= 0).toBe(true);
      }),
    );
  });
});
