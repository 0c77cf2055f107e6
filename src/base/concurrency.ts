/**
 * Calls `fn` for each item, at most `concurrency` at a time, and returns its results in the items' order.
 *
 * After a failure, starts no further calls, waits for the running ones, then throws the first failure.
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

/** Splits the items into batches of at most `size`. */
export function* splitBatches<Item>(items: readonly Item[], size: number): Generator<readonly Item[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}

/**
 * Runs `work` one call at a time. Callers during a run share the next run: the current one may have started before
 * their reason to call.
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
 * The promise's outcome or, if `ms` pass first, that of `onTimeout` (a value, or an error that it throws). The
 * underlying work is not cancelled.
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

/** Whether the promise resolves within `ms`. Throws the promise's error if it rejects. */
export const settlesWithin = (promise: Promise<unknown>, ms: number): Promise<boolean> =>
  withTimeout(
    promise.then(() => true),
    ms,
    () => false,
  );
