/**
 * Calls `fn` for each item, at most `concurrency` at a time, and returns its results in the items' order.
 *
 * After a failure no further call starts; the calls already running are awaited, then the first failure is thrown.
 */
export async function mapWithConcurrency<Item, Result>(
  items: Iterable<Item>,
  concurrency: number,
  fn: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const all = [...items];
  const results = new Array<Result>(all.length);
  const pending = all.entries();
  const failures: unknown[] = [];
  const worker = async (): Promise<void> => {
    for (const [index, item] of pending) {
      try {
        results[index] = await fn(item, index);
      } catch (error) {
        failures.push(error);
      }
      if (failures.length > 0) return;
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, all.length) }, worker));
  if (failures.length > 0) throw failures[0];
  return results;
}

/** Works on all items, at most `concurrency` at the same time. Rejects as `mapWithConcurrency`. */
export async function forEachWithConcurrency<Item>(
  items: Iterable<Item>,
  concurrency: number,
  fn: (item: Item, index: number) => Promise<unknown>,
): Promise<void> {
  await mapWithConcurrency(items, concurrency, fn);
}

/** The items in batches of at most `size`. */
export function* batchesOf<Item>(items: readonly Item[], size: number): Generator<readonly Item[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}

/**
 * Runs `work` one call at a time. Callers during a run share the next run, not the current one, which may have started
 * before their reason to call.
 */
export function coalesceCalls<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<Result> | undefined;
  let following: Promise<Result> | undefined;
  const start = (): Promise<Result> => {
    running = work().finally(() => {
      running = undefined;
    });
    return running;
  };
  const next = (): Promise<Result> => {
    following = undefined;
    return start();
  };
  return () => {
    if (running === undefined) return start();
    following ??= running.then(next, next);
    return following;
  };
}

/**
 * The promise's outcome, or that of `onTimeout` (a value, or an error that it throws) when `ms` pass first. What the
 * promise stands for is not cancelled.
 */
export async function withTimeout<Value, Fallback>(
  promise: Promise<Value>,
  ms: number,
  onTimeout: () => Fallback,
): Promise<Value | Fallback> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  }).then(onTimeout);
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** Whether the promise resolves within `ms`. Throws what it rejects with. */
export const settlesWithin = (promise: Promise<unknown>, ms: number): Promise<boolean> =>
  withTimeout(
    promise.then(() => true),
    ms,
    () => false,
  );
