interface Pending<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Runs items of the same key together that come in the same turn of the event loop, at most `max` at once.
 *
 * @param run returns one result for each item, in order. If it rejects, so do all of them.
 */
export function batchByKey<Item, Result>(
  run: (key: string, items: readonly Item[]) => Promise<readonly Result[]>,
  max: number,
): (key: string, item: Item) => Promise<Result> {
  const batches = new Map<string, Pending<Item, Result>[]>();
  const flush = async (key: string, batch: Pending<Item, Result>[]): Promise<void> => {
    if (batches.get(key) === batch) batches.delete(key);
    try {
      const results = await run(
        key,
        batch.map(({ item }) => item),
      );
      for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Result);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  };
  return (key, item) =>
    new Promise((resolve, reject) => {
      const open = batches.get(key);
      if (open !== undefined && open.length < max) {
        open.push({ item, resolve, reject });
        return;
      }
      const batch = [{ item, resolve, reject }];
      batches.set(key, batch);
      // After the timers of this turn: those that fire together acquire together.
      setImmediate(() => void flush(key, batch));
    });
}
