import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as timeout } from 'node:timers/promises';

/** Time as a parameter: code that reads the time or waits takes a clock, which tests control. */
export interface Clock {
  /** Epoch milliseconds, UTC. */
  now(): number;
  /** Resolves after `ms`; rejects with the signal's reason when aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** A clock that also measures durations, unaffected by steps of the wall clock. */
export interface SteadyClock extends Clock {
  /** Ms since an arbitrary instant, the same for all processes of this machine. Never steps. */
  monotonic(): number;
}

export const systemClock: SteadyClock = {
  now: () => Date.now(),
  monotonic: () => Number(process.hrtime.bigint()) / 1e6,
  sleep: async (ms, signal) => {
    try {
      await timeout(ms, undefined, signal === undefined ? {} : { signal });
    } catch (error) {
      throw signal?.aborted ? signal.reason : error;
    }
  },
};

/**
 * Identifies the origin of `SteadyClock.monotonic`: readings may be compared between processes with the same id (the same
 * boot of the same machine). Where the system gives none, the id is unique to the process.
 */
export function bootId(): string {
  try {
    // A container may have its own time namespace, with another origin of the monotonic clock.
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${readlinkSync('/proc/self/ns/time')}`;
  } catch {
    return randomUUID();
  }
}
