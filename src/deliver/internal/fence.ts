import type { Clock } from '../../base/clock.ts';
import { withTimeout } from '../../base/concurrency.ts';
import { errorMessage } from '../../base/error.ts';
import type { Ledger } from '../ledger/ledger.ts';

/** Validity of a confirmation, counted from its request. Shorter than any lock of a run. */
const CONFIRMATION_TTL_MS = 10_000;

/** A delivery must not be sent: another process holds its row or run, deliveries are stopped, or the confirmation timed out. */
export class NotConfirmedError extends Error {
  override readonly name = 'NotConfirmed';
}

/**
 * A check right before each write that makes a delivery happen. While a process is frozen, another worker may declare its
 * delivery `unknown`, and a person may have it sent again. Both methods reject with `NotConfirmedError`.
 */
export interface Fence {
  /** Checks that the run's lock and the ledger's row still belong to this attempt. */
  confirm(): Promise<void>;
  /** Confirms again if the last confirmation has expired, by the monotonic clock or the wall clock. */
  confirmIfStale(): Promise<void>;
}

/** Counted from the clocks at the time of the request. */
export interface Confirmation {
  /** Epoch ms. */
  readonly now: number;
  /** Ms of the monotonic clock. */
  readonly elapsed: number;
  readonly validMs: number;
}

/** @param lockMs for which the run's lock is held */
export const confirmationOf = (start: Omit<Confirmation, 'validMs'>, lockMs: number): Confirmation => ({
  ...start,
  validMs: Math.min(CONFIRMATION_TTL_MS, lockMs),
});

/** For deliveries without a competing process. */
export const noFence: Fence = { confirm: async () => {}, confirmIfStale: async () => {} };

export interface FenceInput {
  readonly ledger: Ledger;
  readonly delivery: string;
  readonly epoch: number;
  /**
   * The records of the attempt's beginning, for a target that is called before they are durable: nothing is confirmed before.
   * The first confirmation is then asked for as soon as they are, while the target is still connecting.
   */
  readonly begun?: Promise<void> | undefined;
  /** The confirmation that the attempt began with: its row became `sending` while the lock was renewed. */
  readonly confirmed?: Confirmation | undefined;
  readonly clock: Clock;
  /** Ms of a monotonic clock; of the process by default. It may stop while the machine is suspended. */
  readonly monotonic?: (() => number) | undefined;
  /** Renews the run's lock. Resolves with its duration in ms from the call on, 0 when it is lost. Absent for runs without a lock. */
  readonly confirmLock?: (() => Promise<number>) | undefined;
  /** Rejects while deliveries are stopped, and where that cannot be read. Absent: they are never stopped, as notices. */
  readonly confirmOpen?: (() => Promise<void>) | undefined;
  /** Ms; for tests. */
  readonly timeoutMs?: number;
}

/** The fence of one attempt. */
export function attemptFence(input: FenceInput): Fence {
  const { ledger, delivery, epoch, begun, clock, monotonic = () => performance.now(), confirmLock } = input;
  const { timeoutMs = CONFIRMATION_TTL_MS } = input;
  let { confirmed } = input;

  const isValid = (): boolean => {
    if (confirmed === undefined) return false;
    const { now, elapsed, validMs } = confirmed;
    const ages = [clock.now() - now, monotonic() - elapsed];
    return ages.every((ms) => ms >= 0 && ms < validMs);
  };

  /**
   * Lock and row together: a lock that is renewed was never lost, so that no other process has changed the row in between.
   * @returns ms of validity
   */
  const check = async (): Promise<number> => {
    const [lockMs = CONFIRMATION_TTL_MS, row] = await Promise.all([confirmLock?.(), ledger.find(delivery)]);
    if (lockMs <= 0) throw new NotConfirmedError('Not sent: another worker has taken over the run.');
    if (row?.state !== 'sending' || row.epoch !== epoch)
      throw new NotConfirmedError('Not sent: the state of the delivery has changed.');
    return Math.min(CONFIRMATION_TTL_MS, lockMs);
  };

  const confirmNow = async (): Promise<void> => {
    // Awaited before the time is taken: a slow record must not use up the time of the confirmation.
    await begun?.catch(notConfirmed);
    const start = { now: clock.now(), elapsed: monotonic() };
    confirmed = { ...start, validMs: await confirmWithTimeout(check(), timeoutMs) };
    if (!isValid()) throw new NotConfirmedError('Not sent: the confirmation of the delivery took too long.');
  };
  let early = begun && confirmNow();
  early?.catch(() => {});
  const confirm = async (): Promise<void> => {
    const first = early;
    early = undefined;
    await first;
    // One that has expired meanwhile is requested again.
    if (first === undefined || !isValid()) await confirmNow();
  };
  // Checked each time, even while a confirmation is valid: nothing may leave after a stop.
  const whileOpen = async (confirmed: Promise<void>): Promise<void> => {
    const open = input.confirmOpen && confirmWithTimeout(input.confirmOpen(), timeoutMs);
    await Promise.all([confirmed, open]);
  };
  return {
    confirm: () => whileOpen(confirm()),
    confirmIfStale: () => whileOpen(isValid() ? Promise.resolve() : confirm()),
  };
}

/** Bounds the wait: a client that waits for Redis must not hold a connection to a mail server for as long. */
async function confirmWithTimeout<T>(confirmation: Promise<T>, ms: number): Promise<T> {
  try {
    return await withTimeout(confirmation, ms, () => {
      throw new NotConfirmedError(`Not sent: no confirmation within ${ms} ms.`);
    });
  } catch (error) {
    return notConfirmed(error);
  }
}

function notConfirmed(error: unknown): never {
  if (error instanceof NotConfirmedError) throw error;
  throw new NotConfirmedError(`Not sent: the delivery could not be confirmed: ${errorMessage(error)}`, {
    cause: error,
  });
}
