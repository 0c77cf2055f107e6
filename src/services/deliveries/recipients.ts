import { DocketError } from '../../base/error.ts';
import { canonicalAddress, recipientRefusal } from '../../definitions/allow-lists/recipients.ts';
import { resolveTarget, targetName } from '../../definitions/schema/kinds.ts';
import type { Manifest } from '../../deliver/archive/manifest.ts';
import { type DeliveryRow, deliveryId, type NewDelivery } from '../../deliver/ledger/ledger.ts';
import { recoverRows } from '../../deliver/ledger/ledger-recovery.ts';
import { recipientKey } from '../../deliver/send-decision.ts';
import { TARGETS } from '../../deliver/targets/registry.ts';
import type { FrozenDefinition } from '../../queue/definitions/definition-store.ts';
import { type ProcessRegistry, redisProcessRegistry } from '../../queue/process-registry.ts';
import type { ProposedRecipient } from '../../run/review/added-recipients.ts';
import { type DecisionAuthor, type RunRecord, runNotFoundError } from '../../run/run-record.ts';
import type { AuditEvent } from '../audit-log.ts';
import { loadFrozenDefinition } from '../definitions/frozen-definition.ts';
import { assertNotDenied } from '../denials/denial-service.ts';
import type { Deployment } from '../deployment/deployment.ts';
import type { Reviewer } from '../reviews/review-service.ts';
import { createDecisionArchive } from './decision-archive.ts';
import { deliveryChangedError, editionReplacedError, REOPENABLE_STATES } from './decision-rules.ts';
import { decideProposal, listProposals, propose, type RecipientScope } from './recipient-approvals.ts';

/** A request to send a run's files to another recipient. */
export interface RecipientRequest {
  readonly to: string;
  /** The wrong address that the new one replaces. Its delivery is closed. */
  readonly replaces?: string | undefined;
  /** Position and kind in the definition. Required if several deliveries of the run fit. */
  readonly target?: string | undefined;
}

export interface AddedDelivery {
  readonly record: RunRecord;
  /** The delivery's ledger row, even while it waits for approval. */
  readonly delivery: NewDelivery;
  /** The proposal that waits for approval. Null: the delivery is queued. */
  readonly waits: ProposedRecipient | null;
  /** How many people must approve; 0: nobody. */
  readonly need: number;
}

/**
 * Sends a run's files to somebody whom its definition does not name. The recipient gets a row of the same run, which
 * the ledger protects like all others.
 *
 * @param hasOlder whether a process of version 0.2.0 is running, which would leave out added recipients
 */
