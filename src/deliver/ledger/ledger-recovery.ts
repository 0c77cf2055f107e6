import type { Clock } from '../../base/clock.ts';
import { canonicalAddress } from '../../definitions/allow-lists/recipients.ts';
import { targetName } from '../../definitions/schema/kinds.ts';
import type { Manifest } from '../archive/manifest.ts';
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

/** What the archive knows about a run's deliveries. */
export interface ArchivedRunState {
  readonly manifest: Manifest;
  readonly archivedStates: ReadonlyMap<string, ArchivedState>;
  readonly receipts: readonly Receipt[];
}

/**
 * Restores a run's rows from the archive if the ledger has lost them. Call it only for a run that has ended: an attempt
 * without a result becomes `unknown`. Returns all rows of the run.
 */
export async function recoverRows(archived: ArchivedRunState, ledger: Ledger, clock: Clock): Promise<DeliveryRow[]> {
  const { run } = archived.manifest;
  const known = new Set((await ledger.list(run)).map(({ id }) => id));
  for (const row of namedDeliveries(archived)) {
    const state = archived.archivedStates.get(row.id);
    if (state === undefined || known.has(row.id)) continue;
    await reconcileRow(ledger, await ledger.open(row, clock.now(), state), clock);
  }
  return ledger.list(run);
}

/** How many target positions to try for a mailbox of the manifest. */
const MAX_TARGETS = 100;

/**
 * The deliveries that the archive names: those in the receipts, and the notices to the owner. Receipts are written
 * last, so each mailbox of the manifest with an archived state counts as well.
 */
export function namedDeliveries({ manifest, archivedStates, receipts }: ArchivedRunState): readonly NewDelivery[] {
  const { run, org, report, owner, recipients, packs = [] } = manifest;
  const found = new Map<string, NewDelivery>();
  const add = (id: string, target: string, recipient: string): void => {
    if (archivedStates.has(id) && !found.has(id)) found.set(id, { id, run, org, report, target, recipient });
  };
  for (const [id, { added }] of archivedStates) {
    if (added !== undefined) found.set(id, { id, run, org, report, ...added, added: true });
  }
  for (const { delivery, target, recipient } of receipts) add(delivery, target, recipient);
  const mailbox = canonicalAddress(owner) ?? owner;
  for (const held of [false, true]) add(noticeId(run, mailbox, held), NOTICE_TARGET, mailbox);
  if (found.size === archivedStates.size) return [...found.values()];
  const mailboxKinds = TARGETS.flatMap(({ kind, audience }) => (audience?.people ? [kind] : []));
  const groups = [
    { recipients, desk: undefined },
    ...packs.map((pack) => ({ recipients: pack.manifest?.recipients ?? [], desk: pack })),
  ];
  for (const { recipients: mailboxes, desk } of groups) {
    for (const recipient of mailboxes) {
      for (const kind of mailboxKinds) {
        for (let index = 0; index < MAX_TARGETS; index += 1) {
          const target = targetName(index, kind, desk);
          add(deliveryId(run, target, recipientKey(recipient)), target, canonicalAddress(recipient) ?? recipient);
        }
      }
    }
  }
  return [...found.values()];
}
