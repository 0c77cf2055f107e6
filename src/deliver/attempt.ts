import type { Clock } from '../base/clock.ts';
import { DocketError, wordsOf } from '../base/error.ts';
import type { AttemptRecord } from './archive.ts';
import { attemptFence, type Fence, type FenceInput } from './fence.ts';
import {
  type DeliveryRow,
  type DeliveryState,
  type Evidence,
  INTERRUPTED,
  type Ledger,
  NOTICE_TARGET,
} from './ledger.ts';

/** How an attempt ended. `pending`: certainly not delivered, may be tried again. */
export interface Ending {
  readonly state: Exclude<DeliveryState, 'sending'>;
  readonly detail: string;
  /** The target itself cannot be used now: deliveries that need it need not be tried. */
  readonly targetDown?: boolean;
  /** Epoch ms before which the target asked not to be tried again. */
  readonly notBefore?: number;
  /** A disk of this machine cannot be used just now: worth another call, which is no attempt of the run. */
  readonly diskFault?: boolean;
}

/** A delivery whose every precondition is durable: what is left is to let it leave. Never throws for what a target does. */
export interface Leave {
  /** @param fence passed right before each write that makes the delivery happen */
  (signal: AbortSignal, fence?: Fence): Promise<Ending>;
  /** SHA-256 (hex) of the exact message that leaves, as the archive keeps it; absent where there is none. */
  readonly message?: string;
}

/** What a target shows of an attempt that ended without a word. `unsent`: to do it again is to do it once. */
export type Proof = 'sent' | 'unsent' | 'unknown';

/** Pauses, in ms, between tries to write what became of a message. */
const SETTLE_PAUSES = [250, 1_000, 4_000, 10_000] as const;

/** A row that was found `sending` belongs to an attempt that ended without a word: nobody knows, and the row says so. */
export async function reconcile(ledger: Ledger, row: DeliveryRow, clock: Clock): Promise<void> {
  if (row.state === 'sending') await ledger.settle(row.id, row.epoch, 'unknown', INTERRUPTED, clock.now());
}

/**
 * The rows of a run that is over. One that is still `sending` was left by an attempt that died, or is what a ledger
 * remembers that was rolled back, and no further try will look at it: it takes over what the archive knows, or else
 * becomes `unknown`, so that somebody can decide. One that is `pending` takes over what the archive knows. Not the notice
 * of that end, which may be leaving just now.
 */
export async function rowsAtEnd(
  run: string,
  evidence: ReadonlyMap<string, Evidence>,
  ledger: Ledger,
  clock: Clock,
): Promise<DeliveryRow[]> {
  const left = (await ledger.list(run)).filter(
    ({ state, target }) => (state === 'sending' || state === 'pending') && target !== NOTICE_TARGET,
  );
  for (const row of left) await reconcile(ledger, await ledger.open(row, clock.now(), evidence.get(row.id)), clock);
  return ledger.list(run);
}

/** What an attempt needs besides. */
export interface AttemptPorts extends Pick<FenceInput, 'monotonic' | 'confirmLock'> {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Keeps the attempt in the archive; absent where there is no folder for it. */
  readonly keep?: (attempt: AttemptRecord) => Promise<void>;
}

/**
 * One attempt in the one order that is safe: `prepare` (the message is archived) → `begin` (the ledger says `sending`,
 * durably) → the archive says so too → it leaves → the archive knows its end → `settle`. A process that dies between any
 * two of them loses nothing and sends nothing twice, and neither does a ledger that forgets what it said last.
 *
 * A refusal that `prepare` throws (`deliver.*`, `template.invalid`) is the delivery's end; other errors pass, and leave
 * the row `pending`. Undefined when somebody else has the row.
 */
export async function attempt(
  row: Pick<DeliveryRow, 'id' | 'target'>,
  prepare: () => Promise<Leave>,
  { ledger, clock, signal, keep = async () => {}, ...lock }: AttemptPorts,
): Promise<Ending | undefined> {
  const leave = await prepare().catch(refusal);
  signal.throwIfAborted();
  const epoch = await ledger.begin(row.id, clock.now());
  if (epoch === undefined) return undefined;
  const message = leave.message === undefined ? {} : { message: leave.message };
  const record = { delivery: row.id, target: row.target, epoch, detail: null, at: clock.now(), ...message };
  try {
    await keep({ ...record, state: 'sending' });
  } catch (error) {
    // An archive that cannot be written stops the run; the row must not be taken for a message that may have left.
    await settleSurely(() => ledger.settle(row.id, epoch, 'pending', null, clock.now()), clock);
    throw error;
  }
  const fence = attemptFence({ ...lock, ledger, clock, delivery: row.id, epoch });
  const ending = await leave(signal, fence).catch(
    (error: unknown): Ending => ({
      state: 'unknown',
      detail: `Failed unexpectedly while it was being sent: ${wordsOf(error)}`,
    }),
  );
  // The ledger is the record; an archive that cannot be written just now must not keep the truth from it.
  const { state, detail } = ending;
  await keep({ ...record, state, detail, at: clock.now() }).catch(() => {});
  await settleSurely(() => ledger.settle(row.id, epoch, state, detail, clock.now()), clock);
  return ending;
}

function refusal(error: unknown): Leave {
  const terminal =
    error instanceof DocketError && (error.code.startsWith('deliver.') || error.code === 'template.invalid');
  if (!terminal || error.retryable) throw error;
  const { message, expected, got, next } = error;
  const detail = [message, expected && `Expected ${expected}.`, got && `Got ${got}.`, next].filter(Boolean).join(' ');
  return async () => ({ state: 'refused', detail });
}

/** Once the message may have left, losing what became of it costs somebody a decision: worth a few seconds of trying. */
async function settleSurely(settle: () => Promise<boolean>, clock: Clock): Promise<boolean> {
  for (const pause of SETTLE_PAUSES) {
    try {
      return await settle();
    } catch (error) {
      if (!(error instanceof DocketError && error.retryable)) throw error;
      await clock.sleep(pause);
    }
  }
  return settle();
}
