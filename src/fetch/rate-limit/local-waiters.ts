import type { Clock } from '../../base/clock.ts';

/** The waiters of one process. Each sleeps until its token is expected, and the first of a key finds out if it comes earlier. */
export interface LocalWaiters {
  /**
   * Resolves when the waiter should acquire again: at `at`, when it is woken, or when the signal aborts. The waiter of the
   * key that expects its token first wakes half-way, which finds tokens that others returned early.
   *
   * @param at epoch ms
   */
  sleep(
    key: string,
    at: number,
    context: { readonly clock: Clock; readonly windowMs: number; readonly signal: AbortSignal },
  ): Promise<void>;
  /** Called when tokens are left: wakes the first waiter of the key, unless it wakes by then (epoch ms) anyway. */
  wakeNext(key: string, by: number): void;
}

interface Waiter {
  readonly at: number;
  /** Ends its sleep: to acquire, or to sleep as the first. */
  interrupt(to: 'acquire' | 'sleep'): void;
}

/** Nearer to its token than this part of a window, the first waiter does not wake half-way. */
const MIN_PART_OF_WINDOW = 1 / 4;

export function localWaiters(): LocalWaiters {
  /** By key, in the order of `at`. */
  const waiting = new Map<string, Waiter[]>();

  const add = (key: string, waiter: Waiter): void => {
    const waiters = waiting.get(key) ?? [];
    waiting.set(key, waiters);
    // Most come last.
    waiters.splice(waiters.findLastIndex(({ at }) => at <= waiter.at) + 1, 0, waiter);
  };
  const remove = (key: string, waiter: Waiter): void => {
    const waiters = waiting.get(key) ?? [];
    const index = waiters.indexOf(waiter);
    waiters.splice(index, 1);
    if (waiters.length === 0) waiting.delete(key);
    else if (index === 0) waiters[0]?.interrupt('sleep');
  };

  return {
    sleep: async (key, at, { clock, windowMs, signal }) => {
      let woken = false;
      let timer = new AbortController();
      const end = () => timer.abort();
      const waiter: Waiter = {
        at,
        interrupt: (to) => {
          woken ||= to === 'acquire';
          end();
        },
      };
      signal.addEventListener('abort', end);
      add(key, waiter);
      try {
        while (!woken && !signal.aborted) {
          timer = new AbortController();
          const wait = at - clock.now();
          const isFirst = waiting.get(key)?.[0] === waiter;
          const ms = isFirst && wait > windowMs * MIN_PART_OF_WINDOW ? wait / 2 : wait;
          if (await sleepUnlessAborted(clock, Math.max(1, ms), timer.signal)) return;
        }
      } finally {
        signal.removeEventListener('abort', end);
        remove(key, waiter);
      }
    },
    wakeNext: (key, by) => {
      const first = waiting.get(key)?.[0];
      if (first !== undefined && first.at > by) first.interrupt('acquire');
    },
  };
}

/** False if the signal aborted the sleep. */
async function sleepUnlessAborted(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await clock.sleep(ms, signal);
    return true;
  } catch (error) {
    if (!signal.aborted) throw error;
    return false;
  }
}
