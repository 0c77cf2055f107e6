import { DocketError } from '../base/error.ts';
import type { SecretSource } from '../base/secrets/secret.ts';
import type { OrgSettings } from '../definitions/schema/org-settings.ts';
import type { Definition } from '../definitions/schema/report-definition.ts';
import { attemptFromDecision } from './archive/archive.ts';
import type { Manifest } from './archive/manifest.ts';
import { reconcileRow, type VerificationResult } from './attempt.ts';
import type { CircuitBreaker, Outage } from './circuit/circuit-breaker.ts';
import { type OutageTracker, outageTracker } from './circuit/outage-tracker.ts';
import { hasBegun, isBegun, needsClaim } from './claims/claim.ts';
import { denialText } from './denials/deny-list.ts';
import type { DestinationPolicy } from './destination-guard.ts';
import {
  type ArchivedState,
  type DeliveryRow,
  type NewDelivery,
  NOTICE_TARGET,
  type Receipt,
} from './ledger/ledger.ts';
import { type SendDecision, sendDecisionFor } from './send-decision.ts';
import { type SendPorts, sendPending } from './send-pending.ts';
import { listDeliveries } from './targets/registry.ts';
import type { AddedRecipient, Delivery, MailRoute, Target } from './targets/target.ts';

export interface DeliverInput extends SendPorts {
  readonly order: { readonly id: string; readonly org: string; readonly report: string };
  readonly definition: Definition;
  readonly settings: OrgSettings;
  /** Undefined without a mail server: e-mails then stay `pending`. */
  readonly mail: MailRoute | undefined;
  /** Shared with other workers; absent without Redis. */
  readonly circuit?: CircuitBreaker | undefined;
  /** Epoch ms at which a person last requested this attempt: it then probes servers that had failed before. */
  readonly askedAt?: number | undefined;
  /** No further call follows, so unknown deliveries are not put back. */
  readonly lastAttempt?: boolean;
  /** Keys and passwords of the targets. */
  readonly secrets: SecretSource;
  /** Base folder for relative directory targets. Default: the process's working directory. */
  readonly workingDirectory?: string;
  readonly destinations?: DestinationPolicy | undefined;
  /** Base URL of the page, without a slash at its end; undefined: messages have no links to the page. */
  readonly publicUrl?: string | undefined;
  /**
   * Claims the period for this run. Throws `already_delivered` if another run delivers it. Absent: no claim is needed.
   * @param hasBegun whether this run has delivered, or may have delivered, something
   */
  readonly claim?: ((hasBegun: () => Promise<boolean>) => Promise<void>) | undefined;
  /** Ids of the deliveries whose added recipient enough people have approved. Absent: nobody can be added. */
  readonly admitted?: (() => Promise<ReadonlySet<string>>) | undefined;
  /**
   * Closes the run's deliveries if a corrected edition replaces the run. Called for a run that has delivered before.
   */
  readonly closeIfReplaced?: (() => Promise<void>) | undefined;
  /** Services that other calls for the same run found to be down. Absent: none known. */
  readonly outages?: OutageTracker | undefined;
  /** The built-in ones by default. */
  readonly targets?: readonly Target[];
}

export interface DeliveryResult {
  /** One receipt per target and recipient, in the order of the definition. */
  readonly receipts: readonly Receipt[];
  /** Some deliveries are still `pending`. Another call may deliver them, and changes no others. */
  readonly retryable: boolean;
  /** Set if every open delivery waits for a service or disk that is down: call again when it ends. */
  readonly outage: Outage | undefined;
}

