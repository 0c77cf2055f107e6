import type { Clock } from '../../base/clock.ts';
import { canonicalAddress } from '../../definitions/allow-lists/recipients.ts';
import { targetName } from '../../definitions/schema/kinds.ts';
import type { Manifest } from '../archive/archive.ts';
import { reconcileRow } from '../attempt.ts';
import { recipientKey } from '../send-decision.ts';
import { TARGETS } from '../targets/registry.ts';
import {
  type ArchivedState,
  type DeliveryRow,
  deliveryId,
  type Ledger,
  type NewDelivery,
  NOTICE_TARGET,
  noticeId,
  type Receipt,
} from './ledger.ts';

/** What the archive has of a run's deliveries. */
export interface ArchivedRunState {
  readonly manifest: Manifest;
  readonly archivedStates: ReadonlyMap<string, ArchivedState>;
  readonly receipts: readonly Receipt[];
}

/**
 * Puts the rows of a run back that the ledger does not have any more, as the archive knows them. Only for a run that is
 * over: an attempt without an end becomes `unknown`. Returns all rows of the run.
 */
export async function recoverRows(archived: ArchivedRunState, ledger: Ledger, clock: Clock): Promise<DeliveryRow[]> {
  const { run } = archived.manifest;
  const known = new Set((await ledger.list(run)).map(({ id }) => id));
  for (const row of namedDeliveries(archived)) {
    const evidence = archived.archivedStates.get(row.id);
    if (evidence === undefined || known.has(row.id)) continue;
    await reconcileRow(ledger, await ledger.open(row, clock.now(), evidence), clock);
  }
  return ledger.list(run);
}

/** Targets of a definition among which a mailbox is looked for. */
const MAX_TARGETS = 100;

/**
 * The deliveries that the archive names: those of the receipts, the notices to the owner, and, since the receipts are
 * written last, each mailbox of the manifest whose id an attempt has.
 */
function namedDeliveries({ manifest, archivedStates, receipts }: ArchivedRunState): readonly NewDelivery[] {
  const { run, org, report, owner, recipients } = manifest;
  const named = new Map<string, NewDelivery>();
  const add = (id: string, target: string, recipient: string): void => {
    if (archivedStates.has(id) && !named.has(id)) named.set(id, { id, run, org, report, target, recipient });
  };
  for (const { delivery, target, recipient } of receipts) add(delivery, target, recipient);
  const mailbox = canonicalAddress(owner) ?? owner;
  for (const held of [false, true]) add(noticeId(run, mailbox, held), NOTICE_TARGET, mailbox);
  if (named.size === archivedStates.size) return [...named.values()];
  const mailboxKinds = TARGETS.flatMap(({ kind, audience }) => (audience?.people ? [kind] : []));
  for (const recipient of recipients) {
    for (const kind of mailboxKinds) {
      for (let index = 0; index < MAX_TARGETS; index += 1) {
        const target = targetName(index, kind);
        add(deliveryId(run, target, recipientKey(recipient)), target, canonicalAddress(recipient) ?? recipient);
      }
    }
  }
  return [...named.values()];
}
