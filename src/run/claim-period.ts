import { hasBegun } from '../deliver/claims/claim.ts';
import type { DeliverInput } from '../deliver/deliver.ts';
import { isRequestedAgain } from './request-fingerprint.ts';
import type { RunPorts } from './run-context.ts';
import type { RunOrder } from './run-record.ts';

/**
 * The claim of the run's period, which it needs before its first delivery. A slot, a corrected edition, a run that was
 * requested or approved with `again`, and one that has delivered something already take it over from another run.
 */
export const claimFor = (
  order: RunOrder,
  { claims, reviews }: Pick<RunPorts, 'claims' | 'reviews'>,
): DeliverInput['claim'] =>
  claims &&
  ((hasBegun) => {
    const isExempt = order.trigger === 'schedule' || order.corrects !== undefined || isRequestedAgain(order);
    return claims.acquire(order, async () => isExempt || (await hasBegun()) || (await isApprovedAgain(order, reviews)));
  });

/**
 * Releases the claim of a run without a record that ends here and has delivered nothing. With a record it is released by
 * itself. Best effort: without it the next run needs `again`.
 */
export async function releaseClaim(
  order: RunOrder,
  { claims, ledger }: Pick<RunPorts, 'claims' | 'ledger'>,
): Promise<void> {
  if (claims === undefined || hasBegun(await ledger.list(order.id))) return;
  await claims.release(order);
}

/** Whether somebody approved what is sent with `again`. */
async function isApprovedAgain(order: RunOrder, reviews: RunPorts['reviews']): Promise<boolean> {
  const events = (await reviews?.events(order)) ?? [];
  const seal = events.findLast((event) => event.type === 'seal');
  return events.some((event) => event.type === 'approve' && event.again && event.content === seal?.content);
}
