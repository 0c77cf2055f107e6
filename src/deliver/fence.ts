import type { Clock } from '../base/clock.ts';
import { wordsOf } from '../base/error.ts';
import type { Ledger } from './ledger.ts';

/** For how long a confirmation holds, ms, counted from before it was asked for. Shorter than any lock of a run. */
const VALID_MS = 10_000;

/** A delivery must not leave: somebody else has its row or its run by now, or nobody could tell in time. */
export class NotConfirmed extends Error {
  override readonly name = 'NotConfirmed';
}

/**
 * What a process that may have been frozen asks right before each write that makes a delivery happen. Another worker may
 * have declared it `unknown` meanwhile, and a person may have had it sent again. Both reject with `NotConfirmed`.
 */
export interface Fence {
  /** Asks whether the run's lock and the ledger's row are still this attempt's. */
  confirm(): Promise<void>;
  /** Asks only where the last confirmation has run out, by the monotonic clock or the wall clock. */
  pass(): Promise<void>;
}

/** For what nobody else can decide about. */
export const noFence: Fence = { confirm: async () => {}, pass: async () => {} };

export interface FenceInput {
  readonly ledger: Pick<Ledger, 'find'>;
  readonly delivery: string;
  readonly epoch: number;
  readonly clock: Clock;
  /** Ms of a clock that nobody sets; the process' own by default. It may stand still while a machine is suspended. */
  readonly monotonic?: (() => number) | undefined;
  /** Renews the run's lock; ms for which it is held from the call on, 0 when it is lost. Absent where a run has none. */
  readonly confirmLock?: (() => Promise<number>) | undefined;
  /** Ms for an answer; for tests. */
  readonly timeoutMs?: number;
}

/** The fence of one attempt. */
export function attemptFence(input: FenceInput): Fence {
  const { ledger, delivery, epoch, clock, monotonic = () => performance.now(), confirmLock } = input;
  const { timeoutMs = VALID_MS } = input;
  let confirmed: { readonly now: number; readonly elapsed: number; readonly validMs: number } | undefined;

  const isValid = (): boolean => {
    if (confirmed === undefined) return false;
    const { now, elapsed, validMs } = confirmed;
    const passed = [clock.now() - now, monotonic() - elapsed];
    return passed.every((ms) => ms >= 0 && ms < validMs);
  };

  /** The lock first: while it is held, nobody else changes a row that is found to be ours after it. */
  const ask = async (): Promise<number> => {
    const lockMs = (await confirmLock?.()) ?? VALID_MS;
    if (lockMs <= 0) throw new NotConfirmed('Not sent: another worker has taken the run over.');
    const row = await ledger.find(delivery);
    if (row?.state !== 'sending' || row.epoch !== epoch)
      throw new NotConfirmed('Not sent: the delivery was decided meanwhile.');
    return Math.min(VALID_MS, lockMs);
  };

  const confirm = async (): Promise<void> => {
    const asked = { now: clock.now(), elapsed: monotonic() };
    confirmed = { ...asked, validMs: await within(ask(), timeoutMs) };
    if (!isValid()) throw new NotConfirmed('Not sent: it took too long to confirm that it is still to be sent.');
  };
  return { confirm, pass: async () => (isValid() ? undefined : confirm()) };
}

/** A client that waits for a Redis that restarts must not hold up a connection to a mail server for as long. */
async function within<T>(answer: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new NotConfirmed(`Not sent: no confirmation within ${ms} ms.`)), ms);
  });
  try {
    return await Promise.race([answer, late]);
  } catch (error) {
    if (error instanceof NotConfirmed) throw error;
    throw new NotConfirmed(`Not sent: it could not be confirmed that it is still to be sent: ${wordsOf(error)}`, {
      cause: error,
    });
  } finally {
    clearTimeout(timer);
  }
}
