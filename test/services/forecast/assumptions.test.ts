import { expect, test } from 'vitest';
import { measureDurations } from '../../../src/services/forecast/assumptions.ts';

const runOf = (more: Partial<Parameters<typeof measureDurations>[0][number]> = {}) => ({
  timings: { fetch: 1_800, render: 4_000, deliver: 1_000 },
  ...{ deliver: true, calls: { planned: 12, made: 12, saved: 0 }, tokenWaitMs: 0, ...more },
});

test('assumptions are measured: time per call with four at once, rendering and delivery', () => {
  expect(measureDurations([runOf()])).toEqual({ callMs: 600, renderMs: 4_000, deliverMs: 1_000 });
});

test('assumptions take the median and leave out waits for tokens and people', () => {
  const review = { seq: 1, phase: 'settled', content: null } as const;
  const [slow, waited] = [runOf({ timings: { fetch: 9_000, render: 9_000 } }), runOf({ tokenWaitMs: 60_000 })];
  const read = runOf({ timings: { fetch: 1_800, render: 4_000, deliver: 3_600_000 }, review: { ...review } as never });
  expect(measureDurations([runOf(), slow, waited, read, runOf()])).toMatchObject({ callMs: 600, renderMs: 4_000 });
  expect(measureDurations([read, runOf()])).toMatchObject({ deliverMs: 1_000 });
});

test('the pages of a list are read one after the other, and the last run’s number of pages is assumed', () => {
  const read = (pages: number, fetch: number) => runOf({ timings: { fetch }, pages });
  expect(measureDurations([read(50, 25_000), read(40, 20_000), read(2, 1_500)])).toMatchObject({
    callMs: 500,
    pages: 50,
  });
});

test('assumptions without measurements are half a second per call, three to render and two to deliver', () => {
  expect(measureDurations([])).toBeUndefined();
  const prepared = runOf({ calls: { planned: 12, made: 0, saved: 12 }, deliver: false });
  expect(measureDurations([prepared])).toEqual({ callMs: 500, renderMs: 4_000, deliverMs: 2_000 });
});
