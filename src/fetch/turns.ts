import { done, type Outcome } from '../base/outcome.ts';

/**
 * Does `work` for every item, at most `width` at once, and keeps the results in order.
 *
 * The first failure (or cancel) ends it: `stop` aborts, nothing new starts, and what is under way is awaited, so that
 * nothing goes on behind the caller's back. A snooze starts nothing new either but lets the others finish their waiting,
 * for their answers are kept; of several, the earliest counts.
 */
export async function inTurns<Item, Value>(
  items: readonly Item[],
  width: number,
  work: (item: Item, stop: AbortSignal) => Promise<Outcome<Value>>,
): Promise<Outcome<Value[]>> {
  const stop = new AbortController();
  const values = new Map<number, Value>();
  const ended: Exclude<Outcome<Value>, { kind: 'done' }>[] = [];
  const thrown: unknown[] = [];
  const queue = items.entries();
  const worker = async () => {
    for (const [index, item] of queue) {
      if (ended.length > 0 || thrown.length > 0) return;
      try {
        const outcome = await work(item, stop.signal);
        if (outcome.kind === 'done') values.set(index, outcome.value);
        else ended.push(outcome);
        if (outcome.kind === 'fail' || outcome.kind === 'cancel') stop.abort();
      } catch (error) {
        thrown.push(error);
        stop.abort();
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, worker));
  if (thrown.length > 0) throw thrown[0];
  const failure = ended.find(({ kind }) => kind === 'fail');
  if (failure !== undefined) return failure;
  const snoozes = ended.flatMap((outcome) => (outcome.kind === 'snooze' ? [outcome] : []));
  const earliest = snoozes.sort((a, b) => a.until - b.until)[0] ?? ended[0];
  return earliest ?? done([...values.entries()].sort(([a], [b]) => a - b).map(([, value]) => value));
}
