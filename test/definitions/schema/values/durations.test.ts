import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  deadlineSchema,
  durationSchema,
  formatDurationLiteral,
  maxAgeSchema,
} from '../../../../src/definitions/schema/values/durations.ts';
import { parseSize, sizeSchema, toBytes } from '../../../../src/definitions/schema/values/primitives.ts';
import { reportDefinition } from '../../../support/queue-harness.ts';

const duration = durationSchema('a duration', 10, 604_800);

test('a formatted duration is read as the same duration', () => {
  fc.assert(
    fc.property(fc.integer({ min: 10, max: 604_800 }), (seconds) => {
      expect(duration.parse(formatDurationLiteral(seconds))).toBe(seconds);
      expect(duration.parse(seconds)).toBe(seconds);
    }),
  );
});

test.each([
  [259_200, '3d'],
  [5400, '90m'],
  [45, '45s'],
  [0, '0s'],
])('%i seconds are formatted as %s', (seconds, text) => {
  expect(formatDurationLiteral(seconds)).toBe(text);
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
  expect(toBytes(sizeSchema.parse(text))).toBe(bytes);
});

test.each(['101MB', '0', '0KB', '1GB', '1.5MB', '-1', '', 0, 1.5, 100 * 1024 * 1024 + 1])('%j is no size', (text) => {
  expect(sizeSchema.safeParse(text).success).toBe(false);
  if (typeof text === 'string') expect(parseSize(text)).toBeUndefined();
});

test.each([
  [60, 60],
  ['60s', 60],
  ['30m', 1_800],
  ['4h', 14_400],
  ['7d', 604_800],
  ['8d', undefined],
  ['59s', undefined],
  [0, undefined],
  [604_801, undefined],
  [90.5, undefined],
  ['1 h', undefined],
  ['', undefined],
  [null, undefined],
])('%o is read as %o seconds', (written, seconds) => {
  const { data, error } = deadlineSchema.safeParse(written);
  expect(data).toBe(seconds);
  if (error !== undefined) expect(error.issues.map(({ message }) => message).join()).toContain('90s, 30m, 4h or 2d');
});

test('the deadline of a report is a day by default', () => {
  expect(reportDefinition().definition.deadline).toBe(86_400);
});

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

test('a parsed max_age can be parsed again, as for a stored definition', () => {
  expect(maxAgeSchema.parse(maxAgeSchema.parse('15m'))).toBe(900);
});
