import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as timeout } from 'node:timers/promises';

/** Time as a parameter: everything that asks for "now" or waits takes one, so that tests can move it. */
export interface Clock {
  /** Epoch milliseconds, UTC. */
  now(): number;
  /** Resolves after `ms`; rejects with the signal's reason when aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** A clock that also measures durations, which no step of the wall clock touches. */
export interface SteadyClock extends Clock {
  /** Milliseconds since an instant that only this machine knows: one origin for all its processes. Never steps. */
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
 * Names what the readings of `SteadyClock.monotonic` of one process may be compared with: those of processes of the same
 * start of the same machine. Where the system does not say which that is, the name is the process's alone.
 */
export function bootId(): string {
  try {
    // A container may have a time namespace of its own, whose monotonic clock has another origin.
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${readlinkSync('/proc/self/ns/time')}`;
  } catch {
    return randomUUID();
  }
}