export function createRecipientService(
  deployment: Deployment,
  hasOlder: ProcessRegistry['hasOlder'] = redisProcessRegistry(deployment.redis, {
    prefix: deployment.prefix,
    self: 'reader',
  }).hasOlder,
) {
  const { runs, queue, ledger, archive, audit, clock, log } = deployment;
  const decisionArchive = createDecisionArchive(deployment);
  const audited = (event: AuditEvent, of: NewDelivery, by: Reviewer, why: string): Promise<void> => {
    const { id: delivery, run, org, report } = of;
    const account = by.kind === 'account' ? { account: by.subject } : {};
    return audit.record({ event, who: by.name, from: by.from, delivery, run, org, report, why, ...account });
  };

  const loadScope = async (run: string): Promise<RecipientScope> => {
    const record = await runs.get(run);
    if (record === undefined) throw runNotFoundError(run);
    if (await hasOlder()) {
      throw new DocketError('run.conflict', 'A running process of an older version would leave out the recipient.', {
        expected: 'only processes of this version',
        next: 'Stop the older processes or upgrade them, wait two minutes, then repeat this.',
      });
    }
    if (!record.deliver || !REOPENABLE_STATES.includes(record.state)) throw notSendableError(record);
    if (await ledger.isWithdrawn(run)) throw editionReplacedError(run);
    if (!(await decisionArchive.isPublished(record))) throw notSendableError(record, 'no files in the archive');
    return { record, frozen: await loadFrozenDefinition(record, deployment.definitions) };
  };

  /** The run's rows. Rows that the ledger has lost are restored from the archive first. */
  const loadRows = async (record: RunRecord): Promise<{ rows: readonly DeliveryRow[]; manifest: Manifest }> => {
    const published = await archive.peek(record);
    if (published === undefined) throw notSendableError(record, 'no files in the archive');
    const [archivedStates, receipts] = await Promise.all([
      archive.getArchivedStates(published),
      archive.getReceipts(published),
    ]);
    const { manifest } = published;
    return { rows: await recoverRows({ manifest, archivedStates, receipts }, ledger, clock), manifest };
  };

  /** Adds the row, and lets the run send it. May be repeated after a crash between two writes. */
  const admit = async (
    record: RunRecord,
    delivery: NewDelivery,
    replaced: DeliveryRow | undefined,
    { by, reason }: DecisionAuthor,
  ): Promise<RunRecord> => {
    const decision = { by, reason, at: clock.now() };
    const result = await ledger.add(delivery, decision, replaced);
    if (result === undefined) throw deliveryChangedError(replaced ?? { id: delivery.id });
    const { row } = result;
    if (!isWaiting(row)) throw knownRecipientError(row);
    // Recorded before the run is reopened, because its attempt reads the added recipients from the archive.
    const old = (await ledger.list(record.id)).filter(({ state }) => state === 'replaced');
    for (const each of old) {
      const last = each.decisions.at(-1);
      if (last?.to === 'replaced') await decisionArchive.recordDecisions([each], last);
    }
    await decisionArchive.recordDecisions([row], row.decisions[0] ?? { to: 'pending', ...decision });
    const { id: run, org, report, target } = delivery;
    log.info('Recipient added', { delivery: delivery.id, run, org, report, target, who: by, why: reason });
    const reopened = await runs.reopen(record.id, REOPENABLE_STATES, { what: 'resend', ...decision });
    if (reopened === undefined) {
      throw new DocketError('run.conflict', `Run ${record.id} has changed in the meantime.`, {
        next: 'Repeat the command: the recipient is added, and the run has to send it.',
      });
    }
    await queue.requeue(reopened);
    return reopened;
  };

  /** Throws if the address was denied after it was proposed. */
  const assertProposalAllowed = async (record: RunRecord, delivery: string): Promise<void> => {
    const proposal = (await listProposals(record, deployment)).find((each) => each.delivery === delivery);
    if (proposal !== undefined) await assertNotDenied(proposal.recipient, deployment);
  };

  return {
    /**
     * Sends the files of an ended run to an address. In a report with `approval`, the delivery waits for as many
     * approvals as the report. The same request may be repeated. Throws `run.not_found`, `run.conflict`,
     * `deliver.recipient_refused`, `deliver.recipient_denied`, `approval.unreachable`, and `delivery.conflict` for an
     * address that has the files or may get them.
     */
    send: async (run: string, request: RecipientRequest, reason: string, by: Reviewer): Promise<AddedDelivery> => {
      const scope = await loadScope(run);
      const { record, frozen } = scope;
      const allowed = (deployment.orgs().get(record.org) ?? frozen.settings).recipients;
      const refusal = recipientRefusal(request.to, allowed);
      if (refusal !== undefined) {
        throw new DocketError('deliver.recipient_refused', `${JSON.stringify(request.to.slice(0, 320))} ${refusal}.`, {
          next: 'Correct the address, or allow it in org.yaml.',
        });
      }
      await assertNotDenied(request.to, deployment);
      const { rows, manifest } = await loadRows(record);
      const { target, replaced } = chooseTarget(request, rows, emailTargets(frozen, manifest), record);
      const recipient = canonicalAddress(request.to) ?? request.to;
      const id = deliveryId(record.id, target, recipientKey(recipient));
      const delivery = { id, run: record.id, org: record.org, report: record.report, target, recipient };
      const known = rows.find((row) => row.id === id);
      if (known !== undefined && !isWaiting(known)) throw knownRecipientError(known);
      const { approval } = frozen.definition;
      const added: NewDelivery = { ...delivery, added: true };
      const why = `${recipient}${request.replaces === undefined ? '' : ` in place of ${request.replaces}`}: ${reason}`;
      if (approval === undefined) {
        const reopened = await admit(record, added, replaced, { by: by.name, reason });
        await audited('recipient.added', added, by, why);
        return { record: reopened, delivery: added, waits: null, need: 0 };
      }
      const waits = await propose(scope, added, replaced?.id ?? null, reason, by, deployment);
      await audited('recipient.added', added, by, why);
      return { record, delivery: added, waits, need: approval.need };
    },

    /** The recipients added to an approved run, oldest first. Throws `archive.*`. */
    proposals: (of: RunRecord): Promise<readonly ProposedRecipient[]> => listProposals(of, deployment),

    /**
     * Records an approver's decision on a recipient that waits. The last approval queues the delivery. May be repeated.
     * Throws `delivery.not_found`, `delivery.conflict`, `review.not_allowed`, and as `send`.
     */
    decide: async (
      run: string,
      delivery: string,
      admitted: boolean,
      reason: string,
      by: Reviewer,
    ): Promise<AddedDelivery> => {
      const scope = await loadScope(run);
      const { record, frozen } = scope;
      if (admitted) await assertProposalAllowed(record, delivery);
      const proposal = await decideProposal(record, delivery, admitted, reason, by, deployment);
      const { org, report } = record;
      const { delivery: id, target, recipient } = proposal;
      const added: NewDelivery = { id, run: record.id, org, report, target, recipient, added: true };
      const need = frozen.definition.approval?.need ?? 0;
      await audited(admitted ? 'recipient.approved' : 'recipient.rejected', added, by, `${recipient}: ${reason}`);
      if (proposal.state !== 'approved') return { record, delivery: added, waits: proposal, need };
      const { rows } = await loadRows(record);
      const replaced = rows.find((row) => row.id === proposal.replaces && row.state !== 'replaced');
      const author = { by: proposal.by.name, reason: proposal.reason };
      return { record: await admit(record, added, replaced, author), delivery: added, waits: null, need };
    },
  };
}
export type RecipientService = ReturnType<typeof createRecipientService>;

