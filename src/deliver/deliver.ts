import type { Clock } from '../base/clock.ts';
import { DocketError } from '../base/error.ts';
import type { SecretSource } from '../base/secret.ts';
import { noTrace, type Trace } from '../base/trace.ts';
import type { Definition } from '../define/definition.ts';
import type { OrgSettings } from '../define/org.ts';
import { type Archive, decidedAttempt, type Manifest, type Sealed } from './archive.ts';
import { attempt, type Proof, reconcile } from './attempt.ts';
import type { Circuit, Outage } from './circuit.ts';
import { decisionOn } from './decision.ts';
import type { Delivery } from './delivery.ts';
import type { DestinationPolicy } from './destination-guard.ts';
import type { FenceInput } from './fence.ts';
import type { DeliveryRow, DeliveryState, Evidence, Ledger } from './ledger.ts';
import type { Receipt } from './receipt.ts';
import { listDeliveries, type MailRoute } from './targets.ts';

/** Said once for each delivery that was settled in this try. */
export interface DeliveredEvent {
  readonly type: 'delivered';
  readonly target: string;
  readonly recipient: string;
  readonly state: DeliveryState | 'skipped';
  readonly detail: string | null;
  /** How long the attempt took; absent where none was made. */
  readonly ms?: number;
}

export interface DeliverInput extends Pick<FenceInput, 'monotonic' | 'confirmLock'> {
  readonly order: { readonly id: string; readonly org: string; readonly report: string };
  readonly definition: Definition;
  readonly settings: OrgSettings;
  readonly sealed: Sealed;
  /** Undefined: no mail server is configured; e-mail then stays `pending` and says so. */
  readonly mail: MailRoute | undefined;
  readonly ledger: Ledger;
  readonly archive: Archive;
  /** What is known of the targets' servers; absent where nobody shares it. */
  readonly circuit?: Circuit | undefined;
  readonly clock: Clock;
  /** Where each attempt is a span; none is made when absent. */
  readonly trace?: Trace | undefined;
  /** No try will follow: nothing is put back for one. */
  readonly lastAttempt?: boolean;
  /** Aborted when the run is to stop or has lost its lock: nothing further is begun. */
  readonly signal: AbortSignal;
  readonly observe: (event: DeliveredEvent) => void;
  /** Of what the targets refer to: keys, passwords. */
  readonly secrets: SecretSource;
  /** What relative directory targets are resolved against; the process' working directory by default. */
  readonly workingDirectory?: string;
  /** What the deployment says of destinations. */
  readonly destinations?: DestinationPolicy | undefined;
}

export interface Delivered {
  /** One for each target and recipient of the definition, in its order, as the ledger has them now. */
  readonly receipts: readonly Receipt[];
  /** Something is still `pending`: calling again later may deliver it, and touches nothing else. */
  readonly retryable: boolean;
  /** What is still `pending` waits for a server that is known to be down, or for a disk: worth another call from then on. */
  readonly outage: Outage | undefined;
}

/** What one call has found out, by service: why it is not tried any more, and until when where all workers know. */
type Outages = Map<string, Partial<Outage> & Pick<Outage, 'why'>>;

/**
 * Delivers a sealed run to every target and recipient of its definition that the ledger has not settled.
 *
 * May be called as often as one likes, by whomever: `sent`, `refused` and `unknown` are never touched; `sending` was
 * left by an attempt that died and becomes `unknown`, unless the target itself proves the delivery. A ledger that was
 * lost or rolled back learns first what the archive knows. A target that fails does not stop the others. What the
 * manifest says is not to be sent (`send_if`) is `skipped`. Where the organization asks for it (`on_unknown: resend`),
 * what ends as `unknown` is put back once, to be sent again.
 *
 * Throws the signal's reason when stopped, `redis.unreachable` when the ledger cannot be asked, `archive.*` when the
 * files cannot be trusted or kept: what was settled before stays settled.
 */
