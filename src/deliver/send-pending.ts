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

/** Emitted for each delivery that this call attempts, skips, or leaves because its service is down. */
export interface DeliveredEvent {
  readonly type: 'delivered';
  readonly target: string;
  readonly recipient: string;
  readonly state: DeliveryState;
  readonly detail: string | null;
  /** Duration of the attempt. Absent without an attempt. */
  readonly ms?: number;
}

/** What sending a run's deliveries requires. */
export interface SendPorts extends Pick<FenceInput, 'monotonic' | 'confirmLock' | 'confirmOpen'> {
  readonly published: PublishedRun;
  /** The deny list: who gets nothing, whatever the reason to send. Absent: nobody is denied. */
  readonly denials?: Pick<Denials, 'list'> | undefined;
  readonly ledger: Ledger;
  readonly archive: Archive;
  readonly clock: Clock;
  /** Records each attempt as a span. Absent: no spans. */
  readonly trace?: Trace | undefined;
  /** Aborted when the run is cancelled or loses its lock: no further delivery begins. */
  readonly signal: AbortSignal;
  readonly observe: (event: DeliveredEvent) => void;
}

/** A run's deliveries, in the order of its definition, with their known states. */
export interface PendingDeliveries {
  readonly deliveries: readonly Delivery[];
  /** Rows by id, as they were before the first attempt. Excludes interrupted rows. */
  readonly opened: ReadonlyMap<string, DeliveryRow>;
  readonly archivedStates: ReadonlyMap<string, ArchivedState>;
  readonly outages: OutageTracker;
  /** Receives the details of deliveries skipped because of an outage. */
  readonly notTried: Map<string, string>;
  /** Called while the result of the last delivery is being recorded, so that both share a round trip. */
  readonly onLastEnded?: () => void;
}

const MOST_MESSAGES_AHEAD = 4;
const BYTES_AHEAD = 8 * 1024 * 1024;

/** How many messages to prepare while another is sent. Several share one disk sync, but large ones take memory. */
const messagesAhead = ({ artifacts }: PublishedRun): number => {
  const size = artifacts.reduce((sum, { bytes }) => sum + bytes, 0);
  return Math.max(1, Math.min(MOST_MESSAGES_AHEAD, Math.floor(BYTES_AHEAD / Math.max(size, 1))));
};

/** Prepares messages, by row id, while another message is sent. */
function createMessagePreparer(published: PublishedRun, opened: ReadonlyMap<string, DeliveryRow>) {
  const preparedMessages = new Map<string, Promise<SendFn>>();
  const most = messagesAhead(published);
  return {
    /**
     * Call it only after the archive has recorded an attempt: from then on, a message without an attempt counts as not
     * sent.
     * @param following the deliveries after the current one
     */
    prepareNext: (following: readonly Delivery[], service: string): void => {
      for (const delivery of following.slice(0, most)) {
        const row = opened.get(delivery.row.id);
        if (delivery.service !== service || row?.state !== 'pending' || preparedMessages.has(row.id)) continue;
        const send = delivery.prepare(row.epoch);
        // The delivery's own attempt throws the error, if there is an attempt.
        send.catch(() => {});
        preparedMessages.set(row.id, send);
      }
    },
    /** The prepared message; undefined if it was not prepared. */
    take: (id: string): Promise<SendFn> | undefined => {
      const send = preparedMessages.get(id);
      preparedMessages.delete(id);
      return send;
    },
    /** Resolves once no message is being prepared. */
    settled: () => Promise.allSettled(preparedMessages.values()),
  };
}

/**
 * Attempts every pending delivery one by one, in the order of their phases. While one is being sent, the next messages
 * are prepared and archived, and the previous result is recorded.
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
  const messages = createMessagePreparer(published, opened);
  try {
    for (const phase of [0, 1, 2]) {
      const inPhase = deliveries.filter((delivery) => (delivery.phase ?? 0) === phase);
      for (const [index, delivery] of inPhase.entries()) {
        const { id, target, recipient } = delivery.row;
        // During an attempt, another process may change the other rows. For a row that was `pending`, `begin` and the
        // epoch reveal that.
        const found = opened.get(id);
        const isCurrent = found !== undefined && (!anyAttempted || found.state === 'pending');
        const row = isCurrent ? found : await ledger.open(delivery.row, clock.now(), archivedStates.get(id));
        if (row.state !== 'pending') continue;
        const observe = (result: { state: DeliveryState; detail: string; ms?: number }): void =>
          ports.observe({ type: 'delivered', target, recipient, ...result });
        // Skips the delivery: otherwise every further recipient would wait for the timeout of a server that is down.
        const outage = await outages.check(delivery.service);
        if (outage !== undefined) {
          notTried.set(id, outage.why);
          observe({ state: 'pending', detail: outage.why });
          continue;
        }
        // Checked before the row begins, so that a stop leaves no attempts behind.
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
        // The other worker delivers the remaining rows.
        if (isLockLost) throw new DocketError('run.cancelled', 'Another worker has taken over the run.');
        if (ended === undefined) continue;
        await outages.record(delivery.service, ended.result, row.epoch);
        const { state, detail } = ended.result;
        observe({ state, detail, ms: Math.max(0, clock.now() - startedAt) });
      }
      // Deliveries of later phases read the ledger.
      await recorded;
    }
  } finally {
    // Waits, so that nothing is written after this call has ended.
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
