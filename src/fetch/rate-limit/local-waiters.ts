import type { Clock } from '../../base/clock.ts';

/**
 * The waiters of one process. Each sleeps until its token is expected. The first waiter of a key also checks whether a
 * token comes earlier.
 */
export type LocalWaiters = ReturnType<typeof localWaiters>;

interface Waiter {
  readonly id: string;
  readonly at: number;
  /** The token may come later than `at`: that depends on calls that are not answered or not made yet. */
  readonly isLowerBound: boolean;
  /** Ends the waiter's sleep, so that it acquires or goes back to sleep as the first waiter. */
  interrupt(to: 'acquire' | 'sleep'): void;
}

/** The first waiter does not wake half-way if its token is closer than this part of a window. */
const MIN_PART_OF_WINDOW = 1 / 4;
/** A waiter wakes early with another one if it expects its token within this part of a window. */
const EARLY_PART_OF_WINDOW = 1 / 4;

export function localWaiters() {
  /** By key, in the order of `at`. */
  const waiting = new Map<string, Waiter[]>();

  const add = (key: string, waiter: Waiter): void => {
    const waiters = waiting.get(key) ?? [];
    waiting.set(key, waiters);
    // Most waiters belong at the end.
    waiters.splice(waiters.findLastIndex(({ at }) => at <= waiter.at) + 1, 0, waiter);
  };
  const remove = (key: string, waiter: Waiter): void => {
    const waiters = waiting.get(key) ?? [];
    const index = waiters.indexOf(waiter);
    waiters.splice(index, 1);
    if (waiters.length === 0) waiting.delete(key);
    else if (index === 0) waiters[0]?.interrupt('sleep');
  };

  const isFirst = (key: string, waiter: Waiter): boolean => waiting.get(key)?.[0] === waiter;
  const wakeEarly = (key: string, until: number): void => {
    for (const waiter of waiting.get(key) ?? []) {
      if (waiter.at > until) return;
      if (waiter.isLowerBound) waiter.interrupt('acquire');
    }
  };

  return {
    /**
     * Resolves when the waiter should acquire again: at `at`, when it is woken, or when the signal aborts. The waiter of
     * the key that expects its token first wakes half-way, to find tokens that others returned early. A waiter that was a
     * window or more from its token has only a lower bound and must acquire again for the exact time: it wakes early with
     * another waiter, so that both acquire in one call of the script.
     *
     * @param at epoch ms
     */
    sleep: async (
      key: string,
      id: string,
      at: number,
      { clock, windowMs, signal }: { readonly clock: Clock; readonly windowMs: number; readonly signal: AbortSignal },
    ): Promise<void> => {
      let woken = false;
      let timer = new AbortController();
      const end = () => timer.abort();
      const waiter: Waiter = {
        id,
        at,
        isLowerBound: at - clock.now() >= windowMs,
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
          const isHalf = isFirst(key, waiter) && wait > windowMs * MIN_PART_OF_WINDOW;
          const slept = await sleepUnlessAborted(clock, Math.max(1, isHalf ? wait / 2 : wait), timer.signal);
          // Another waiter may have become the first while this one, the first until then, was acquiring.
          if (slept && (!isHalf || isFirst(key, waiter))) return;
        }
      } finally {
        signal.removeEventListener('abort', end);
        remove(key, waiter);
        if (!signal.aborted) wakeEarly(key, clock.now() + windowMs * EARLY_PART_OF_WINDOW);
      }
    },
    /**
     * Called when a grant leaves tokens. Wakes those of these waiters that sleep in this process, unless they wake by
     * then (epoch ms) anyway. If none of them does and there are more tokens than names, wakes this process's first
     * waiter, which may be next in the queue.
     */
    wake: (key: string, ids: readonly string[], tokens: number, by: number): void => {
      const waiters = waiting.get(key) ?? [];
      const named = ids.length === 0 ? [] : waiters.filter(({ id }) => ids.includes(id));
      const woken = named.length === 0 && tokens > ids.length ? waiters.slice(0, 1) : named;
      for (const waiter of woken) {
        if (waiter.at > by) waiter.interrupt('acquire');
      }
    },
    /** Called when a token may be free. Wakes the first waiter of the key, unless it wakes by then (epoch ms) anyway. */
    wakeNext: (key: string, by: number): void => {
      const first = waiting.get(key)?.[0];
      if (first !== undefined && first.at > by) first.interrupt('acquire');
    },
  };
}

/** Sleeps; returns false if the signal aborted. */
async function sleepUnlessAborted(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await clock.sleep(ms, signal);
    return true;
  } catch (error) {
    if (!signal.aborted) throw error;
    return false;
  }
}
