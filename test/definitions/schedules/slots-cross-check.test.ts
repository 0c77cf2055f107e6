import { CronTime } from 'cron';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { TABLE } from './slots-table.ts';

const iso = (at: number) => new Date(at).toISOString().replace(':00.000Z', 'Z');

/** The next slots by `cron`, which shares no code with croner. Fewer if it gets stuck. */
function bySomebodyElse(cron: string, zone: string, after: string, count: number): string[] {
  const time = new CronTime(cron, zone);
  const slots: number[] = [];
  let from = Date.parse(after);
  while (slots.length < count) {
    const next = time.getNextDateFrom(new Date(from), zone).toMillis();
    if (next <= from) break;
    slots.push(next);
    from = next;
  }
  return slots.map(iso);
}

// luxon resolves a repeated time by the current offset, so the results of `cron` would depend on the season of the test run.
beforeAll(() => void vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2026-11-21T12:00Z') }));
afterAll(() => void vi.useRealTimers());

describe('slots of an independent library', () => {
  test.each(TABLE.filter(({ peer }) => peer === undefined))('are the same for $cron in $zone after $after', (row) => {
    expect(bySomebodyElse(row.cron, row.zone, row.after, row.slots.length)).toEqual(row.slots);
  });

  test.each(TABLE.filter(({ peer }) => peer !== undefined))(
    'differ for $cron in $zone after $after, because: $peer.why',
    ({ cron, zone, after, slots, peer }) => {
      const theirs = bySomebodyElse(cron, zone, after, slots.length);
      expect(theirs).toEqual(peer?.slots);
      expect(theirs).not.toEqual(slots);
    },
  );
});