/** Whether a row was added by a person and never attempted: adding it again completes what was interrupted. */
const isWaiting = ({ added, state, epoch }: DeliveryRow): boolean =>
  added === true && state === 'pending' && epoch === 0;

/** The deliveries to which a recipient can be added: those to mailboxes; with `split`, those of each value. */
const emailTargets = (
  { definition: { deliveries } }: Pick<FrozenDefinition, 'definition'>,
  { packs }: Manifest,
): readonly string[] =>
  deliveries.flatMap((entry, index) => {
    const { target } = resolveTarget(entry, TARGETS);
    if (target.addressedTo === undefined) return [];
    const desks = packs?.filter(({ state }) => state === 'ready');
    return desks?.map((desk) => targetName(index, target.kind, desk)) ?? [targetName(index, target.kind)];
  });

/** Throws `delivery.conflict` if the run has no such delivery, or if several fit. */
function chooseTarget(
  { replaces, target: named }: RecipientRequest,
  rows: readonly DeliveryRow[],
  targets: readonly string[],
  { id }: RunRecord,
): { readonly target: string; readonly replaced: DeliveryRow | undefined } {
  const found = rows.filter(
    (row) =>
      replaces !== undefined &&
      targets.includes(row.target) &&
      recipientKey(row.recipient) === recipientKey(replaces) &&
      (named === undefined || row.target === named),
  );
  const open = found.filter(({ state }) => state === 'refused' || state === 'pending');
  // It was replaced before: the same request is being repeated.
  const usable = open.length > 0 ? open : found.filter(({ state }) => state === 'replaced');
  const choices = replaces === undefined ? targets.filter((each) => named === undefined || each === named) : usable;
  const [first, another] = choices;
  if (first !== undefined && another === undefined) {
    if (typeof first === 'string') return { target: first, replaced: undefined };
    return { target: first.target, replaced: first.state === 'replaced' ? undefined : first };
  }
  const nameOf = (choice: string | DeliveryRow): string => (typeof choice === 'string' ? choice : choice.target);
  if (first !== undefined) {
    throw new DocketError('delivery.conflict', `Run ${id} has several deliveries that could be meant.`, {
      expected: `one of: ${choices.map(nameOf).join(', ')}`,
      got: named ?? 'no target',
      next: 'Name one with --target (`target` in the API).',
    });
  }
  const state = found[0]?.state;
  throw new DocketError(
    'delivery.conflict',
    replaces === undefined
      ? `Run ${id} has no e-mail delivery${named === undefined ? '' : ` ${named}`}.`
      : `The delivery to ${replaces} cannot be replaced.`,
    {
      expected: replaces === undefined ? 'an e-mail delivery of its definition' : 'a delivery that was refused',
      got: state ?? (replaces === undefined ? targets.join(', ') || 'none' : 'no delivery to this address'),
      next:
        state === 'unknown'
          ? 'It may have arrived. Decide about it first with `docket deliveries resolve`, or leave out --replaces.'
          : `\`docket deliveries --run ${id}\` lists its deliveries.`,
    },
  );
}

function knownRecipientError({ id, run, recipient, state }: DeliveryRow): DocketError {
  return new DocketError('delivery.conflict', `${recipient} already has a delivery of run ${run}.`, {
    where: `delivery ${id}`,
    expected: 'an address without one',
    got: state,
    next: {
      pending: `The run will send it. \`docket runs retry ${run} --reason …\` sends what is left.`,
      sending: 'It is being sent: check again in a minute.',
      sent: 'It has arrived.',
      refused: `\`docket deliveries resolve ${id} --resend --reason …\` sends it again.`,
      unknown: `It may have arrived. Ask the recipient, then use \`docket deliveries resolve ${id} --sent --reason …\` or \`--resend\`.`,
      replaced: 'It was replaced by another address, and is never sent.',
      withdrawn: 'A corrected edition is sent instead.',
      skipped: `It was denied. \`docket deliveries resolve ${id} --resend --reason …\` sends it.`,
    }[state],
  });
}

const notSendableError = ({ id, state, deliver }: RunRecord, got?: string): DocketError =>
  new DocketError('run.conflict', `The files of run ${id} cannot be sent to somebody else now.`, {
    expected: 'a run that delivers and has ended, with its files in the archive',
    got: got ?? (deliver ? state : 'a run without deliveries'),
    next: `See \`docket runs show ${id}\`.`,
  });