/**
 * Delivers a published run to every target and recipient of its definition that the ledger has not settled.
 *
 * Safe to repeat: `sent`, `refused` and `unknown` are never changed. A row in `sending` belongs to a dead attempt and
 * becomes `unknown`, unless the target proves the result. A ledger that was lost or rolled back is restored from the
 * archive first. A failing target does not stop the others. A delivery is `skipped` if its `send_if` was not met or its
 * recipient is denied. With `on_unknown: resend`, an unknown delivery is put back once.
 *
 * Before anything is sent, throws `review.not_approved` for a report that lacks a required approval, and
 * `already_delivered` if another run has the period's claim. Throws `run.cancelled` if another worker has taken over
 * the run. Throws the signal's reason, `redis.unreachable`, `switch.unreadable`, and `archive.*` when the files cannot
 * be trusted or written; settled rows stay settled.
 */
export async function deliver(input: DeliverInput): Promise<DeliveryResult> {
  assertSameRun(input);
  const { published, ledger, archive, clock, circuit } = input;
  const { manifest } = published;
  const archivedStates = await archive.getArchivedStates(published);
  // A lost ledger does not know about the replacement.
  if (archivedStates.size > 0) await input.closeIfReplaced?.();
  const additions = await admittedRecipients(archivedStates, input);
  const denyList = await input.denials?.list();
  const all = listDeliveries({ workingDirectory: process.cwd(), ...input, additions, denyList }, input.targets);
  const isSkipped = ({ row }: Delivery) => decisionOn(manifest, row)?.send === false;
  const deliveries = all.filter((delivery) => !isSkipped(delivery));
  if (deliveries.length > 0) assertApproved(input.definition, manifest);
  const allowed = deliveries.filter(({ row }) => denyList?.find(row.recipient) === undefined);
  if (allowed.some(({ row: { target } }) => needsClaim(target, input.targets))) {
    await input.claim?.(async () => {
      const archived = [...archivedStates.values()].some(({ state }) => isBegun(state));
      return archived || hasBegun(await ledger.list(input.order.id), input.targets);
    });
    await assertLocked(input);
  }
  const outages = input.outages ?? outageTracker(clock, circuit, input.askedAt);
  const notTried = new Map<string, string>();
  let listed: Promise<readonly DeliveryRow[]> | undefined;
  const readReceipts = async (): Promise<Receipt[]> => {
    const rows = await listed;
    // A row that was `sending` when listed has a result by now.
    const isStale = rows === undefined || rows.some(({ state }) => state === 'sending');
    return toReceipts(all, manifest, isStale ? await ledger.list(input.order.id) : rows, notTried);
  };
  try {
    // A newly published run has only new rows, so its first delivery will be attempted: query the state of its service
    // in the same round trip that opens the rows.
    const [first] = archivedStates.size === 0 ? deliveries.toSorted((a, b) => (a.phase ?? 0) - (b.phase ?? 0)) : [];
    if (first !== undefined) outages.prefetch(first.service);
    // Opens all rows first: if the process dies, the ledger knows every planned delivery.
    const opened = await openRows(deliveries, archivedStates, input);
    if (allowed.length < deliveries.length) await skipDenied([...opened.values()], input);
    for (const { row } of all.filter(isSkipped)) {
      const { target, recipient } = row;
      const detail = decisionOn(manifest, row)?.reason ?? null;
      input.observe({ type: 'delivered', target, recipient, state: 'skipped', detail });
    }
    const willResend = input.settings.on_unknown === 'resend' && !input.lastAttempt;
    const listRows = (): void => {
      listed = ledger.list(input.order.id);
      // The error is thrown where the list is awaited.
      listed.catch(() => {});
    };
    await sendPending(
      {
        deliveries: allowed,
        opened,
        archivedStates,
        outages,
        notTried,
        ...(willResend ? {} : { onLastEnded: listRows }),
      },
      input,
    );
    // A recipient may have been denied meanwhile.
    const current = await input.denials?.list();
    if (current !== denyList && current?.size !== 0) {
      await skipDenied(await ledger.list(input.order.id), input);
      listed = undefined;
    }
    if (willResend) await resendUnknown(allowed, input);
  } catch (error) {
    listed = undefined;
    // Best effort: the archive should have the receipts of what was sent before the failure.
    await readReceipts()
      .then((receipts) => archive.putReceipts(published, receipts))
      .catch(() => {});
    throw error;
  }
  const receipts = await readReceipts();
  if (receipts.length > 0) await archive.putReceipts(published, receipts);
  const open = new Set(
    receipts.flatMap(({ delivery, state }) => (state === 'pending' || state === 'sending' ? delivery : [])),
  );
  const services = deliveries.filter(({ row }) => open.has(row.id)).map(({ service }) => service);
  return { receipts, retryable: open.size > 0, outage: outages.findEarliest(services) };
}

