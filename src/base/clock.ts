import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as timeout } from 'node:timers/promises';

/** Time as a parameter: code that reads the time or waits uses a clock, which tests can control. */
export interface Clock {
  /** Epoch milliseconds, UTC. */
  now(): number;
  /** Resolves after `ms`; rejects with the signal's reason when aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** A clock that also measures durations, which steps of the wall clock do not affect. */
export interface SteadyClock extends Clock {
  /** Ms since an arbitrary instant, the same for all processes on this machine. Never steps. */
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
 * Identifies the origin of `SteadyClock.monotonic`. Processes with the same id (the same boot of the same machine) can
 * compare their values. If the system has no such id, the id is unique to the process.
 */
export function bootId(): string {
  try {
    // A container may have its own time namespace, in which the monotonic clock has another origin.
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${readlinkSync('/proc/self/ns/time')}`;
  } catch {
    return randomUUID();
  }
}

/** A reading of a remote wall clock between two readings of our monotonic clock, in ms. */
export interface WallClockReading {
  readonly wall: number;
  readonly sentAt: number;
  readonly receivedAt: number;
}

/** Smaller steps (ms) are ignored. */
const MIN_STEP_MS = 250;
/** Drift between two clocks, ms per ms. Time servers correct it gradually. */
const MAX_DRIFT = 0.0005;

/**
 * Detects steps of a remote wall clock by comparing it with our monotonic clock. Each reading gives bounds for the
 * offset between the clocks. If the bounds of two readings do not overlap, there was a step between them. Network
 * delays only widen the bounds.
 *
 * @returns a function that takes readings in any order, and returns the step in ms if it finds one
 */
export function clockStepDetector(): (reading: WallClockReading) => number | undefined {
  let bounds: { readonly low: number; readonly high: number; readonly at: number } | undefined;
  return ({ wall, sentAt, receivedAt }) => {
    // `wall` is truncated to whole milliseconds.
    const now = { low: wall - receivedAt, high: wall + 1 - sentAt, at: receivedAt };
    if (bounds === undefined) {
      bounds = now;
      return undefined;
    }
    const drift = Math.abs(now.at - bounds.at) * MAX_DRIFT;
    const [low, high] = [bounds.low - drift, bounds.high + drift];
    const gap = now.low > high ? now.low - high : now.high < low ? now.high - low : 0;
    if (gap === 0) bounds = { low: Math.max(low, now.low), high: Math.min(high, now.high), at: now.at };
    else {
      const step = (now.low + now.high - low - high) / 2;
      bounds = now;
      if (Math.abs(gap) >= MIN_STEP_MS) return Math.round(step);
    }
    return undefined;
  };
}