export async function deliver(input: DeliverInput): Promise<Delivered> {
  refuseStrangers(input);
  const { sealed, ledger, archive } = input;
  const all = listDeliveries({ workingDirectory: process.cwd(), ...input });
  const unmet = ({ row }: Delivery) => decisionOn(sealed.manifest, row)?.send === false;
  const deliveries = all.filter((delivery) => !unmet(delivery));
  const evidence = await archive.evidence(sealed);
  const outages: Outages = new Map();
  const skipped = new Map<string, string>();
  const receipts = async (): Promise<Receipt[]> =>
    receiptsOf(all, sealed.manifest, await ledger.list(input.order.id), skipped);
  try {
    // All rows first: from here on, whatever happens, the ledger knows everything that was meant to be sent.
    const opened = await openRows(deliveries, evidence, input);
    for (const { row } of all.filter(unmet)) {
      const { target, recipient } = row;
      const detail = decisionOn(sealed.manifest, row)?.reason ?? null;
      input.observe({ type: 'delivered', target, recipient, state: 'skipped', detail });
    }
    await sendPending(deliveries, opened, evidence, input, outages, skipped);
    if (input.settings.on_unknown === 'resend' && !input.lastAttempt) await putBack(deliveries, input);
  } catch (error) {
    // What was sent before the failure shall be in the archive too; that failure, not this one, is the news.
    await receipts()
      .then((known) => archive.keepReceipts(sealed, known))
      .catch(() => {});
    throw error;
  }
  const known = await receipts();
  await archive.keepReceipts(sealed, known);
  const open = known.filter(({ state }) => state === 'pending' || state === 'sending');
  return { receipts: known, retryable: open.length > 0, outage: outageOf(open, deliveries, outages) };
}

/** When to come back for what is open, if all of it waits for servers that all workers know to be down. */
function outageOf(open: readonly Receipt[], deliveries: readonly Delivery[], outages: Outages): Outage | undefined {
  const serviceOf = new Map(deliveries.map(({ row, service }) => [row.id, service]));
  const each = open.map(({ delivery }) => outages.get(serviceOf.get(delivery) ?? ''));
  const first = each
    .flatMap((outage) => (outage?.until === undefined ? [] : [{ until: outage.until, why: outage.why }]))
    .sort((one, other) => one.until - other.until);
  return first.length === each.length ? first[0] : undefined;
}

/** A server that takes message after message and never says so would leave a decision for each recipient to somebody. */
const MOST_DOUBTS = 2;

const LOST = 'The ledger has lost this delivery.';

/** A run, its files, its definition and its organization must be of one organization at every step. */
function refuseStrangers({ order, definition, settings, sealed }: DeliverInput): void {
  const { manifest } = sealed;
  const orgs = new Set([order.org, definition.org, settings.id, manifest.org]);
  const reports = new Set([order.report, definition.report, manifest.report]);
  if (orgs.size === 1 && reports.size === 1 && order.id === manifest.run) return;
  throw new DocketError('internal.defect', 'A run was about to be delivered with the parts of another one.', {
    expected: `everything of ${order.org}/${order.report}, run ${order.id}`,
    got: `organizations ${[...orgs].join(', ')}; reports ${[...reports].join(', ')}; run ${manifest.run}`,
    next: 'Nothing was sent. This is a defect of Docket: please report it.',
    retryable: false,
  });
}

/**
 * Opens all rows, in one round trip, and settles what attempts left that ended without a word. Returns the other rows, by
 * id: they are as they were found until something is tried.
 */
async function openRows(
  deliveries: readonly Delivery[],
  evidence: ReadonlyMap<string, Evidence>,
  input: DeliverInput,
): Promise<ReadonlyMap<string, DeliveryRow>> {
  const { ledger, clock } = input;
  const rows = await Promise.all(
    deliveries.map(async (delivery) => {
      const row = await ledger.open(delivery.row, clock.now(), evidence.get(delivery.row.id));
      return { delivery, row };
    }),
  );
  const found = new Map<string, DeliveryRow>();
  for (const { delivery, row } of rows) {
    if (row.state === 'sending' || row.state === 'unknown') await settleLeft(delivery, row, input);
    else found.set(row.id, row);
  }
  return found;
}

/** What an attempt left that ended without a word takes over what its target shows, or becomes `unknown`. */
async function settleLeft(delivery: Delivery, row: DeliveryRow, { ledger, clock }: DeliverInput): Promise<void> {
  const proof = await proofOf(delivery);
  if (proof === 'sent') {
    await ledger.settle(row.id, row.epoch, 'sent', 'Interrupted, but the target has every file.', clock.now());
  } else if (proof === 'unsent' && row.state === 'sending') {
    await ledger.settle(row.id, row.epoch, 'pending', 'Interrupted before the target had it.', clock.now());
  } else {
    await reconcile(ledger, row, clock);
  }
}

/** A target that cannot be asked proves nothing. */
async function proofOf({ proof }: Delivery): Promise<Proof> {
  try {
    return (await proof?.()) ?? 'unknown';
  } catch {
    return 'unknown';
  }
}

