import type { Clock } from '../base/clock.ts';
import { DocketError, errorMessage, errorSentence } from '../base/error.ts';
import type { AttemptRecord } from './archive/attempt-log.ts';
import { attemptFence, buildConfirmation, type Fence, type FenceInput } from './internal/fence.ts';
import {
  type ArchivedState,
  type AttemptState,
  type DeliveryRow,
  INTERRUPTED,
  type Ledger,
  NOTICE_TARGET,
} from './ledger/ledger.ts';

/** The result of an attempt. `pending`: certainly not delivered, and may be tried again. */
export interface AttemptResult {
  readonly state: AttemptState;
  readonly detail: string;
  /** The target itself is down: skip its other deliveries. */
  readonly targetDown?: boolean;
  /** Epoch ms at which the target's `Retry-After` ends. */
  readonly notBefore?: number;
  /** A local disk failed. Calling again may help, and does not count as an attempt of the run. */
  readonly diskFault?: boolean;
}

/** Sends a prepared delivery. A failure of the target is a result, not an exception. */
export interface SendFn {
  /**
   * @param fence confirmed right before each write that makes the delivery happen
   * @param recordMessage records in the archive that this attempt sends the message with this SHA-256 (hex). For
   * messages known only after requests that nobody sees, such as uploads
   */
  (signal: AbortSignal, fence?: Fence, recordMessage?: (message: string) => Promise<void>): Promise<AttemptResult>;
  /** SHA-256 (hex) of the exact message in the archive; absent without one. */
  readonly message?: string;
  /** It sends nothing before the fence has confirmed, so it may be called before the attempt is recorded. */
  readonly confirmsFirst?: true;
}

/** What the target shows about an attempt without a recorded result. `unsent`: sending again delivers exactly once. */
export type VerificationResult = 'sent' | 'unsent' | 'unknown';

/** Delays between attempts to record a result. */
const SETTLE_RETRY_DELAYS_MS = [250, 1_000, 4_000, 10_000] as const;

/** Sets a row that a dead process left `sending` to `unknown`. */
export async function reconcileRow(ledger: Ledger, row: DeliveryRow, clock: Clock): Promise<void> {
  if (row.state === 'sending') await ledger.settle(row.id, row.epoch, 'unknown', INTERRUPTED, clock.now());
}

/**
 * Settles the rows of a run that has ended. A row in `sending` belongs to a dead process, or to a ledger that was
 * rolled back: it takes over the archived state, or becomes `unknown` if there is none. A row in `pending` takes over
 * the archived state. Skips the notice to the owner, which may be on its way. Returns all rows of the run.
 */
export async function reconcileRun(
  run: string,
  archivedStates: ReadonlyMap<string, ArchivedState>,
  ledger: Ledger,
  clock: Clock,
): Promise<DeliveryRow[]> {
  const open = (await ledger.list(run)).filter(
    ({ state, target }) => (state === 'sending' || state === 'pending') && target !== NOTICE_TARGET,
  );
  for (const row of open) {
    await reconcileRow(ledger, await ledger.open(row, clock.now(), archivedStates.get(row.id)), clock);
  }
  return ledger.list(run);
}

export interface AttemptPorts extends Pick<FenceInput, 'monotonic' | 'confirmLock' | 'confirmOpen'> {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Records the attempt in the archive; absent if the run is not archived. */
  readonly recordAttempt?: (attempt: AttemptRecord) => Promise<void>;
  /** `recorded` of the previous attempt: it must be durable before this attempt sends content. */
  readonly previous?: Promise<void>;
  /** Called once the previous result and this attempt's record are durable. */
  readonly onBegun?: () => void;
}

/** An attempt that has ended, while its result is being recorded. */
export interface EndedAttempt {
  readonly result: AttemptResult;
  /** Resolves once the ledger has the result, and the archive too if it is writable. */
  readonly recorded: Promise<void>;
}

/**
 * Makes one attempt, in the only safe order: `prepare` (archives the message) → `begin` (ledger: `sending`, durable) →
 * record in the archive → send → record the result, in the ledger and the archive. A process that dies between two
 * steps loses nothing and sends nothing twice; the same holds for a ledger that loses its last writes.
 *
 * A refusal thrown by `prepare` (`deliver.*`, `template.invalid`) is the result; other errors are thrown and leave the
 * row `pending`. Returns undefined when another process holds the row.
 * @param row with an epoch, the result is also undefined if the row no longer has that epoch, because the ledger was
 * rolled back
 */
export async function attempt(
  row: AttemptedRow,
  prepare: () => Promise<SendFn>,
  ports: AttemptPorts,
): Promise<AttemptResult | undefined> {
  const ended = await beginAndSend(row, prepare, ports);
  await ended?.recorded;
  return ended?.result;
}

