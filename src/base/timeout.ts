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
