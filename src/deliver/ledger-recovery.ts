import type { Clock } from '../base/clock.ts';
import { canonicalAddress } from '../define/recipients.ts';
import type { Manifest } from './archive.ts';
import { reconcile } from './attempt.ts';
import { recipientKey } from './decision.ts';
import {
  type DeliveryRow,
  deliveryId,
  type Evidence,
  type Ledger,
  type NewDelivery,
  NOTICE_TARGET,
  noticeId,
} from './ledger.ts';
import type { Receipt } from './receipt.ts';

/** What the archive has of a run's deliveries. */
export interface ArchivedDeliveries {
  readonly manifest: Manifest;
  readonly evidence: ReadonlyMap<string, Evidence>;
  readonly receipts: readonly Receipt[];
}

/**
 * Puts the rows of a run back that the ledger does not have any more, as the archive knows them. Only for a run that is
 * over: an attempt without an end becomes `unknown`. Returns all rows of the run.
 */
export async function recoverRows(archived: ArchivedDeliveries, ledger: Ledger, clock: Clock): Promise<DeliveryRow[]> {
  const { run } = archived.manifest;
  const known = new Set((await ledger.list(run)).map(({ id }) => id));
  for (const row of namedDeliveries(archived)) {
    const evidence = archived.evidence.get(row.id);
    if (evidence === undefined || known.has(row.id)) continue;
    await reconcile(ledger, await ledger.open(row, clock.now(), evidence), clock);
  }
  return ledger.list(run);
}

/** Targets of a definition among which a mailbox is looked for. */
const MAX_TARGETS = 100;

/**
 * The deliveries that the archive names: those of the receipts, the notices to the owner, and, since the receipts are
 * written last, each mailbox of the manifest whose id an attempt has.
 */
function namedDeliveries({ manifest, evidence, receipts }: ArchivedDeliveries): readonly NewDelivery[] {
  const { run, org, report, owner, recipients } = manifest;
  const named = new Map<string, NewDelivery>();
  const add = (id: string, target: string, recipient: string): void => {
    if (evidence.has(id) && !named.has(id)) named.set(id, { id, run, org, report, target, recipient });
  };
  for (const { delivery, target, recipient } of receipts) add(delivery, target, recipient);
  const mailbox = canonicalAddress(owner) ?? owner;
  for (const held of [false, true]) add(noticeId(run, mailbox, held), NOTICE_TARGET, mailbox);
  if (named.size === evidence.size) return [...named.values()];
  for (const recipient of recipients) {
    for (let index = 0; index < MAX_TARGETS; index += 1) {
      const target = `${index}-email`;
      add(deliveryId(run, target, recipientKey(recipient)), target, canonicalAddress(recipient) ?? recipient);
    }
  }
  return [...named.values()];
}
