import { DocketError } from '../../base/error.ts';
import type { Trace } from '../../base/trace.ts';
import { recipientRefusal } from '../../definitions/allow-lists/recipients.ts';
import { assertPeriodAllowed } from '../../definitions/periods/assert-period.ts';
import { describeDelivery } from '../../definitions/schema/kinds.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { Definition, PeriodSpec } from '../../definitions/schema/report-definition.ts';
import { assertSplitValue } from '../../definitions/split.ts';
import { TARGETS } from '../../deliver/targets/registry.ts';
import type { QueuedRuns } from '../../queue/runs/cancel-run.ts';
import { requestFingerprint } from '../../run/request-fingerprint.ts';
import { createRunOrder } from '../../run/run-order.ts';
import type { RunOrder, RunRecord } from '../../run/run-record.ts';
import type { AuditEntry, AuditLog } from '../audit-log.ts';
import { assertNotDelivered, type FindEarlierDelivery } from './already-delivered.ts';
import { assertApprovable } from './assert-approvable.ts';

export interface TriggerRequest {
  readonly definition: Definition;
  readonly settings: OrgSettings;
  /**
   * A scheduled instant (epoch ms), or the id of a trigger: the same id with the same request always means the same
   * run. `isNew`: the id is random and was just made, so no run can have it yet.
   */
  readonly slot: { readonly scheduled: number } | { readonly trigger: string; readonly isNew?: boolean };
  readonly trigger: RunOrder['trigger'];
  readonly priority: RunOrder['priority'];
  /** Used instead of the definition's period. */
  readonly period?: PeriodSpec;
  /** With `split`: make only the pack of this value. */
  readonly value?: string | undefined;
  readonly deliver: boolean;
  /** Delivers the period even if it was already delivered. */
  readonly again?: boolean;
  /** Confirms that `period` may contain days that are not over. */
  readonly unfinished?: boolean;
  /** How long the run waits in the queue, ms: a schedule's jitter. */
  readonly delayMs?: number;
  /** Ms after the slot within which readers expect the report; see `RunOrder`. */
  readonly lateAfterMs?: number | undefined;
  /** Awaited before the run is enqueued, so that runs that are opened together are enqueued in order. */
  readonly turn?: Promise<void>;
  /** Name of the token or of the shell user. */
  readonly by?: string;
  /** Subject of the person's sign-in; absent for shell users. */
  readonly bySubject?: string;
  /** Called if this request has opened the run, while the run is enqueued and even if that fails. */
  readonly onOpened?: (record: RunRecord) => Promise<void>;
}

interface TriggerPorts extends QueuedRuns {
  /** Absent: repeated deliveries are allowed. */
  readonly findDelivered?: FindEarlierDelivery | undefined;
  /** Makes the run's spans children of the current span, in any process. Absent: no spans. */
  readonly trace?: Trace | undefined;
}

export interface TriggerResult {
  /** False if the slot was already open: `record` is then that of the existing run. */
  readonly opened: boolean;
  readonly record: RunRecord;
}

/** `triggerRun` with its ports bound. */
export type TriggerRun = (request: TriggerRequest) => Promise<TriggerResult>;

/**
 * Opens the slot once and enqueues its run. A repeated call returns the existing record.
 *
 * Definition and record are stored in one step, and the job afterwards: after a crash between the two, the reconciler
 * enqueues the `queued` record. A request that fails before leaves no run. Commands that do not depend on the previous
 * reply are sent together on one connection, which Redis processes in order.
 *
 * Throws `deliver.recipient_refused` for a recipient that the organization does not allow, before anything is opened. A
 * scheduled slot does not throw it, because it would be retried forever: its run reaches the other recipients, and a
 * notice names the refused one. In the same way, throws `approval.unreachable` if too few people could approve what
 * this person triggers. Throws `period.not_begun` and `period.unfinished` as `assertPeriodAllowed`; the run of a
 * scheduled slot ends with the first of them. Throws `usage.invalid` for a value for which the report cannot run
 * (`assertSplitValue`). Throws `already_delivered` for a period that was delivered before, unless the request sets
 * `again` or has opened that run; a scheduled slot runs once anyway. Throws `run.conflict` if the trigger id was used
 * with a different request, `redis.unreachable` if nothing was written.
 */
