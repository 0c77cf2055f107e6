import { expect, test } from 'vitest';
import { lineScale } from '../../../src/render/charts/axis-scale.ts';

const shown = (values: readonly number[]) => {
  const { min, max } = lineScale(values, { kind: 'ratio' });
  return [min, max].map((value) => Number(value.toFixed(6)));
};

test('the axis of a rate between 86 and 91 % begins at 80 %, and that of a rate near zero begins at zero', () => {
  expect(shown([0.86, 0.9, 0.91])).toEqual([0.8, 0.95]);
  expect(shown([0.02, 0.5])[0]).toBe(0);
  expect(shown([0.9])[0]).toBeGreaterThan(0.8);
  expect(shown([])).toEqual([0, 1]);
});
