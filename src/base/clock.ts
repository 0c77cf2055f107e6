import { setTimeout as timeout } from 'node:timers/promises';

/** Time as a parameter: everything that asks for "now" or waits takes one, so that tests can move it. */
export interface Clock {
  /** Epoch milliseconds, UTC. */
  now(): number;
  /** Resolves after `ms`; rejects with the signal's reason when aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: async (ms, signal) => {
    try {
      await timeout(ms, undefined, signal === undefined ? {} : { signal });
    } catch (error) {
      throw signal?.aborted ? signal.reason : error;
    }
  },
};