/** The decision about a delivery's `send_if`. A recipient that a person added is never skipped. */
const decisionOn = (manifest: Manifest, row: NewDelivery): SendDecision | undefined =>
  row.added ? undefined : sendDecisionFor(manifest, row);

/**
 * The recipients that people added to the run. In a report with `approval`, only those that enough people have
 * approved.
 */
async function admittedRecipients(
  archivedStates: ReadonlyMap<string, ArchivedState>,
  { definition, admitted }: Pick<DeliverInput, 'definition' | 'admitted'>,
): Promise<readonly AddedRecipient[]> {
  const all = [...archivedStates].flatMap(([id, { added }]) => (added === undefined ? [] : [{ id, ...added }]));
  if (all.length === 0 || definition.approval === undefined) return all;
  const approved = (await admitted?.()) ?? new Set();
  return all.filter(({ id }) => approved.has(id));
}

/**
 * Checks the lock again, because waiting for the claim's stores may have taken long. If a row began without the lock
 * and was not sent, the worker that took over the run would see it as `unknown`.
 */
async function assertLocked({ claim, confirmLock }: DeliverInput): Promise<void> {
  const ms = claim && (await confirmLock?.());
  if (ms !== undefined && ms <= 0) throw new DocketError('run.cancelled', 'Another worker has taken over the run.');
}

/** Refuses input that mixes different runs, reports or organizations. Throws `internal.defect`. */
function assertSameRun({ order, definition, settings, published }: DeliverInput): void {
  const { manifest } = published;
  const orgs = new Set([order.org, definition.org, settings.id, manifest.org]);
  const reports = new Set([order.report, definition.report, manifest.report]);
  if (orgs.size === 1 && reports.size === 1 && order.id === manifest.run) return;
  throw new DocketError('internal.defect', 'Delivery input mixes several runs or organizations.', {
    expected: `everything of ${order.org}/${order.report}, run ${order.id}`,
    got: `organizations ${[...orgs].join(', ')}; reports ${[...reports].join(', ')}; run ${manifest.run}`,
    next: 'Nothing was sent. This is a defect of Docket: please report it.',
    retryable: false,
  });
}

/**
 * Opens all rows at once, and settles interrupted ones. Returns the others by id; they are valid until the first
 * attempt.
 */
async function openRows(
  deliveries: readonly Delivery[],
  archivedStates: ReadonlyMap<string, ArchivedState>,
  input: DeliverInput,
): Promise<ReadonlyMap<string, DeliveryRow>> {
  const { ledger, clock } = input;
  const rows = await Promise.all(
    deliveries.map(async (delivery) => {
      const row = await ledger.open(delivery.row, clock.now(), archivedStates.get(delivery.row.id));
      return { delivery, row };
    }),
  );
  const rowsById = new Map<string, DeliveryRow>();
  for (const { delivery, row } of rows) {
    if (row.state === 'sending' || row.state === 'unknown') await settleInterrupted(delivery, row, input);
    else rowsById.set(row.id, row);
  }
  return rowsById;
}

/** Skips rows whose recipient is denied. Rows that may have been sent stay as they are. */
async function skipDenied(
  rows: readonly DeliveryRow[],
  { ledger, clock, denials, observe }: DeliverInput,
): Promise<void> {
  const list = await denials?.list();
  for (const { id, epoch, state, target, recipient } of rows) {
    const denial = list?.find(recipient);
    if (denial === undefined || state !== 'pending' || target === NOTICE_TARGET) continue;
    const decision = { to: 'skipped', by: denial.by, reason: denialText(denial), at: clock.now() } as const;
    const skipped = await ledger.resolve(id, epoch, decision);
    if (skipped !== undefined)
      observe({ type: 'delivered', target, recipient, state: 'skipped', detail: skipped.detail });
  }
}

