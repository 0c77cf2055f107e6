import { CronTime } from 'cron';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { TABLE } from './slots-table.ts';

const iso = (at: number) => new Date(at).toISOString().replace(':00.000Z', 'Z');

/** The next slots by `cron`, which shares no code with croner; fewer when it does not go on. */
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

// luxon reads a time that comes twice by the offset of today: theirs differs by the season in which it is asked.
beforeAll(() => void vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2026-11-21T12:00Z') }));
afterAll(() => void vi.useRealTimers());

describe('the table, by an independent library', () => {
  test.each(TABLE.filter(({ peer }) => peer === undefined))('$cron in $zone after $after is the same', (row) => {
    expect(bySomebodyElse(row.cron, row.zone, row.after, row.slots.length)).toEqual(row.slots);
  });

  test.each(TABLE.filter(({ peer }) => peer !== undefined))(
    '$cron in $zone after $after differs: $peer.why',
    ({ cron, zone, after, slots, peer }) => {
      const theirs = bySomebodyElse(cron, zone, after, slots.length);
      expect(theirs).toEqual(peer?.slots);
      expect(theirs).not.toEqual(slots);
    },
  );
});
