import { expect, test } from 'vitest';
import { maxAgeSchema } from '../../src/define/max-age.ts';

test.each([
  [0, 0],
  ['0s', 0],
  ['0', undefined],
  [90, 90],
  ['90s', 90],
  ['15m', 900],
  ['1h', 3_600],
  ['24h', 86_400],
  ['25h', undefined],
  [86_401, undefined],
  [-1, undefined],
  [1.5, undefined],
  ['15 m', undefined],
  ['15min', undefined],
  ['-5m', undefined],
  ['', undefined],
  [null, undefined],
])('%o is read as %o seconds', (written, seconds) => {
  const { data, error } = maxAgeSchema.safeParse(written);
  expect(data).toBe(seconds);
  if (error !== undefined) expect(error.issues.map(({ message }) => message).join()).toContain('30s, 15m or 1h');
});

test('what was read can be read again, as a stored definition is', () => {
  expect(maxAgeSchema.parse(maxAgeSchema.parse('15m'))).toBe(900);
});
