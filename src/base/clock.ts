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
