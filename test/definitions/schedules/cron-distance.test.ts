import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hasTimesWithin, parseCron } from '../../../src/definitions/schedules/cron.ts';
import { cases } from '../../support/fuzz.ts';

const HOUR = 3_600_000;
const [FROM, TO] = [Date.UTC(2024, 0, 1), Date.UTC(2025, 5, 1)];

/** Checks all times of a leap year and some months. */
function closeTimes(cron: string, ms: number): boolean {
  let before = Number.NEGATIVE_INFINITY;
  for (const time of parseCron(cron).between(FROM, TO)) {
    if (time - before <= ms) return true;
    before = time;
  }
  return false;
}

const list = (min: number, max: number) =>
  fc.uniqueArray(fc.integer({ min, max }), { minLength: 1, maxLength: 3 }).map((values) => values.join(','));
const crons = fc
  .tuple(
    fc.constantFrom('0', '30', '0,45', '*/20'),
    fc.oneof(list(0, 23), fc.constantFrom('*', '*/6', '9-17')),
    fc.oneof(list(1, 31), fc.constantFrom('*', '*', '*/2')),
    fc.oneof(list(1, 12), fc.constantFrom('*', '*')),
    fc.oneof(list(0, 6), fc.constantFrom('*', '*', 'MON-FRI')),
  )
  .map((fields) => fields.join(' '));

test('hasTimesWithin agrees with a check of all times', () => {
  fc.assert(
    fc.property(crons, fc.integer({ min: 1, max: 48 }), (cron, halfHours) => {
      const ms = (halfHours * HOUR) / 2;
      expect(hasTimesWithin(cron, ms), cron).toBe(closeTimes(cron, ms));
    }),
    cases(200),
  );
});

test.each([
  ['0 9 * * *', 24, true],
  ['0 9 * * *', 23, false],
  ['0 9 * * MON', 24, false],
  ['0 23,1 * * *', 2, true],
  ['0 23,1 * * FRI', 2, false],
  ['@hourly', 1, true],
] as const)('%s has times within %i hours: %s', (cron, hours, expected) => {
  expect(hasTimesWithin(cron, hours * HOUR)).toBe(expected);
});