async function sendPending(
  deliveries: readonly Delivery[],
  opened: ReadonlyMap<string, DeliveryRow>,
  evidence: ReadonlyMap<string, Evidence>,
  input: DeliverInput,
  outages: Outages,
  skipped: Map<string, string>,
): Promise<void> {
  const { ledger, archive, circuit, clock, signal, sealed, monotonic, confirmLock, trace = noTrace } = input;
  const keep: Parameters<typeof attempt>[2]['keep'] = (record) => archive.keepAttempt(sealed, record);
  const asked = new Set<string>();
  const well = new Set<string>();
  const doubts = new Map<string, number>();
  let tried = false;
  let lost = false;
  const lock = confirmLock && {
    confirmLock: async () => {
      const ms = await confirmLock();
      if (ms <= 0) lost = true;
      return ms;
    },
  };
  const order = [0, 1, 2].flatMap((turn) => deliveries.filter((delivery) => (delivery.turn ?? 0) === turn));
  for (const { row: own, service, prepare } of order) {
    const row = (tried ? undefined : opened.get(own.id)) ?? (await ledger.open(own, clock.now(), evidence.get(own.id)));
    if (row.state !== 'pending') continue;
    const observe = (ending: { state: DeliveryState; detail: string; ms?: number }): void =>
      input.observe({ type: 'delivered', target: own.target, recipient: own.recipient, ...ending });
    if (!asked.has(service)) {
      asked.add(service);
      const known = await circuit?.ask(service);
      if (known !== undefined) outages.set(service, { ...known, why: notTried(service, known) });
    }
    // A server that is down would make every further recipient wait for its timeout.
    const outage = outages.get(service);
    if (outage !== undefined) {
      skipped.set(own.id, outage.why);
      observe({ state: 'pending', detail: outage.why });
      continue;
    }
    tried = true;
    const begun = clock.now();
    const span = { name: 'delivery', kind: 'client', target: own.target, delivery: own.id } as const;
    const ending = await trace.span(span, async (tell) => {
      const ended = await attempt(row, () => prepare(row.epoch), { ledger, clock, signal, keep, monotonic, ...lock });
      if (ended !== undefined) tell({ state: ended.state });
      return ended;
    });
    // The rows that are left are another worker's now.
    if (lost) throw new DocketError('run.cancelled', 'Another worker has taken the run over.');
    if (ending === undefined) continue;
    const doubt = ending.state === 'unknown' ? (doubts.get(service) ?? 0) + 1 : 0;
    doubts.set(service, doubt);
    if (ending.diskFault) outages.set(service, { why: ending.detail, until: clock.now() + diskWaitMs(row.epoch) });
    else if (ending.targetDown || ending.notBefore !== undefined || doubt === MOST_DOUBTS) {
      outages.set(service, { why: ending.detail });
      well.delete(service);
      await circuit?.failed(service, ending.detail, ending.notBefore);
    } else if (ending.state === 'sent' && !well.has(service)) {
      well.add(service);
      // Nobody waits for it: what is not heard costs other runs a wait, never a message.
      circuit?.answered(service).catch(() => {});
    }
    const { state, detail } = ending;
    observe({ state, detail, ms: Math.max(0, clock.now() - begun) });
  }
}

/** Ms until a disk is tried again: each try leaves its record in the archive. @param tries that were made before */
const diskWaitMs = (tries: number): number => Math.min(15_000 * 2 ** Math.min(tries, 10), 15 * 60_000);

const notTried = (service: string, { until, why }: Outage): string =>
  `Not tried before ${new Date(until).toISOString()}: ${service} has been failing (${why}).`;

/** Once for each delivery: a server that never answers after the message must not send it a dozen times. */
async function putBack(deliveries: readonly Delivery[], input: DeliverInput): Promise<void> {
  const { ledger, archive, clock, sealed, order } = input;
  const own = new Set(deliveries.map(({ row }) => row.id));
  for (const { id, state, epoch, decisions } of await ledger.list(order.id)) {
    if (state !== 'unknown' || !own.has(id) || decisions.some(({ by }) => by === 'docket')) continue;
    const decision = { to: 'pending', by: 'docket', reason: 'on_unknown: resend', at: clock.now() } as const;
    const row = await ledger.resolve(id, epoch, decision);
    if (row !== undefined) await archive.keepAttempt(sealed, decidedAttempt(row, decision));
  }
}

function receiptsOf(
  deliveries: readonly Delivery[],
  manifest: Manifest,
  rows: readonly DeliveryRow[],
  skipped: ReadonlyMap<string, string>,
): Receipt[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  return deliveries.map(({ row: own, messageId }): Receipt => {
    const { id: delivery, target, recipient } = own;
    const decision = decisionOn(manifest, own);
    if (decision?.send === false) {
      return { delivery, target, recipient, state: 'skipped', detail: decision.reason, messageId: null };
    }
    // A row that was opened above and is gone: the ledger was lost amid the run, and the next call asks the archive.
    const { state, detail } = byId.get(delivery) ?? { state: 'pending' as const, detail: LOST };
    return {
      delivery,
      target,
      recipient,
      state,
      detail: detail ?? skipped.get(delivery) ?? null,
      messageId: state === 'pending' ? null : messageId,
    };
  });
}
