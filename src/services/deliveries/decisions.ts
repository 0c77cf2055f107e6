import { DocketError, toDocketError } from '../../base/error.ts';
import { assertBegun } from '../../definitions/periods/assert-period.ts';
import {
  type DeliveryRow,
  type DeliveryState,
  INTERRUPTED,
  MAX_ATTEMPT_MS,
  NOTICE_TARGET,
  noticeId,
} from '../../deliver/ledger/ledger.ts';
import { cancelRun } from '../../queue/runs/cancel-run.ts';
import {
  type DecisionAuthor,
  type RunRecord,
  runNotFoundError,
  TERMINAL_STATES,
  WAITING_STATES,
} from '../../run/run-record.ts';
import type { AuditActor, AuditEvent } from '../audit-log.ts';
import { assertNotDenied } from '../denials/denial-service.ts';
import type { Deployment } from '../deployment/deployment.ts';
import { createDecisionArchive } from './decision-archive.ts';
import {
  assertDecidable,
  deliveryChangedError,
  editionReplacedError,
  isReportDelivery,
  NOTIFIED_STATES,
  noDecisionNeededError,
  nothingToDecideError,
  nothingToRetryError,
  noticeOutdatedError,
  notRetryableError,
  openStates,
  REOPENABLE_STATES,
  RETRYABLE_STATES,
  retryScope,
} from './decision-rules.ts';
import { type DeliveryFilter, type DeliveryPage, queryDeliveries } from './query-deliveries.ts';
import { createReviewDecisions } from './review-decisions.ts';
import { reopenOnce, reopenRun, settleRun } from './settle-run.ts';
import { recoverDeliveryRows } from './undecided-deliveries.ts';

export { DELIVERY_STATES, type DeliveryRow, type DeliveryState, isClosed } from '../../deliver/ledger/ledger.ts';
export type { DeliveryPage };

export type DecisionService = ReturnType<typeof createDecisionService>;

/**
 * Carries out people's decisions about deliveries and ended runs. Each decision is written to the ledger, the archive,
 * the record and the queue, in this order, and then to the audit log. After a crash between two writes, repeating the
 * decision or the reconciler completes it.
 */
