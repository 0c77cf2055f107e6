import type { Clock } from '../base/clock.ts';
import { DocketError } from '../base/error.ts';
import { noTrace, type Trace } from '../base/trace.ts';
import type { Archive, PublishedRun } from './archive/archive.ts';
import { type AttemptPorts, beginAndSend, type EndedAttempt, type SendFn } from './attempt.ts';
import type { OutageTracker } from './circuit/outage-tracker.ts';
import { denialText } from './denials/deny-list.ts';
import type { Denials } from './denials/shared-denials.ts';
import { type FenceInput, NotConfirmedError } from './internal/fence.ts';
import type { ArchivedState, DeliveryRow, DeliveryState, Ledger } from './ledger/ledger.ts';
import type { Delivery } from './targets/target.ts';

/** Emitted for each delivery that this call attempts, skips or finds to be down. */
export interface DeliveredEvent {
  readonly type: 'delivered';
  readonly target: string;
  readonly recipient: string;
  readonly state: DeliveryState;
  readonly detail: string | null;
  /** Duration of the attempt; absent without one. */
  readonly ms?: number;
}

/** What sending needs of a run and its stores. */
export interface SendPorts extends Pick<FenceInput, 'monotonic' | 'confirmLock' | 'confirmOpen'> {
  readonly published: PublishedRun;
  /** Who gets nothing, whatever led here. Absent: nobody is denied. */
  readonly denials?: Pick<Denials, 'list'> | undefined;
  readonly ledger: Ledger;
  readonly archive: Archive;
  readonly clock: Clock;
  /** Each attempt is a span; absent: no spans. */
  readonly trace?: Trace | undefined;
  /** Aborted when the run is cancelled or has lost its lock: no further delivery is begun. */
  readonly signal: AbortSignal;
  readonly observe: (event: DeliveredEvent) => void;
}

/** The deliveries of a run, in the order of its definition, and what is known of them. */
export interface PendingDeliveries {
  readonly deliveries: readonly Delivery[];
  /** Rows by id, as they were before the first attempt; without those that were interrupted. */
  readonly opened: ReadonlyMap<string, DeliveryRow>;
  readonly archivedStates: ReadonlyMap<string, ArchivedState>;
  readonly outages: OutageTracker;
  /** Receives the details of deliveries skipped for an outage. */
  readonly notTried: Map<string, string>;
  /** Called while the result of the last delivery is being recorded: in one round trip with it. */
  readonly onLastEnded?: () => void;
}

const MOST_MESSAGES_AHEAD = 4;
const BYTES_AHEAD = 8 * 1024 * 1024;

/** How many messages of a run are made while another is sent: the disk syncs several at once. Large ones take memory. */
const messagesAhead = ({ artifacts }: PublishedRun): number => {
  const size = artifacts.reduce((sum, { bytes }) => sum + bytes, 0);
  return Math.max(1, Math.min(MOST_MESSAGES_AHEAD, Math.floor(BYTES_AHEAD / Math.max(size, 1))));
};

/** The messages of a run that are made while another is sent, by row id. */
function messagesInHand(published: PublishedRun, opened: ReadonlyMap<string, DeliveryRow>) {
  const inHand = new Map<string, Promise<SendFn>>();
  const most = messagesAhead(published);
  return {
    /**
     * Called once the archive knows of an attempt: from then on a message without one has certainly not begun to leave.
     * @param following the deliveries after the one that is being sent
     */
    prepareNext: (following: readonly Delivery[], service: string): void => {
      for (const delivery of following.slice(0, most)) {
        const row = opened.get(delivery.row.id);
        if (delivery.service !== service || row?.state !== 'pending' || inHand.has(row.id)) continue;
        const send = delivery.prepare(row.epoch);
        // Thrown by its attempt, if it comes to that.
        send.catch(() => {});
        inHand.set(row.id, send);
      }
    },
    /** Undefined where the message was not made ahead. */
    take: (id: string): Promise<SendFn> | undefined => {
      const send = inHand.get(id);
      inHand.delete(id);
      return send;
    },
    /** Resolves when none is being made. */
    settled: () => Promise.allSettled(inHand.values()),
  };
}

