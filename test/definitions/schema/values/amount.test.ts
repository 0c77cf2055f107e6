import { expect, test } from 'vitest';
import { parseAmount } from '../../../../src/definitions/schema/values/amount.ts';

const tenths = Array.from({ length: 1_001 }, (_, index) => index);
const written = (tenth: number) => (tenth / 10).toFixed(1);

test('a percentage is read as exactly the same number as the ratio in JSON', () => {
  // JSON has the ratio in decimal, and 33.3 / 100 differs from 0.333.
  const wrong = tenths.filter((tenth) => parseAmount(`${written(tenth)}%`)?.value !== JSON.parse(`${tenth}e-3`));
  expect(wrong).toEqual([]);
});

test.each([
  ['m', 6],
  ['h', 360],
  ['d', 8_640],
])('tenths of the unit %s are read as whole seconds', (unit, seconds) => {
  const wrong = tenths.filter((tenth) => parseAmount(`${written(tenth)}${unit}`)?.value !== tenth * seconds);
  expect(wrong).toEqual([]);
});

test.each([
  ['-5%', -0.05],
  ['1.5d', 129_600],
  ['0.25', 0.25],
  ['banana', undefined],
  ['24 h', undefined],
  ['1e3', undefined],
])('the amount %s is read as %s', (text, value) => {
  expect(parseAmount(text)?.value).toBe(value);
});