export function createDecisionService(deployment: Deployment) {
  const { runs, ledger, queue, noticeOutbox, audit, clock, log } = deployment;
  const archive = createDecisionArchive(deployment);
  const reviews = createReviewDecisions(deployment);

  const requireRecord = async (run: string): Promise<RunRecord> => {
    const record = await runs.get(run);
    if (record !== undefined) return record;
    throw runNotFoundError(run);
  };
  const recover = async (id: string, orgs: readonly string[] | '*'): Promise<DeliveryRow | undefined> => {
    const found = await ledger.find(id);
    if (found !== undefined) return found;
    await recoverDeliveryRows([id], deployment, orgs);
    return ledger.find(id);
  };
  const listDeliveries = async (run: string): Promise<DeliveryRow[]> =>
    (await ledger.list(run)).filter(isReportDelivery);
  /** Returns the rows after the decision. Leaves out rows that have changed meanwhile. */
  const recordDecisions = async (
    rows: readonly DeliveryRow[],
    to: 'sent' | 'pending',
    { by, reason }: DecisionAuthor,
  ): Promise<readonly DeliveryRow[]> => {
    const decision = { to, by, reason, at: clock.now() };
    const resolved: DeliveryRow[] = [];
    for (const row of rows) {
      const decided = await ledger.resolve(row.id, row.epoch, decision);
      if (decided !== undefined) resolved.push(decided);
    }
    await archive.recordDecisions(resolved, decision).catch((thrown: unknown) => {
      const error = toDocketError(thrown).toJSON();
      log.warn('Decision recorded in the ledger, but not archived', { run: rows[0]?.run ?? '', error });
    });
    for (const { id: delivery, run, org, report, target } of resolved) {
      log.info('Delivery resolved', { delivery, run, org, report, target, state: to, who: by, why: reason });
    }
    return resolved;
  };
  const recordDecision = async (row: DeliveryRow, to: 'sent' | 'pending', author: DecisionAuthor) => {
    const [resolved] = await recordDecisions([row], to, author);
    if (resolved === undefined) throw deliveryChangedError(row);
    return resolved;
  };
  const assertNotReplaced = async (run: string): Promise<void> => {
    if (await ledger.isWithdrawn(run)) throw editionReplacedError(run);
  };
  const auditResolved = async (rows: readonly DeliveryRow[], as: 'sent' | 'resend', author: AuditActor) => {
    const why = `${as === 'sent' ? 'declared sent' : 'to be sent again'}: ${author.reason}`;
    const entry = { event: 'delivery.resolved', who: author.by, from: author.from, why } as const;
    for (const { id: delivery, run, org, report } of rows) await audit.record({ ...entry, delivery, run, org, report });
  };
  /** Carries out a decision about a run, then records it in the audit log. */
  const audited =
    (event: AuditEvent, decide: (run: string, author: AuditActor) => Promise<RunRecord>) =>
    async (run: string, author: AuditActor): Promise<RunRecord> => {
      const record = await decide(run, author);
      const { org, report } = record;
      const { by: who, from, reason: why } = author;
      await audit.record({ event, who, from, run, org, report, why });
      return record;
    };

  return {
    find: (delivery: string): Promise<DeliveryRow | undefined> => ledger.find(delivery),

    /** Finds a delivery. If the ledger has lost it, restores it from these organizations' archives. */
    recover,

    page: (filter: DeliveryFilter): Promise<DeliveryPage> => queryDeliveries(filter, deployment),

    /** Returns only the first page. */
    list: async (filter: Omit<DeliveryFilter, 'after'>): Promise<readonly DeliveryRow[]> =>
      (await queryDeliveries(filter, deployment)).deliveries,

    /**
     * `sent`: declares that an `unknown` delivery has arrived. `resend`: sends an `unknown` or `refused` delivery
     * again, with the same Message-ID, and no other delivery of its run. A notice to an owner is sent within a minute.
     * Restores expired ledger rows and records from the archive. Throws `delivery.not_found`, `delivery.conflict`,
     * `run.not_found`.
     */
    resolve: async (delivery: string, as: 'sent' | 'resend', author: AuditActor): Promise<DeliveryRow> => {
      const row = await resolveOne(delivery, as, author);
      await auditResolved([row], as, author);
      return row;
    },

    /**
     * Resolves several deliveries of a run: the given ones, or `all` that are `unknown` except notices to the owner.
     * Changes nothing unless the decision fits each of them. A delivery that changes meanwhile is missing in the
     * result. Reopens the run once. Refuses to resend several deliveries that may have arrived. Throws `run.not_found`,
     * `delivery.not_found`, `delivery.conflict`.
     * @param open the states in which the decision fits: by default those of `resolve`
     */
    resolveMany: async (
      run: string,
      deliveries: readonly string[] | 'all',
      as: 'sent' | 'resend',
      author: AuditActor,
      open: readonly DeliveryState[] = openStates(as),
    ): Promise<readonly DeliveryRow[]> => {
      const rows = await rowsToDecide(run, deliveries);
      const [first] = rows;
      if (first === undefined) throw nothingToDecideError(run);
      assertDecidable(rows, as, open);
      if (as === 'resend') for (const { recipient } of rows) await assertNotDenied(recipient, deployment);
      if (as === 'resend') await assertNotReplaced(run);
      const record = as === 'sent' ? undefined : await archive.restoreRecord(first);
      if (record !== undefined) await archive.assertPublished(record);
      const resolved = await recordDecisions(rows, as === 'sent' ? 'sent' : 'pending', author);
      if (resolved.length === 0) throw deliveryChangedError(first);
      if (record === undefined) await settleRun(run, author, deployment);
      else await continueRun(record, author);
      await auditResolved(resolved, as, author);
      return resolved;
    },

    /**
     * Retries the deliveries that certainly failed, or the whole run if it failed before its files were published. A
     * waiting run begins its next attempt now. Leaves `unknown` deliveries as they are. Throws `run.not_found`,
     * `run.conflict`, `period.not_begun`.
     */
    retry: audited('run.retried', retry),

    /** Sends the files of a held run unchanged. Throws `run.not_found`, `run.conflict`, `period.not_begun`. */
    release: audited('run.released', release),

    /** Stops a run that has not ended; see `cancelRun`. Throws `run.not_found`, `run.conflict`. */
    cancel: audited('run.cancelled', async (id, author) => {
      await cancelReview(id, author);
      const record = await cancelRun(id, author, deployment);
      for (const row of await ledger.list(id)) await expireStaleAttempt(row);
      return record;
    }),
  };

  async function resolveOne(id: string, as: 'sent' | 'resend', author: DecisionAuthor): Promise<DeliveryRow> {
    const found = await recover(id, '*');
    if (found === undefined) {
      throw new DocketError('delivery.not_found', `Delivery ${id} does not exist.`, {
        next: '`docket deliveries` lists the deliveries of recent runs.',
      });
    }
    const row = await expireStaleAttempt(found);
    if (row.target === NOTICE_TARGET && as === 'resend') return resendNotice(row, author);
    const open = openStates(as);
    if (!open.includes(row.state)) throw noDecisionNeededError(row, as, open);
    if (as === 'resend') await assertNotDenied(row.recipient, deployment);
    if (as === 'sent') {
      const resolved = await recordDecision(row, 'sent', author);
      await settleRun(resolved.run, author, deployment);
      return resolved;
    }
    await assertNotReplaced(row.run);
    const record = await archive.restoreRecord(row);
    await archive.assertPublished(record);
    const resolved = await recordDecision(row, 'pending', author);
    await continueRun(record, author);
    return resolved;
  }

  async function retry(id: string, author: DecisionAuthor): Promise<RunRecord> {
    const record = await requireRecord(id);
    if (record.state === 'waiting') return endWait(record, author);
    if (!RETRYABLE_STATES.includes(record.state)) throw notRetryableError(record);
    assertBegun(record, clock.now());
    await assertNotReplaced(id);
    if (record.review !== undefined) await reviews.assertRetryable(record);
    const rows = await listDeliveries(id);
    const refused = rows.filter(({ state }) => state === 'refused');
    if (retryScope(record, rows) === 'nothing') throw nothingToRetryError(record, rows);
    // All recipients must receive the same files, so do not render new ones for the rest.
    if (rows.some(({ state }) => state === 'sent' || state === 'unknown')) await archive.assertPublished(record);
    // Another process may be retrying the run: the one that reopens it has retried it.
    if (refused.length > 0) await recordDecisions(refused, 'pending', author);
    return reopenRun(record, RETRYABLE_STATES, 'retry', author, deployment);
  }

  async function release(id: string, author: DecisionAuthor): Promise<RunRecord> {
    const record = await requireRecord(id);
    if (record.state !== 'held') {
      throw new DocketError('run.conflict', `Run ${id} is not held.`, {
        expected: 'a run in state held',
        got: record.state,
        next: `See \`docket runs show ${id}\`.`,
      });
    }
    if (!record.deliver) {
      throw new DocketError('run.conflict', `Run ${id} was triggered without deliveries.`, {
        next: 'Trigger the report again, with deliveries.',
      });
    }
    assertBegun(record, clock.now());
    // A reviewed run's files are published once nobody has to act any more.
    if (!(await reviews.release(record, author))) {
      await archive.assertPublished(record);
      await archive.release(record, author);
    }
    return reopenRun(record, ['held'], 'release', author, deployment);
  }

  /** Begins a waiting run's next attempt now. It probes a server for which all runs wait. */
  async function endWait(record: RunRecord, { by, reason }: DecisionAuthor): Promise<RunRecord> {
    const { id, org, report, state } = record;
    // Noted before the job is promoted, because the worker reads the note when it takes the run.
    await runs.note(id, { what: 'retry', by, reason, at: clock.now() });
    if (!(await queue.promote(id))) {
      throw new DocketError('run.conflict', `Run ${id} no longer waits: it is queued for a worker, or continues.`, {
        next: `See \`docket runs show ${id}\`.`,
      });
    }
    log.info('Run continues now', { run: id, org, report, state, who: by, why: reason });
    return (await runs.get(id)) ?? record;
  }

  /** Lets a run send its `pending` rows: reopens it, or if it has not ended, leaves them to its next attempt. */
  async function continueRun(record: RunRecord, author: DecisionAuthor): Promise<void> {
    if (REOPENABLE_STATES.includes(record.state))
      await reopenOnce(record, REOPENABLE_STATES, 'resend', author, deployment);
    else if (record.starts === 0) await queue.requeue(record);
  }

  /** For the queue, a run that waits for people has ended: reopen it to cancel it. */
  async function cancelReview(id: string, author: DecisionAuthor): Promise<void> {
    const record = await requireRecord(id);
    const isWaiting = WAITING_STATES.has(record.state);
    if (TERMINAL_STATES.has(record.state) && !isWaiting) return;
    const cancelled = await reviews.cancel(record, author).catch((thrown: unknown) => {
      // A run without a known review is cancelled even while the archive is unavailable.
      if (record.review !== undefined) throw thrown;
      log.warn('The review of a run could not be read', { run: id, error: toDocketError(thrown).toJSON() });
      return false;
    });
    if (cancelled && isWaiting) await reopenOnce(record, [...WAITING_STATES], 'review', author, deployment);
  }

  /** Restores rows that the ledger has lost. */
  async function rowsToDecide(run: string, deliveries: readonly string[] | 'all'): Promise<readonly DeliveryRow[]> {
    const rows = await Promise.all((await listDeliveries(run)).map(expireStaleAttempt));
    if (deliveries === 'all') return rows.filter(({ state }) => state === 'unknown');
    return Promise.all(
      [...new Set(deliveries)].map(async (id) => {
        const row = rows.find((each) => each.id === id) ?? (await recover(id, '*'));
        if (row !== undefined && row.run === run && isReportDelivery(row)) return row;
        throw new DocketError('delivery.not_found', `Run ${run} has no delivery ${id}.`, {
          next: `\`docket deliveries --run ${run}\` lists its deliveries.`,
        });
      }),
    );
  }

  /**
   * If a crashed attempt left a row `sending` in an ended run, marks it `unknown`, so that people can decide about it.
   */
  async function expireStaleAttempt(row: DeliveryRow): Promise<DeliveryRow> {
    if (row.state !== 'sending' || clock.now() - row.at < MAX_ATTEMPT_MS) return row;
    const record = await runs.get(row.run);
    if (record === undefined || !TERMINAL_STATES.has(record.state)) return row;
    await ledger.settle(row.id, row.epoch, 'unknown', INTERRUPTED, clock.now());
    return (await ledger.find(row.id)) ?? row;
  }

  /**
   * Enqueues a notice again, without reopening its run. Also enqueues a `pending` row, because a crash may have come in
   * between.
   */
  async function resendNotice(row: DeliveryRow, author: DecisionAuthor): Promise<DeliveryRow> {
    const record = await requireRecord(row.run);
    const isCurrent = noticeId(row.run, row.recipient, record.state === 'held') === row.id;
    if (!isCurrent || !NOTIFIED_STATES.includes(record.state)) throw noticeOutdatedError(row, record);
    const open: readonly DeliveryState[] = ['unknown', 'refused'];
    if (row.state !== 'pending' && !open.includes(row.state)) throw noDecisionNeededError(row, 'resend', open);
    const resolved = row.state === 'pending' ? row : await recordDecision(row, 'pending', author);
    await noticeOutbox.enqueue({ run: row.run, error: record.error, since: clock.now() });
    return resolved;
  }
}
