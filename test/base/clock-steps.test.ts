import fc from 'fast-check';
import { expect, test } from 'vitest';
import { clockStepDetector } from '../../src/base/clock.ts';

const delay = fc.tuple(fc.nat(20_000), fc.nat(20_000));

test('long delays and a clock that drifts or is slewed do not count as a step', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(600_000), delay), { minLength: 2, maxLength: 50 }),
      fc.double({ min: -0.0004, max: 0.0004, noNaN: true }),
      (readings, drift) => {
        const stepOf = clockStepDetector();
        let real = 5_000;
        for (const [pause, [out, back]] of readings) {
          const sentAt = real + pause;
          const read = sentAt + out;
          real = read + back;
          expect(stepOf({ wall: Math.floor(read * (1 + drift)), sentAt, receivedAt: real })).toBeUndefined();
        }
      },
    ),
  );
});

test('each step of the clock, forwards or backwards, is reported once', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(-3_600_000, -7_000, -600, 600, 7_000, 3_600_000)), delay, (steps, [slow]) => {
      const stepOf = clockStepDetector();
      let real = 0;
      let wall = 1_800_000_000_000;
      const look = (late = 0) => {
        real += 1_000;
        const reading = { wall: wall + real, sentAt: real - late, receivedAt: real + 2 };
        return stepOf(reading);
      };
      expect(look()).toBeUndefined();
      for (const step of steps) {
        wall += step;
        const reported = look();
        expect(Math.abs((reported ?? 0) - step)).toBeLessThan(10);
        expect(look(slow)).toBeUndefined();
      }
    }),
  );
});

test('a step of less than a quarter of a second is not reported', () => {
  const stepOf = clockStepDetector();
  expect([0, 200, 0, 200].map((wall, at) => stepOf({ wall: wall + at, sentAt: at, receivedAt: at }))).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});
