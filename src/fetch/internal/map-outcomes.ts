import { mapWithConcurrency } from '../../base/concurrency.ts';
import { done, type Outcome } from '../../base/outcome.ts';

/**
 * Runs `work` for every item, at most `concurrency` at once, and returns the results in the items' order.
 *
 * The first failure or cancel aborts `stop` and starts nothing new; running work is awaited. A snooze also starts nothing
 * new, but lets the others finish, because their responses are stored; of several snoozes the earliest counts.
 */
export async function mapOutcomes<Item, Value>(
  items: readonly Item[],
  concurrency: number,
  work: (item: Item, stop: AbortSignal) => Promise<Outcome<Value>>,
): Promise<Outcome<Value[]>> {
  const stop = new AbortController();
  const ended: Exclude<Outcome<Value>, { kind: 'done' }>[] = [];
  const values = await mapWithConcurrency(items, concurrency, async (item): Promise<Value[]> => {
    if (ended.length > 0) return [];
    try {
      const outcome = await work(item, stop.signal);
      if (outcome.kind === 'done') return [outcome.value];
      ended.push(outcome);
      if (outcome.kind === 'fail' || outcome.kind === 'cancel') stop.abort();
      return [];
    } catch (error) {
      stop.abort();
      throw error;
    }
  });
  const failure = ended.find(({ kind }) => kind === 'fail');
  if (failure !== undefined) return failure;
  const snoozes = ended.flatMap((outcome) => (outcome.kind === 'snooze' ? [outcome] : []));
  const earliest = snoozes.sort((a, b) => a.until - b.until)[0] ?? ended[0];
  return earliest ?? done(values.flat());
}
