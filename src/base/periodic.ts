import type { Clock } from './clock.ts';
import { toDocketError } from './error.ts';
import type { Log } from './log.ts';
import { MINUTE_MS } from './time.ts';

/**
 * Calls each task at once and then every minute, one after the other, until closed. Logs a failed task and repeats it
 * in the next round; the others continue. A retryable failure is logged as a warning, and as an error if the next round
 * fails too. A defect is logged as an error at once.
 */
export function startPeriodicTasks(options: {
  readonly steps: readonly (() => Promise<unknown>)[];
  readonly clock: Clock;
  readonly log: Log;
  readonly everyMs?: number;
}): { wake(): void; close(): Promise<void> } {
  const { steps, clock, log, everyMs = MINUTE_MS } = options;
  const closing = new AbortController();
  let woken = false;
  let wake: () => void = () => {};
  const sleep = async (): Promise<void> => {
    const waking = new AbortController();
    wake = () => waking.abort();
    if (!woken) await clock.sleep(everyMs, AbortSignal.any([waking.signal, closing.signal])).catch(() => {});
    woken = false;
  };
  const failed = new Set<(typeof steps)[number]>();
  const loop = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      for (const step of steps) {
        if (closing.signal.aborted) return;
        try {
          await step();
          failed.delete(step);
        } catch (thrown) {
          const error = toDocketError(thrown);
          const mayPass = error.retryable && error.code !== 'internal.defect' && !failed.has(step);
          failed.add(step);
          log[mayPass ? 'warn' : 'error']('Periodic task failed; will retry', { error: error.toJSON() });
        }
      }
      await sleep();
    }
  };
  const running = loop();
  return {
    /** Starts the next round at once, or right after the current one. */
    wake: () => {
      woken = true;
      wake();
    },
    close: async () => {
      closing.abort();
      await running;
    },
  };
}
