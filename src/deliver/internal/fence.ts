import type { Clock } from '../../base/clock.ts';
import { withTimeout } from '../../base/concurrency.ts';
import { errorMessage } from '../../base/error.ts';
import type { Ledger } from '../ledger/ledger.ts';

/** How long a confirmation is valid, from its request. Shorter than any lock of a run. */
const CONFIRMATION_TTL_MS = 10_000;

/**
 * The delivery must not be sent: another process holds its row or run, deliveries are stopped, or the confirmation
 * timed out.
 */
export class NotConfirmedError extends Error {
  override readonly name = 'NotConfirmed';
}

/**
 * A check right before each write that makes a delivery happen. While this process is frozen, another worker may
 * declare its delivery `unknown`, and a person may have it sent again. Both methods reject with `NotConfirmedError`.
 */
export interface Fence {
  /** Checks that the run's lock and the ledger row still belong to this attempt. */
  confirm(): Promise<void>;
  /** Confirms again if the last confirmation has expired by the monotonic or the wall clock. */
  confirmIfStale(): Promise<void>;
}

/** A confirmation. Its times are those of the request. */
export interface Confirmation {
  /** Epoch ms. */
  readonly now: number;
  /** Ms by the monotonic clock. */
  readonly elapsed: number;
  readonly validMs: number;
}

/** @param lockMs how long the run's lock is held */
export const buildConfirmation = (start: Omit<Confirmation, 'validMs'>, lockMs: number): Confirmation => ({
  ...start,
  validMs: Math.min(CONFIRMATION_TTL_MS, lockMs),
});

/** A fence that always confirms, for deliveries without a competing process. */
export const noFence: Fence = { confirm: async () => {}, confirmIfStale: async () => {} };

export interface FenceInput {
  readonly ledger: Ledger;
  readonly delivery: string;
  readonly epoch: number;
  /**
   * For a target that is called before the attempt's records are durable: nothing is confirmed until they are. The
   * first confirmation is requested as soon as they are, while the target is still connecting.
   */
  readonly begun?: Promise<void> | undefined;
  /** The confirmation from the attempt's start: its row became `sending` while the lock was renewed. */
  readonly confirmed?: Confirmation | undefined;
  readonly clock: Clock;
  /** Ms of a monotonic clock; the process's own by default. It may stop while the machine is suspended. */
  readonly monotonic?: (() => number) | undefined;
  /**
   * Renews the run's lock. Resolves to the ms for which it holds, counted from the call, or 0 if it is lost. Absent for
   * runs without a lock.
   */
  readonly confirmLock?: (() => Promise<number>) | undefined;
  /** Rejects while deliveries are stopped, or when that is unknown. Absent: never stopped, as for notices. */
  readonly confirmOpen?: (() => Promise<void>) | undefined;
  /** Ms; for tests. */
  readonly timeoutMs?: number;
}

/** Creates the fence of one attempt. */
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
   * Checks lock and row together. A renewed lock was never lost, so no other process has changed the row in between.
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
    // Awaited before the time is taken, so that a slow record does not use up the confirmation's validity.
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
    // A confirmation that has expired meanwhile is requested again.
    if (first === undefined || !isValid()) await confirmNow();
  };
  // Checked every time, even while a confirmation is valid: nothing may be sent after a stop.
  const whileOpen = async (confirmed: Promise<void>): Promise<void> => {
    const open = input.confirmOpen && confirmWithTimeout(input.confirmOpen(), timeoutMs);
    await Promise.all([confirmed, open]);
  };
  return {
    confirm: () => whileOpen(confirm()),
    confirmIfStale: () => whileOpen(isValid() ? Promise.resolve() : confirm()),
  };
}

/** Limits the wait: while a client waits for Redis, it must not keep a mail server's connection open for long. */
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