type AttemptedRow = Pick<DeliveryRow, 'id' | 'target'> & Partial<Pick<DeliveryRow, 'epoch'>>;

/**
 * Makes one attempt like `attempt`, but resolves while the result is still being recorded. The caller passes `recorded`
 * to the next attempt as `previous`, so that recording and sending overlap.
 */
export async function beginAndSend(
  row: AttemptedRow,
  prepare: () => Promise<SendFn>,
  { ledger, clock, signal, recordAttempt = async () => {}, previous, onBegun, ...lock }: AttemptPorts,
): Promise<EndedAttempt | undefined> {
  const send = await prepare().catch(refuseOrThrow);
  signal.throwIfAborted();
  const { confirmLock, monotonic = () => performance.now() } = lock;
  const start = { now: clock.now(), elapsed: monotonic() };
  // One round trip for both. If the lock is not confirmed here, the fence checks it again and reports why.
  const [epoch, lockMs] = await Promise.all([
    ledger.begin(row.id, start.now),
    send.confirmsFirst ? undefined : confirmLock?.().catch(() => 0),
  ]);
  if (epoch === undefined) return undefined;
  const confirmed = lockMs === undefined ? undefined : buildConfirmation(start, lockMs);
  const settle = (state: AttemptResult['state'], detail: string | null): Promise<boolean> =>
    settleWithRetries(() => ledger.settle(row.id, epoch, state, detail, clock.now()), clock);
  if (row.epoch !== undefined && epoch !== row.epoch + 1) {
    // Records of this epoch may exist already. The next call takes over the archived state.
    await settle('pending', null);
    return undefined;
  }
  const message = send.message === undefined ? {} : { message: send.message };
  let record: Omit<AttemptRecord, 'state'> = {
    ...{ delivery: row.id, target: row.target, epoch, detail: null, at: clock.now() },
    ...message,
  };
  const recordMessage = async (hash: string): Promise<void> => {
    record = { ...record, message: hash };
    await recordAttempt({ ...record, state: 'sending' });
  };
  // Waits for both, even if one fails: no record may be written after this call has ended.
  const written = recordAttempt({ ...record, state: 'sending' });
  const begun = Promise.allSettled([written, previous]).then((both) => {
    for (const each of both) if (each.status === 'rejected') throw each.reason;
    onBegun?.();
  });
  const fenced = { ...lock, ledger, clock, delivery: row.id, epoch, confirmed };
  const sending = send.confirmsFirst
    ? send(signal, attemptFence({ ...fenced, begun }))
    : begun.then(() => send(signal, attemptFence(fenced), recordMessage));
  const [sent, recorded] = await Promise.allSettled([sending, begun]);
  if (recorded.status === 'rejected') {
    // An unwritable archive stops the run. Nothing was sent, so neither the row nor a written record stays `sending`.
    const end = { ...record, state: 'pending', at: clock.now() } as const;
    await Promise.all([settle('pending', null), written.then(() => recordAttempt(end)).catch(() => {})]);
    throw recorded.reason;
  }
  const result: AttemptResult =
    sent.status === 'fulfilled'
      ? sent.value
      : { state: 'unknown', detail: `Failed unexpectedly while it was being sent: ${errorMessage(sent.reason)}` };
  const { state, detail } = result;
  // The ledger is settled before the next attempt begins: if the process dies, at most one row is `sending`. The ledger
  // decides, so a failing archive must not delay it.
  const settled = settle(state, detail);
  const archived = recordAttempt({ ...record, state, detail, at: clock.now() }).catch(() => {});
  // Waits for both, even if the ledger fails: the next call then reads the archive.
  const ended = Promise.allSettled([settled, archived]).then(async () => {
    await settled;
  });
  // Whoever awaits `recorded` gets the error.
  ended.catch(() => {});
  return { result, recorded: ended };
}

function refuseOrThrow(error: unknown): SendFn {
  const isRefusal =
    error instanceof DocketError && (error.code.startsWith('deliver.') || error.code === 'template.invalid');
  if (!isRefusal || error.retryable) throw error;
  return async () => ({ state: 'refused', detail: errorSentence(error) });
}

/** Retries for some seconds: a lost result would leave an `unknown` delivery for a person to decide. */
async function settleWithRetries(settle: () => Promise<boolean>, clock: Clock): Promise<boolean> {
  for (const delayMs of SETTLE_RETRY_DELAYS_MS) {
    try {
      return await settle();
    } catch (error) {
      if (!(error instanceof DocketError && error.retryable)) throw error;
      await clock.sleep(delayMs);
    }
  }
  return settle();
}
