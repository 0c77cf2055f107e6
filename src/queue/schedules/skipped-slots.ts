import { DocketError } from '../../base/error.ts';
import { createRunOrder } from '../../run/run-order.ts';
import type { FrozenDefinition } from '../definitions/definition-store.ts';
import type { RedisRunStore } from '../runs/run-store.ts';
import type { SkippedSlot, SkipReason } from './catch-up.ts';
import { reportName } from './report-schedules.ts';

/** Skipped slots of a report that get a record each in one scan; the oldest record names the others. */
export const MAX_SKIPS_RECORDED = 100;

const SKIP_REASONS: Record<SkipReason, string> = {
  catch_up: 'it was missed, and its schedule catches up none (catch_up: skip)',
  superseded: 'it was missed, and a later one was opened instead (catch_up: latest)',
  too_old: 'it was missed, and is older than its catch_up_window',
  paused: 'its report was paused until it was older than its catch_up_window',
};

/**
 * Records slots that are not opened, each as a run in the state `skipped`. Returns how many this call skipped, without those
 * that were opened or skipped before.
 *
 * @param skips ascending
 * @param maxRecords the oldest record names the slots before it
 */
export async function recordSkippedSlots(
  report: FrozenDefinition,
  skips: readonly SkippedSlot[],
  maxRecords: number,
  { runs, now }: { readonly runs: RedisRunStore; readonly now: number },
): Promise<number> {
  const recorded = skips.slice(-maxRecords);
  const others = skips.slice(0, skips.length - recorded.length);
  let count = 0;
  for (const [index, { slot, why }] of recorded.entries()) {
    const order = createRunOrder({
      ...report,
      trigger: 'schedule',
      priority: 'scheduled',
      slot: new Date(slot).toISOString(),
      at: slot,
      deliver: true,
      now,
    });
    const { from, to } = order.period;
    const more = index === 0 && others.length > 0 ? `, and so were ${summarizeSkipped(others)}` : '';
    const error = new DocketError('run.skipped', `The slot was skipped: ${SKIP_REASONS[why]}${more}.`, {
      got: why,
      next: `To catch it up, run \`docket run ${reportName(report)} --period ${from}..${to}\`.`,
    });
    if (await runs.skip(order, error.toJSON())) count += index === 0 ? 1 + others.length : 1;
  }
  return count;
}

const summarizeSkipped = (others: readonly SkippedSlot[]): string => {
  const [first, last] = [others[0], others.at(-1)].map((skip) => new Date(skip?.slot ?? 0).toISOString());
  return others.length === 1 ? `the one of ${first}` : `${others.length} before it, from ${first} to ${last}`;
};