export async function triggerRun(request: TriggerRequest, ports: TriggerPorts): Promise<TriggerResult> {
  const { definition, settings, slot } = request;
  assertSplitValue(definition, request.value, request);
  if (request.deliver && request.trigger !== 'schedule') {
    assertRecipientsAllowed(definition, settings);
    assertApprovable(request, request);
  }
  const now = ports.clock.now();
  const scheduled = 'scheduled' in slot;
  const traceparent = ports.trace?.traceparent();
  let order: RunOrder = {
    ...createRunOrder({
      definition,
      settings,
      trigger: request.trigger,
      priority: request.priority,
      slot: scheduled ? new Date(slot.scheduled).toISOString() : `trigger:${slot.trigger}`,
      at: scheduled ? slot.scheduled : now,
      ...(request.period === undefined ? {} : { period: request.period }),
      value: request.value,
      deliver: request.deliver,
      again: request.again,
      lateAfterMs: request.lateAfterMs,
      ...(request.by === undefined ? {} : { by: request.by }),
      ...(request.bySubject === undefined ? {} : { bySubject: request.bySubject }),
      now,
    }),
    ...(scheduled ? {} : { asked: requestFingerprint(request) }),
    ...(traceparent === undefined ? {} : { traceparent }),
  };
  const isNew = !scheduled && slot.isNew === true;
  if (!scheduled) {
    assertPeriodAllowed(order, { spec: request.period, unfinished: request.unfinished }, now);
    const { findDelivered } = ports;
    // A repeated request finds its own run, even if that run has delivered since.
    const find: FindEarlierDelivery | undefined =
      findDelivered &&
      (async (query) => (isNew || (await ports.runs.get(order.id)) === undefined ? findDelivered(query) : undefined));
    order = {
      ...order,
      ...(await assertNotDelivered(order, definition, { again: request.again ?? false, find, now })),
    };
  }
  const [{ opened, record }, place] = await Promise.all([
    ports.runs.open(order, { definition, settings }),
    // Only a run that is certainly new gets a place now. Any other run may already be enqueued.
    isNew ? ports.queue.assignPlace(order) : undefined,
  ]);
  if (!scheduled && !(record.asked === order.asked && record.priority === order.priority)) {
    throw new DocketError('run.conflict', 'This idempotency key was used with a different request.', {
      where: `run ${record.id}`,
      expected: 'the same period, deliver, priority and again as the first time',
      next: 'Use a new Idempotency-Key for a new request.',
    });
  }
  await request.turn;
  await Promise.all([
    // Not `if (opened)`: the process that opened it may have crashed before this line.
    record.state === 'queued' ? ports.queue.enqueue(record, request.delayMs, place) : undefined,
    opened ? request.onOpened?.(record) : undefined,
  ]);
  if (opened) {
    ports.log.info('Run opened', { run: record.id, org: record.org, report: record.report, slot: record.slot });
  }
  return { opened, record };
}

/**
 * Triggers a run on behalf of a person (`request.by`), and records it in the audit log if it was opened. Throws as
 * `triggerRun`.
 *
 * @param entry address and reason for the audit entry
 */
export async function requestRun(
  request: TriggerRequest & { readonly by: string },
  { trigger, audit }: { readonly trigger: TriggerRun; readonly audit: AuditLog },
  entry: Pick<AuditEntry, 'from' | 'why'> = {},
): Promise<TriggerResult> {
  const onOpened = ({ id, org, report }: RunRecord) =>
    audit.record({ event: 'run.triggered', who: request.by, run: id, org, report, ...entry });
  return trigger({ ...request, onOpened });
}

/** `docket check` and each delivery refuse such recipients too, but refusing them here costs no call. */
function assertRecipientsAllowed({ deliveries }: Definition, { recipients }: OrgSettings): void {
  for (const { address } of deliveries.flatMap((each) => describeDelivery(each, TARGETS).mailboxes ?? [])) {
    const refusal = recipientRefusal(address, recipients);
    if (refusal === undefined) continue;
    throw new DocketError('deliver.recipient_refused', `${JSON.stringify(address)} ${refusal}.`, {
      next: 'Correct the recipient, or allow it in org.yaml.',
    });
  }
}