/**
 * Attempts every pending delivery, phase by phase and one after the other. While one is being sent, the messages of the next
 * are made and archived, and the result of the one before is recorded.
 */
export async function sendPending(
  { deliveries, opened, archivedStates, outages, notTried, onLastEnded }: PendingDeliveries,
  ports: SendPorts,
): Promise<void> {
  const { ledger, clock, confirmLock, published } = ports;
  let isLockLost = false;
  const lock = confirmLock && {
    confirmLock: async () => {
      const ms = await confirmLock();
      if (ms <= 0) isLockLost = true;
      return ms;
    },
  };
  const last = deliveries.toSorted((one, other) => (one.phase ?? 0) - (other.phase ?? 0)).at(-1);
  let anyAttempted = false;
  let recorded: Promise<void> = Promise.resolve();
  const messages = messagesInHand(published, opened);
  try {
    for (const phase of [0, 1, 2]) {
      const inPhase = deliveries.filter((delivery) => (delivery.phase ?? 0) === phase);
      for (const [index, delivery] of inPhase.entries()) {
        const { id, target, recipient } = delivery.row;
        // An attempt takes time, in which another process may change the other rows. Where one was `pending`, `begin` and
        // the epoch tell.
        const found = opened.get(id);
        const isCurrent = found !== undefined && (!anyAttempted || found.state === 'pending');
        const row = isCurrent ? found : await ledger.open(delivery.row, clock.now(), archivedStates.get(id));
        if (row.state !== 'pending') continue;
        const observe = (result: { state: DeliveryState; detail: string; ms?: number }): void =>
          ports.observe({ type: 'delivered', target, recipient, ...result });
        // Skipped: otherwise each further recipient would wait for the timeout of a server that is down.
        const outage = await outages.check(delivery.service);
        if (outage !== undefined) {
          notTried.set(id, outage.why);
          observe({ state: 'pending', detail: outage.why });
          continue;
        }
        // Before the row is begun: a stop is to leave no attempts behind.
        await ports.confirmOpen?.();
        // The caller closes the row.
        if ((await ports.denials?.list())?.find(recipient) !== undefined) continue;
        anyAttempted = true;
        const startedAt = clock.now();
        const ended = await attemptInSpan(delivery, messages.take(id), row, ports, {
          ...lock,
          previous: recorded,
          onBegun: () => messages.prepareNext(inPhase.slice(index + 1), delivery.service),
        });
        if (ended !== undefined) recorded = ended.recorded;
        if (ended !== undefined && delivery === last) onLastEnded?.();
        // Another worker delivers the remaining rows.
        if (isLockLost) throw new DocketError('run.cancelled', 'Another worker has taken over the run.');
        if (ended === undefined) continue;
        await outages.record(delivery.service, ended.result, row.epoch);
        const { state, detail } = ended.result;
        observe({ state, detail, ms: Math.max(0, clock.now() - startedAt) });
      }
      // Later phases read the ledger.
      await recorded;
    }
  } finally {
    // Nothing is written once this call has ended.
    await Promise.allSettled([recorded, messages.settled()]);
  }
}

function attemptInSpan(
  { row: { target, recipient }, prepare }: Delivery,
  prepared: Promise<SendFn> | undefined,
  row: DeliveryRow,
  { ledger, archive, clock, signal, published, monotonic, confirmOpen, denials, trace = noTrace }: SendPorts,
  ports: Pick<AttemptPorts, 'confirmLock' | 'previous' | 'onBegun'>,
): Promise<EndedAttempt | undefined> {
  return trace.span({ name: 'delivery', kind: 'client', target, delivery: row.id }, async (setAttributes) => {
    const ended = await beginAndSend(row, () => prepared ?? prepare(row.epoch), {
      ledger,
      clock,
      signal,
      recordAttempt: (record) => archive.putAttempt(published, record),
      monotonic,
      confirmOpen: async () => {
        const [list] = await Promise.all([denials?.list(), confirmOpen?.()]);
        const denial = list?.find(recipient);
        if (denial !== undefined) throw new NotConfirmedError(`${denialText(denial)}.`);
      },
      ...ports,
    });
    if (ended !== undefined) setAttributes({ state: ended.result.state });
    return ended;
  });
}
