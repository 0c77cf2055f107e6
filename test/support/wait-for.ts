import { setTimeout as sleep } from 'node:timers/promises';

export interface WaitOptions {
  /** Longer than a busy machine needs. It ends a test that hangs, and no test measures it. */
  readonly timeoutMs?: number;
  /** The time between two polls of a condition. */
  readonly intervalMs?: number;
}

type Found<T> = Exclude<T, undefined | null | false>;

/**
 * Waits for an event of another process, of Redis or of a callback. For an event emitter, pass `once(emitter, 'event')`.
 *
 * @param what named in the error: "the run to be done"
 * @param awaited a promise, or a condition that is polled until it gives anything but undefined, null or false
 * @returns what the promise or the condition gave
 * @throws an Error when the time is over, with the last value of the condition; and whatever `awaited` throws
 */
export async function waitFor<T>(
  what: string,
  awaited: PromiseLike<T> | (() => T | PromiseLike<T>),
  { timeoutMs = 180_000, intervalMs = 10 }: WaitOptions = {},
): Promise<Found<T>> {
  const ended = new AbortController();
  const deadline = performance.now() + timeoutMs;
  let last: unknown = 'not answered';
  const timeout = sleep(timeoutMs, undefined, { signal: ended.signal }).then(() => {
    throw new Error(
      `Waited ${timeoutMs / 1000} s for ${what}; the last value: ${JSON.stringify(last) ?? String(last)}`,
    );
  });
  const poll = async (condition: () => T | PromiseLike<T>): Promise<Found<T>> => {
    for (;;) {
      const found = await condition();
      if (isFound(found)) return found;
      last = found;
      if (performance.now() > deadline) return timeout;
      await sleep(intervalMs);
    }
  };
  try {
    return await Promise.race([
      typeof awaited === 'function' ? poll(awaited) : (awaited as PromiseLike<Found<T>>),
      timeout,
    ]);
  } finally {
    ended.abort();
    timeout.catch(() => {});
  }
}

const isFound = <T>(value: T): value is Found<T> => value !== undefined && value !== null && value !== false;
