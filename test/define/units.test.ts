import fc from 'fast-check';
import { expect, test } from 'vitest';
import { durationSchema, inUnits } from '../../src/define/duration.ts';
import { bytesOf, readSize, sizeSchema } from '../../src/define/size.ts';

const duration = durationSchema('a duration', 10, 604_800);

test('a duration that is written for people is read as the same', () => {
  fc.assert(
    fc.property(fc.integer({ min: 10, max: 604_800 }), (seconds) => {
      expect(duration.parse(inUnits(seconds))).toBe(seconds);
      expect(duration.parse(seconds)).toBe(seconds);
    }),
  );
});

test.each([
  [259_200, '3d'],
  [5400, '90m'],
  [45, '45s'],
  [0, '0s'],
])('%i seconds are %s', (seconds, text) => {
  expect(inUnits(seconds)).toBe(text);
});

test.each(['9s', '8d', '1w', '1.5h', '-1h', ' 1h', 'h', '', '90', 9, 604_801, 10.5])('%j is no duration', (text) => {
  expect(duration.safeParse(text).success).toBe(false);
});

test.each<[string | number, number]>([
  ['10MB', 10 * 1024 * 1024],
  ['500 kb', 500 * 1024],
  ['7B', 7],
  [' 1000 ', 1000],
  [2000, 2000],
])('the size %j is %i bytes', (text, bytes) => {
  expect(bytesOf(sizeSchema.parse(text))).toBe(bytes);
});

test.each(['101MB', '0', '0KB', '1GB', '1.5MB', '-1', '', 0, 1.5, 100 * 1024 * 1024 + 1])('%j is no size', (text) => {
  expect(sizeSchema.safeParse(text).success).toBe(false);
  if (typeof text === 'string') expect(readSize(text)).toBeUndefined();
});
