import { describe, expect, test } from 'vitest';
import { DAY_MS } from '../../../src/base/time.ts';
import { bucketClock } from '../../../src/fetch/rate-limit/bucket-clock.ts';

const KEY = 'k';
/** A response whose script ran at `at` in the time of the bucket, after `ms` in each direction. */
const reply = (at: number, sentAt: number, ms: number, generation = 'one') => ({
  generation,
  at,
  sentAt,
  receivedAt: sentAt + 2 * ms,
});

describe('the time of a bucket', () => {
  test('is unknown before the first response, and once Redis may have dropped the bucket', () => {
    const clock = bucketClock();
    expect(clock.get(KEY, 0)).toBe(undefined);
    clock.record(KEY, reply(10_000, 50, 0));
    expect(clock.get(KEY, 50)).toMatchObject({ generation: 'one', seen: 10_000, offset: 9_950 });
    expect(clock.get(KEY, 50 + 7 * DAY_MS - 1)).toMatchObject({ generation: 'one' });
    expect(clock.get(KEY, 50 + 7 * DAY_MS)).toBe(undefined);
    clock.record(KEY, reply(10_100, 150, 0));
    expect(clock.get(KEY, 50 + 7 * DAY_MS)).toMatchObject({ generation: 'one' });
    expect(clock.get('another', 50)).toBe(undefined);
  });

  test('is bounded by the quickest of several responses', () => {
    const clock = bucketClock();
    clock.record(KEY, reply(10_000, 0, 100));
    expect(clock.get(KEY, 200)).toMatchObject({ offset: 9_800 });
    // A quicker response shows that the bucket is further ahead.
    clock.record(KEY, reply(10_300, 300, 1));
    expect(clock.get(KEY, 302)).toMatchObject({ offset: 9_998 });
    // A slower one only updates the latest time seen.
    clock.record(KEY, reply(10_500, 400, 100));
    expect(clock.get(KEY, 600)).toMatchObject({ offset: 9_998, seen: 10_500 });
    // One that arrives late changes nothing.
    clock.record(KEY, reply(10_401, 401, 1));
    expect(clock.get(KEY, 600)).toMatchObject({ offset: 9_998, seen: 10_500 });
  });

  test('follows a bucket that falls behind by more than the tolerance of clocks', () => {
    const clock = bucketClock();
    clock.record(KEY, reply(10_000, 0, 0));
    clock.record(KEY, reply(10_096, 100, 0));
    expect(clock.get(KEY, 100)).toMatchObject({ offset: 10_000, seen: 10_096 });
    clock.record(KEY, reply(10_150, 200, 0));
    expect(clock.get(KEY, 200)).toMatchObject({ generation: 'one', offset: 9_950, seen: 10_150 });
  });

  test('starts again when the key gets a new bucket', () => {
    const clock = bucketClock();
    clock.record(KEY, reply(10_000, 0, 0));
    clock.record(KEY, reply(100, 50, 0, 'two'));
    expect(clock.get(KEY, 50)).toMatchObject({ generation: 'two', offset: 50, seen: 100 });
  });

  test('is kept together with the longest hold of each key', () => {
    const clock = bucketClock();
    expect(clock.maxHoldMs(KEY)).toBe(0);
    clock.recordHold(KEY, 300);
    clock.recordHold(KEY, 200);
    expect([clock.maxHoldMs(KEY), clock.maxHoldMs('another')]).toEqual([300, 0]);
  });
});
