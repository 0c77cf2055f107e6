import { openFigures } from '../../run/review/frozen-figures.ts';
import type { RunOrder } from '../../run/run-record.ts';
import type { Deployment } from '../deployment/deployment.ts';

/**
 * The order that a run goes on with: that of its review, where it has one. After Redis was lost, a schedule may open a slot
 * again with a later version of its report, which must not end a review that began with another one: it may ask for no
 * approval. Stores the version of the review again.
 *
 * Throws `archive.corrupt`, `archive.unreachable`.
 */
export async function adoptReview(order: RunOrder, { reviews, definitions, log }: Deployment): Promise<RunOrder> {
  const last = (await reviews.events(order)).findLast((event) => event.type === 'figures');
  if (last === undefined) return order;
  const { order: reviewed, definition, settings } = (await openFigures(reviews, order, last.figures)).inputs;
  if (reviewed.digest === order.digest) return order;
  await definitions.put({ definition, settings });
  const { id: run, org, report } = order;
  log.warn('Run continues with the version of its review', { run, org, report });
  return { ...order, ...reviewed };
}
