import type { Clock } from '../base/clock.ts';
import { DocketError } from '../base/error.ts';
import type { SecretSource } from '../base/secret.ts';
import type { Definition } from '../define/definition.ts';
import type { OrgSettings } from '../define/org.ts';
import type { Archive, Manifest, Sealed } from './archive.ts';
import { attempt, type Ending, type Proof, reconcile } from './attempt.ts';
import { decisionOn } from './decision.ts';
import type { Delivery } from './delivery.ts';
import type { DeliveryRow, DeliveryState, Ledger } from './ledger.ts';
import type { Receipt } from './receipt.ts';
import { listDeliveries, type MailRoute } from './targets.ts';

/** Said once for each delivery that was settled in this try. */
export interface DeliveredEvent {
  readonly type: 'delivered';
  readonly target: string;
  readonly recipient: string;
  readonly state: DeliveryState | 'skipped';
  readonly detail: string | null;
}

export interface DeliverInput {
  readonly order: { readonly id: string; readonly org: string; readonly report: string };
  readonly definition: Definition;
  readonly settings: OrgSettings;
  readonly sealed: Sealed;
  /** Undefined: no mail server is configured; e-mail then stays `pending` and says so. */
  readonly mail: MailRoute | undefined;
  readonly ledger: Ledger;
  readonly archive: Archive;
  readonly clock: Clock;
  /** Aborted when the run is to stop or has lost its lock: nothing further is begun. */
  readonly signal: AbortSignal;
  readonly observe: (event: DeliveredEvent) => void;
  /** Of what the targets refer to: keys, passwords. */
  readonly secrets: SecretSource;
  /** What relative directory targets are resolved against; the process' working directory by default. */
  readonly workingDirectory?: string;
}

export interface Delivered {
  /** One for each target and recipient of the definition, in its order, as the ledger has them now. */
  readonly receipts: readonly Receipt[];
  /** Something is still `pending`: calling again later may deliver it, and touches nothing else. */
  readonly retryable: boolean;
}

/**
 * Delivers a sealed run to every target and recipient of its definition that the ledger has not settled.
 *
 * May be called as often as one likes, by whomever: `sent`, `refused` and `unknown` are never touched; `sending` was
 * left by an attempt that died and becomes `unknown`, unless the target itself proves the delivery. A target that
 * fails does not stop the others. What the manifest says is not to be sent (`send_if`) is `skipped`. Throws the signal's reason when stopped, `redis.unreachable` when the ledger cannot
 * be asked, `archive.*` when the files cannot be trusted or kept: what was settled before stays settled.
 */
export async function deliver(input: DeliverInput): Promise<Delivered> {
  refuseStrangers(input);
  const { sealed, ledger, archive, clock } = input;
  const all = listDeliveries({ workingDirectory: process.cwd(), ...input });
  const unmet = ({ row }: Delivery) => decisionOn(sealed.manifest, row)?.send === false;
  const deliveries = all.filter((delivery) => !unmet(delivery));
  const skipped = new Map<string, string>();
  const receipts = async (): Promise<Receipt[]> =>
    receiptsOf(all, sealed.manifest, await ledger.list(input.order.id), skipped);
  try {
    // All rows first: from here on, whatever happens, the ledger knows everything that was meant to be sent.
    for (const delivery of deliveries) await openRow(delivery, ledger, clock);
    for (const { row } of all.filter(unmet)) {
      const { target, recipient } = row;
      const detail = decisionOn(sealed.manifest, row)?.reason ?? null;
      input.observe({ type: 'delivered', target, recipient, state: 'skipped', detail });
    }
    await sendPending(deliveries, input, skipped);
  } catch (error) {
    // What was sent before the failure shall be in the archive too; that failure, not this one, is the news.
    await receipts()
      .then((known) => archive.keepReceipts(sealed, known))
      .catch(() => {});
    throw error;
  }
  const known = await receipts();
  await archive.keepReceipts(sealed, known);
  return { receipts: known, retryable: known.some(({ state }) => state === 'pending' || state === 'sending') };
}

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

async function openRow(delivery: Delivery, ledger: Ledger, clock: Clock): Promise<void> {
  const row = await ledger.open(delivery.row, clock.now());
  if (row.state !== 'sending') return;
  const proof = await proofOf(delivery);
  if (proof === 'sent') {
    await ledger.settle(row.id, row.epoch, 'sent', 'Interrupted, but the target has every file.', clock.now());
  } else if (proof === 'unsent') {
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
  input: DeliverInput,
  skipped: Map<string, string>,
): Promise<void> {
  const down = new Map<Delivery['service'], Ending>();
  const order = [0, 1, 2].flatMap((turn) => deliveries.filter((delivery) => (delivery.turn ?? 0) === turn));
  for (const delivery of order) {
    const { id, target, recipient } = delivery.row;
    const row = await input.ledger.open(delivery.row, input.clock.now());
    if (row.state !== 'pending') continue;
    // A mail server that is down would make every further recipient wait for its timeout.
    const outage = down.get(delivery.service);
    if (outage !== undefined) skipped.set(id, outage.detail);
    const ending = outage ?? (await attempt(row, delivery.prepare, input));
    if (ending === undefined) continue;
    if (ending.targetDown) down.set(delivery.service, ending);
    input.observe({ type: 'delivered', target, recipient, state: ending.state, detail: ending.detail });
  }
}

function receiptsOf(
  deliveries: readonly Delivery[],
  manifest: Manifest,
  rows: readonly DeliveryRow[],
  skipped: ReadonlyMap<string, string>,
): Receipt[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  return deliveries.flatMap(({ row: meant, messageId }): Receipt[] => {
    const { id } = meant;
    const decision = decisionOn(manifest, meant);
    if (decision?.send === false) {
      const { target, recipient } = meant;
      return [{ delivery: id, target, recipient, state: 'skipped', detail: decision.reason, messageId: null }];
    }
    const row = byId.get(id);
    if (row === undefined) return [];
    const { target, recipient, state } = row;
    const detail = row.detail ?? skipped.get(id) ?? null;
    return [{ delivery: id, target, recipient, state, detail, messageId: state === 'pending' ? null : messageId }];
  });
}