/** Settles a row without a recorded result as its target shows, or as `unknown`. */
async function settleInterrupted(delivery: Delivery, row: DeliveryRow, { ledger, clock }: DeliverInput): Promise<void> {
  const result = await verifyDelivery(delivery);
  if (result === 'sent') {
    await ledger.settle(row.id, row.epoch, 'sent', 'Interrupted, but the target has every file.', clock.now());
  } else if (result === 'unsent' && row.state === 'sending') {
    await ledger.settle(row.id, row.epoch, 'pending', 'Interrupted before the target had it.', clock.now());
  } else {
    await reconcileRow(ledger, row, clock);
  }
}

/** Checks the result in the target. `unknown` if the target has no verification, or if it fails. */
async function verifyDelivery({ verify }: Delivery): Promise<VerificationResult> {
  try {
    return (await verify?.()) ?? 'unknown';
  } catch {
    return 'unknown';
  }
}

/** Puts each unknown delivery back once. Repeating it would send many copies to a server that never confirms. */
async function resendUnknown(deliveries: readonly Delivery[], input: DeliverInput): Promise<void> {
  const { ledger, archive, clock, published, order } = input;
  const ids = new Set(deliveries.map(({ row }) => row.id));
  for (const { id, state, epoch, decisions } of await ledger.list(order.id)) {
    if (state !== 'unknown' || !ids.has(id) || decisions.some(({ by }) => by === 'docket')) continue;
    const decision = { to: 'pending', by: 'docket', reason: 'on_unknown: resend', at: clock.now() } as const;
    const row = await ledger.resolve(id, epoch, decision);
    if (row !== undefined) await archive.putAttempt(published, attemptFromDecision(row, decision));
  }
}

function toReceipts(
  deliveries: readonly Delivery[],
  manifest: Manifest,
  rows: readonly DeliveryRow[],
  notTried: ReadonlyMap<string, string>,
): Receipt[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  return deliveries.map(({ row, messageId }): Receipt => {
    const { id: delivery, target, recipient } = row;
    const decision = decisionOn(manifest, row);
    if (decision?.send === false) {
      return { delivery, target, recipient, state: 'skipped', detail: decision.reason, messageId: null };
    }
    // The ledger was lost during this call. The next call restores the row from the archive.
    const missing = { state: 'pending' as const, detail: 'The delivery is missing from the ledger.' };
    const { state, detail } = byId.get(delivery) ?? missing;
    return {
      delivery,
      target,
      recipient,
      state,
      detail: detail ?? notTried.get(delivery) ?? null,
      messageId: state === 'pending' || state === 'skipped' ? null : messageId,
    };
  });
}

/**
 * The last check before anything is sent: the manifest of a report with `approval` must have approvals by enough
 * different people. The manifest is what was published, and nobody can add an approval to it. Throws
 * `review.not_approved`.
 */
export function assertApproved({ approval }: Pick<Definition, 'approval'>, { review, run }: Manifest): void {
  if (approval === undefined) return;
  const people = new Set(review?.approved_by.map(({ person }) => person));
  const signIns = new Set(review?.approved_by.map(({ principal }) => principal));
  const given = Math.min(people.size, signIns.size);
  if (given >= approval.need) return;
  throw new DocketError('review.not_approved', `Run ${run} is not approved.`, {
    expected: `approvals by ${approval.need} different ${approval.need === 1 ? 'person' : 'people'} in manifest.json`,
    got: given === 0 ? 'none' : String(given),
    next: 'Nothing was sent. Trigger the report again: its new run waits for approval.',
    retryable: false,
  });
}
