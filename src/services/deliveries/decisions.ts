import type { Clock } from '../../base/clock.ts';
import { DocketError, toDocketError } from '../../base/error.ts';
import type { Log } from '../../base/log.ts';
import { assertBegun } from '../../definitions/periods/assert-period.ts';
import {
  type DeliveryRow,
  type DeliveryState,
  INTERRUPTED,
  type Ledger,
  MAX_ATTEMPT_MS,
  NOTICE_TARGET,
  noticeId,
  type Resolution,
} from '../../deliver/ledger/ledger.ts';
import type { RunQueue } from '../../queue/jobs/run-queue.ts';
import { cancelRun } from '../../queue/runs/cancel-run.ts';
import type { NoticeOutbox } from '../../queue/runs/notice-outbox.ts';
import type { RedisRunStore } from '../../queue/runs/run-store.ts';
import type { Reviews } from '../../run/review/load-review.ts';
import {
  type DecisionAuthor,
  type RunDecision,
  type RunOrder,
  type RunRecord,
  type RunState,
  runNotFoundError,
  TERMINAL_STATES,
  WAITING_STATES,
} from '../../run/run-record.ts';
import type { DecisionArchive } from './decision-archive.ts';
import {
  deliveryChangedError,
  isReportDelivery,
  NOTIFIED_STATES,
  noDecisionNeededError,
  nothingToDecideError,
  nothingToRetryError,
  notRetryableError,
  openStates,
  REOPENABLE_STATES,
  RETRYABLE_STATES,
  retryScope,
} from './decision-rules.ts';
import type { DecisionService } from './decision-service.ts';
import { queryDeliveries } from './query-deliveries.ts';
import { createReviewDecisions } from './review-decisions.ts';

export { DELIVERY_STATES, type DeliveryRow, type DeliveryState } from '../../deliver/ledger/ledger.ts';
export type { DecisionService } from './decision-service.ts';
export type { DeliveryPage } from './query-deliveries.ts';

