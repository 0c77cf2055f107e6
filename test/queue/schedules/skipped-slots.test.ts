import { expect, test } from 'vitest';
import type { ErrorJson } from '../../../src/base/error.ts';
import type { RedisRunStore } from '../../../src/queue/runs/run-store.ts';
import type { SkippedSlot } from '../../../src/queue/schedules/catch-up.ts';
import { recordSkippedSlots } from '../../../src/queue/schedules/open-due-slots.ts';
import { fake } from '../../support/fake.ts';
import { reportDefinition } from '../../support/queue-harness.ts';

const skip = (at: string): SkippedSlot => ({ slot: Date.parse(at), why: 'too_old' });
const SKIPS = ['2026-11-02T07:00Z', '2026-11-09T07:00Z', '2026-11-16T07:00Z'].map(skip);

/** What is recorded for these skips when at most `most` records are allowed. */
async function recorded(skips: readonly SkippedSlot[], most: number, opened = false) {
  const kept: { slot: string; error: ErrorJson }[] = [];
  const runs = fake<RedisRunStore>({
    skip: async ({ slot }, error) => {
      kept.push({ slot, error });
      return !opened;
    },
  });
  const count = await recordSkippedSlots(reportDefinition(), skips, most, {
    runs,
    now: Date.parse('2026-11-21T12:00Z'),
  });
  return { count, slots: kept.map(({ slot }) => slot), first: kept[0]?.error.message };
}

test('each skipped slot has a record if there are not too many', async () => {
  const { count, slots, first } = await recorded(SKIPS, 3);
  expect([count, slots.length]).toEqual([3, 3]);
  expect(first).toMatch(/catch_up_window\.$/);
});

test('the oldest record names one earlier slot, or the time range of several; all are counted', async () => {
  const one = await recorded(SKIPS, 2);
  expect(one.count).toBe(3);
  expect(one.slots).toEqual(['2026-11-09T07:00:00.000Z', '2026-11-16T07:00:00.000Z']);
  expect(one.first).toContain('and so were the one of 2026-11-02T07:00:00.000Z.');
  const two = await recorded(SKIPS, 1);
  expect(two.count).toBe(3);
  expect(two.first).toContain('and so were 2 before it, from 2026-11-02T07:00:00.000Z to 2026-11-09T07:00:00.000Z.');
});

test('a slot that was opened or skipped before is not counted again', async () => {
  expect((await recorded(SKIPS, 1, true)).count).toBe(0);
});
