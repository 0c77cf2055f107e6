import { describeDelivery, kindOfTarget, targetName } from '../../definitions/schema/kinds.ts';
import type { Definition } from '../../definitions/schema/report-definition.ts';
import { deskDefinition } from '../../definitions/split.ts';
import type { Manifest } from '../../deliver/archive/manifest.ts';
import type { RunRef } from '../../deliver/archive/storage/archive-storage.ts';
import {
  type DeliveryRow,
  deliveryId,
  INTERRUPTED,
  MAX_ATTEMPT_MS,
  type Resolution,
} from '../../deliver/ledger/ledger.ts';
import { recoverRows } from '../../deliver/ledger/ledger-recovery.ts';
import { plannedDeliveries } from '../../deliver/planned-deliveries.ts';
import { recipientKey, sendDecisionFor } from '../../deliver/send-decision.ts';
import { TARGETS } from '../../deliver/targets/registry.ts';
import { createDecisionArchive } from '../deliveries/decision-archive.ts';
import type { Deployment } from '../deployment/deployment.ts';
import { type Edition, type EditionRecipient, findPack } from './editions.ts';

/**
 * Closes the deliveries of an edition that a corrected edition replaces, first in the ledger, then in the archive.
 * Messages that are being sent are finished first: call it again until no row is `sending`. May be repeated, even after
 * the ledger was lost.
 *
 * @returns all rows of the run
 */
export async function closeEdition(
  run: RunRef,
  { by, reason, at }: Omit<Resolution, 'to'>,
  deployment: Deployment,
): Promise<readonly DeliveryRow[]> {
  const { archive, ledger, clock } = deployment;
  const published = await archive.peek(run);
  if (published === undefined) return ledger.withdraw(run.id, { by, reason, at });
  const archivedStates = await archive.getArchivedStates(published);
  const receipts = await archive.getReceipts(published);
  await recoverRows({ manifest: published.manifest, archivedStates, receipts }, ledger, clock);
  await ledger.withdraw(run.id, { by, reason, at });
  await openMissingRows(run, published.manifest, deployment);
  for (const row of await ledger.list(run.id)) {
    const isDead = row.state === 'sending' && clock.now() - row.at >= MAX_ATTEMPT_MS;
    if (isDead) await ledger.settle(row.id, row.epoch, 'unknown', INTERRUPTED, clock.now());
  }
  const rows = await ledger.list(run.id);
  const closed = rows.filter(({ id, state }) => state === 'withdrawn' && archivedStates.get(id)?.state !== 'withdrawn');
  if (closed.length > 0)
    await createDecisionArchive(deployment).recordDecisions(closed, { to: 'withdrawn', by, reason, at });
  return rows;
}

/**
 * Opens the rows of deliveries that were never attempted and that the ledger has lost, so that they are withdrawn too.
 */
async function openMissingRows(run: RunRef, manifest: Manifest, deployment: Deployment): Promise<void> {
  const { ledger, clock, definitions, orgs, workingDirectory = process.cwd() } = deployment;
  const frozen = await definitions.get(manifest.digest);
  if (frozen === undefined) return;
  const { definition } = frozen;
  const settings = { ...frozen.settings, recipients: orgs().get(run.org)?.recipients ?? frozen.settings.recipients };
  const known = new Set((await ledger.list(run.id)).map(({ id }) => id));
  const planned = plannedDeliveries(manifest, { ...deployment, definition, settings, workingDirectory });
  for (const { target, recipient, receives } of planned) {
    const id = deliveryId(run.id, target, recipientKey(recipient));
    const row = { id, run: run.id, org: run.org, report: run.report, target, recipient };
    if (receives && !known.has(id)) await ledger.open(row, clock.now());
  }
}

/**
 * Who gets a corrected edition that a person opened: marked, everybody who has received an edition or may have; without
 * the mark, everybody else. With another definition, each recipient keeps the kind of delivery, and nobody is added.
 *
 * @param redefinition undefined: the edition's own definition
 */
export async function selectRecipients(
  edition: Edition,
  redefinition: Definition | undefined,
  { definitions }: Pick<Deployment, 'definitions'>,
): Promise<Record<'recipients' | 'unmarked', readonly EditionRecipient[]>> {
  const { manifest, recipients, withdrawn } = edition;
  // Whether the replaced edition was itself a correction that this recipient was to get.
  const hasEarlier = (of: EditionRecipient): boolean => {
    const own = findPack(edition, of)?.manifest ?? manifest;
    return own.corrects !== undefined && sendDecisionFor(own, of)?.send === true;
  };
  const marked = [...recipients, ...withdrawn.filter(hasEarlier)];
  const unmarked = withdrawn.filter((of) => !hasEarlier(of));
  if (redefinition === undefined) return { recipients: marked, unmarked };
  const before = await definitions.get(manifest.digest);
  const place = (of: EditionRecipient) => {
    const desk = findPack(edition, of);
    const own = (definition: Definition) => (desk === undefined ? definition : deskDefinition(definition, desk));
    return placeIn(of, before && own(before.definition), own(redefinition));
  };
  return { recipients: marked.flatMap(place), unmarked: unmarked.flatMap(place) };
}

/** The delivery in another definition that replaces the recipient's own delivery; empty if there is none. */
function placeIn(
  of: EditionRecipient,
  before: Pick<Definition, 'deliveries'> | undefined,
  after: Pick<Definition, 'deliveries' | 'desk'>,
): readonly EditionRecipient[] {
  const kind = kindOfTarget(of.target);
  const sameKind = after.deliveries.flatMap((entry, index) => {
    const described = describeDelivery(entry, TARGETS);
    return described.kind === kind
      ? [{ entry, target: targetName(index, kind, after.desk), mailboxes: described.mailboxes }]
      : [];
  });
  const sameFirst = [...sameKind.filter(({ target }) => target === of.target), ...sameKind];
  const own = before?.deliveries[Number.parseInt(of.target, 10)];
  const found =
    sameFirst.find(({ entry, mailboxes }) =>
      mailboxes === undefined
        ? // Files at another place would be a new recipient.
          own !== undefined && JSON.stringify(entry[kind]) === JSON.stringify(own[kind])
        : mailboxes.some(({ address }) => recipientKey(address) === recipientKey(of.recipient)),
    ) ?? sameFirst.find(({ mailboxes }) => mailboxes !== undefined);
  return found === undefined ? [] : [{ target: found.target, recipient: of.recipient }];
}
