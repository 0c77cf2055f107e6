import { DocketError } from '../../base/error.ts';
import { createRunOrder } from '../../run/run-order.ts';
import type { FrozenDefinition } from '../definitions/definition-store.ts';
import type { RedisRunStore } from '../runs/run-store.ts';
import type { SkippedSlot, SkipReason } from './catch-up.ts';
import { reportName } from './report-schedules.ts';

/** Slots of one report that get a record of their own in one look; of the others the oldest record tells. */
export const MAX_SKIPS_RECORDED = 100;

const SKIP_REASONS: Record<SkipReason, string> = {
  catch_up: 'it was missed, and its schedule makes up for none (catch_up: skip)',
  superseded: 'it was missed, and a later one took its place (catch_up: latest)',
  too_old: 'it was missed for longer than its schedule makes up for',
  paused: 'its report was paused until it was too old to be made up for',
};

/**
 * Records slots that are not opened, each as a run in the state `skipped`, and returns how many this call skipped: a slot
 * that anybody has opened or skipped before is not among them.
 *
 * @param skips ascending
 * @param most records at most; the oldest of them tells of those before it
 */
export async function recordSkippedSlots(
  report: FrozenDefinition,
  skips: readonly SkippedSlot[],
  most: number,
  { runs, now }: { readonly runs: Pick<RedisRunStore, 'skip'>; readonly now: number },
): Promise<number> {
  const recorded = skips.slice(-most);
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
      next: `To make up for it, run \`docket run ${reportName(report)} --period ${from}..${to}\`.`,
    });
    if (await runs.skip(order, error.toJSON())) count += index === 0 ? 1 + others.length : 1;
  }
  return count;
}

const summarizeSkipped = (others: readonly SkippedSlot[]): string => {
  const [first, last] = [others[0], others.at(-1)].map((skip) => new Date(skip?.slot ?? 0).toISOString());
  return others.length === 1 ? `the one of ${first}` : `${others.length} before it, from ${first} to ${last}`;
};
