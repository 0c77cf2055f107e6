import { DocketError } from '../base/error.ts';
import { orderRun } from '../run/order.ts';
import type { Skip, SkipReason } from './catch-up.ts';
import type { FrozenDefinition } from './definition-store.ts';
import type { RedisRunStore } from './run-store.ts';
import { nameOf } from './timing.ts';

/** Slots of one report that get a record of their own in one look; of the others the oldest record tells. */
export const MOST_RECORDED = 100;

const WHY: Record<SkipReason, string> = {
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
export async function recordSkips(
  report: FrozenDefinition,
  skips: readonly Skip[],
  most: number,
  { runs, now }: { readonly runs: Pick<RedisRunStore, 'skip'>; readonly now: number },
): Promise<number> {
  const recorded = skips.slice(-most);
  const others = skips.slice(0, skips.length - recorded.length);
  let count = 0;
  for (const [index, { slot, why }] of recorded.entries()) {
    const order = orderRun({
      ...report,
      trigger: 'schedule',
      priority: 'scheduled',
      slot: new Date(slot).toISOString(),
      at: slot,
      deliver: true,
      now,
    });
    const { from, to } = order.period;
    const more = index === 0 && others.length > 0 ? `, and so were ${among(others)}` : '';
    const error = new DocketError('run.skipped', `The slot was skipped: ${WHY[why]}${more}.`, {
      got: why,
      next: `To make up for it, run \`docket run ${nameOf(report)} --period ${from}..${to}\`.`,
    });
    if (await runs.skip(order, error.toJSON())) count += index === 0 ? 1 + others.length : 1;
  }
  return count;
}

const among = (others: readonly Skip[]): string => {
  const [first, last] = [others[0], others.at(-1)].map((skip) => new Date(skip?.slot ?? 0).toISOString());
  return others.length === 1 ? `the one of ${first}` : `${others.length} before it, from ${first} to ${last}`;
};