export interface DecisionServicePorts {
  readonly runs: RedisRunStore;
  readonly queue: RunQueue;
  readonly ledger: Ledger;
  readonly noticeOutbox: NoticeOutbox;
  readonly archive: DecisionArchive;
  /** Absent: no run waits for people. */
  readonly reviews?: Reviews | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Each decision is written to the ledger, the archive, the record and the queue, in this order. After a crash between two
 * writes, deciding again or the reconciler completes it.
 */
export function createDecisionService(ports: DecisionServicePorts): DecisionService {
  const { runs, ledger, archive, clock, log } = ports;
  const reviews = createReviewDecisions(ports.reviews, clock);

  const recordOf = async (run: string): Promise<RunRecord> => {
    const record = await runs.get(run);
    if (record !== undefined) return record;
    throw runNotFoundError(run);
  };
  /** Opens an expired record again from the archive; its run continues at the deliveries. */
  const restoreRecord = async (row: DeliveryRow): Promise<RunRecord> => {
    const record = await runs.get(row.run);
    if (record !== undefined) return record;
    const order = await archive.orderOf?.(row);
    if (order === undefined) {
      throw new DocketError('run.not_found', `The record of run ${row.run} has expired.`, {
        expected: 'the record, or the archived files and the definition they were made from',
        next: 'Record the delivery as sent with --sent, or trigger the report again.',
      });
    }
    await assertPublished(order);
    return (await runs.open(order)).record;
  };
  const recover = async (id: string, orgs: readonly string[] | '*'): Promise<DeliveryRow | undefined> => {
    const found = await ledger.find(id);
    if (found !== undefined || archive.recover === undefined) return found;
    await archive.recover(id, orgs);
    return ledger.find(id);
  };
  const deliveriesOf = async (run: string): Promise<DeliveryRow[]> => (await ledger.list(run)).filter(isReportDelivery);
  /** Returns the rows as decided, without those that have changed meanwhile. */
  const recordDecisions = async (
    rows: readonly DeliveryRow[],
    to: Resolution['to'],
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
  const recordDecision = async (row: DeliveryRow, to: Resolution['to'], author: DecisionAuthor) => {
    const [resolved] = await recordDecisions([row], to, author);
    if (resolved === undefined) throw deliveryChangedError(row);
    return resolved;
  };
  const reopen = async (
    run: RunRecord,
    from: readonly RunState[],
    what: RunDecision['what'],
    { by, reason }: DecisionAuthor,
  ): Promise<RunRecord> => {
    const record = await runs.reopen(run.id, from, { what, by, reason, at: clock.now() });
    if (record === undefined) {
      throw new DocketError('run.conflict', `Run ${run.id} has changed in the meantime.`, {
        next: 'Check it with `docket runs show`, then decide again.',
      });
    }
    await ports.queue.requeue(record);
    const { id, org, report, state } = run;
    log.info('Run reopened', { run: id, org, report, stage: what, state, who: by, why: reason });
    return record;
  };
  const assertPublished = async (run: RunOrder): Promise<void> => {
    if (await archive.isPublished(run)) return;
    throw new DocketError('run.conflict', `The files of run ${run.id} are not in the archive.`, {
      expected: 'the files that the other recipients have received',
      next: 'Check DOCKET_ARCHIVE, restore the folder from a backup, or trigger the report again.',
    });
  };

  return {
    find: (delivery) => ledger.find(delivery),

    recover,

    page: (filter) => queryDeliveries(filter, ports),

    list: async (filter) => (await queryDeliveries(filter, ports)).deliveries,

    resolve: async (id, as, author) => {
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
      if (as === 'sent') {
        const resolved = await recordDecision(row, 'sent', author);
        await updateRecord(resolved.run, author);
        return resolved;
      }
      const record = await restoreRecord(row);
      await assertPublished(record);
      const resolved = await recordDecision(row, 'pending', author);
      await continueRun(record, author);
      return resolved;
    },

    resolveMany: async (run, deliveries, as, author) => {
      const rows = await rowsToDecide(run, deliveries);
      const [first] = rows;
      if (first === undefined) throw nothingToDecideError(run);
      const open = openStates(as);
      for (const row of rows) if (!open.includes(row.state)) throw noDecisionNeededError(row, as, open);
      const record = as === 'sent' ? undefined : await restoreRecord(first);
      if (record !== undefined) await assertPublished(record);
      const resolved = await recordDecisions(rows, as === 'sent' ? 'sent' : 'pending', author);
      if (resolved.length === 0) throw deliveryChangedError(first);
      if (record === undefined) await updateRecord(run, author);
      else await continueRun(record, author);
      return resolved;
    },

    retry: async (id, author) => {
      const record = await recordOf(id);
      if (record.state === 'waiting') return endWait(record, author);
      if (!RETRYABLE_STATES.includes(record.state)) throw notRetryableError(record);
      assertBegun(record, clock.now());
      if (record.review !== undefined) await reviews.assertRetryable(record);
      const rows = await deliveriesOf(id);
      const refused = rows.filter(({ state }) => state === 'refused');
      if (retryScope(record, rows) === 'nothing') throw nothingToRetryError(record, rows);
      // All recipients must receive the same files: do not render new ones for the rest.
      if (rows.some(({ state }) => state === 'sent' || state === 'unknown')) await assertPublished(record);
      for (const row of refused) await recordDecision(row, 'pending', author);
      return reopen(record, RETRYABLE_STATES, 'retry', author);
    },

    cancel: async (id, author) => {
      await cancelReview(id, author);
      const record = await cancelRun(id, author, ports);
      for (const row of await ledger.list(id)) await expireStaleAttempt(row);
      return record;
    },

    release: async (id, author) => {
      const record = await recordOf(id);
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
      // The files of a run that waits for people are published when nobody has to be waited for.
      if (!(await reviews.release(record, author))) {
        await assertPublished(record);
        await archive.release(record, { ...author, at: clock.now() });
      }
      return reopen(record, ['held'], 'release', author);
    },
  };

  /** Begins the next attempt of a waiting run now. It probes a server that all runs wait for. */
  async function endWait(record: RunRecord, { by, reason }: DecisionAuthor): Promise<RunRecord> {
    const { id, org, report, state } = record;
    // First: the worker reads it when it takes the run.
    await runs.note(id, { what: 'retry', by, reason, at: clock.now() });
    if (!(await ports.queue.promote(id))) {
      throw new DocketError('run.conflict', `Run ${id} no longer waits: it is in line for a worker, or continues.`, {
        next: `See \`docket runs show ${id}\`.`,
      });
    }
    log.info('Run continues now', { run: id, org, report, state, who: by, why: reason });
    return (await runs.get(id)) ?? record;
  }

  /** Lets a run send the rows that are `pending`: reopened, or at its next attempt if it has not ended. */
  async function continueRun(record: RunRecord, author: DecisionAuthor): Promise<void> {
    if (REOPENABLE_STATES.includes(record.state)) await reopenOnce(record, REOPENABLE_STATES, 'resend', author);
    else if (record.starts === 0) await ports.queue.requeue(record);
  }

  /** A run that waits for people has ended for the queue: it is reopened to be cancelled. */
  async function cancelReview(id: string, author: DecisionAuthor): Promise<void> {
    const record = await recordOf(id);
    const isWaiting = WAITING_STATES.has(record.state);
    if (TERMINAL_STATES.has(record.state) && !isWaiting) return;
    const cancelled = await reviews.cancel(record, author).catch((thrown: unknown) => {
      // A run that is not known to have a review is cancelled also while the archive is away.
      if (record.review !== undefined) throw thrown;
      log.warn('The review of a run could not be read', { run: id, error: toDocketError(thrown).toJSON() });
      return false;
    });
    if (cancelled && isWaiting) await reopenOnce(record, [...WAITING_STATES], 'review', author);
  }

  /** As `reopen`; nothing where another decision has just reopened it. */
  async function reopenOnce(...of: Parameters<typeof reopen>): Promise<void> {
    await reopen(...of).catch(async (thrown: unknown) => {
      const state = (await runs.get(of[0].id))?.state;
      if (toDocketError(thrown).code !== 'run.conflict' || state === undefined || TERMINAL_STATES.has(state))
        throw thrown;
    });
  }

  /** Restores rows that the ledger has lost. */
  async function rowsToDecide(run: string, deliveries: readonly string[] | 'all'): Promise<readonly DeliveryRow[]> {
    const rows = await Promise.all((await deliveriesOf(run)).map(expireStaleAttempt));
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

  /** Marks a row `unknown` that a crashed attempt left `sending` in an ended run, so that it can be decided about. */
  async function expireStaleAttempt(row: DeliveryRow): Promise<DeliveryRow> {
    if (row.state !== 'sending' || clock.now() - row.at < MAX_ATTEMPT_MS) return row;
    const record = await runs.get(row.run);
    if (record === undefined || !TERMINAL_STATES.has(record.state)) return row;
    await ledger.settle(row.id, row.epoch, 'unknown', INTERRUPTED, clock.now());
    return (await ledger.find(row.id)) ?? row;
  }

  /** Enqueues a notice again, without reopening its run. A `pending` row is enqueued as well: a crash may have come in between. */
  async function resendNotice(row: DeliveryRow, author: DecisionAuthor): Promise<DeliveryRow> {
    const record = await recordOf(row.run);
    const isCurrent = noticeId(row.run, row.recipient, record.state === 'held') === row.id;
    if (!isCurrent || !NOTIFIED_STATES.includes(record.state)) {
      throw new DocketError('delivery.conflict', 'The notice is out of date.', {
        where: `delivery ${row.id} to ${row.recipient}`,
        expected: `a run in state ${NOTIFIED_STATES.join(', ')}`,
        got: record.state,
        next: 'The owner is notified again if the run ends badly again. Resolve an unknown notice with --sent.',
      });
    }
    const open: readonly DeliveryState[] = ['unknown', 'refused'];
    if (row.state !== 'pending' && !open.includes(row.state)) throw noDecisionNeededError(row, 'resend', open);
    const resolved = row.state === 'pending' ? row : await recordDecision(row, 'pending', author);
    await ports.noticeOutbox.enqueue({ run: row.run, error: record.error, since: clock.now() });
    return resolved;
  }

  /** Updates the record after a delivery was declared sent. The last open one settles the run. */
  async function updateRecord(id: string, author: DecisionAuthor): Promise<void> {
    const record = await runs.get(id);
    if (record === undefined) return;
    const rows = await deliveriesOf(id);
    const deliveries = rows.map(({ target, recipient, state, detail }) => ({ target, recipient, state, detail }));
    if (rows.length > 0) await runs.update(id, { deliveries });
    if (record.state !== 'partly_delivered' || rows.some(({ state }) => state !== 'sent')) return;
    if (await archive.isPublished(record).catch(() => false))
      await reopenOnce(record, ['partly_delivered'], 'settle', author);
  }
}
