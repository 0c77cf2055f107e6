import type { Clock } from '../base/clock.ts';
import { DocketError, toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import {
  DEAD_MS,
  type DeliveryRow,
  type DeliveryState,
  INTERRUPTED,
  type Ledger,
  NOTICE_TARGET,
  noticeId,
  type Resolution,
} from '../deliver/ledger.ts';
import { ENDED, type Reopening, type RunOrder, type RunRecord, type RunState } from '../run/record.ts';
import { cancelRun } from './cancel.ts';
import { type DeliveryFilter, type DeliveryPage, pageOfDeliveries } from './delivery-page.ts';
import type { RunQueue } from './jobs.ts';
import type { OwedNotices } from './owed-notices.ts';
import { RETRYABLE, retryScope } from './retry-scope.ts';
import type { RedisRunStore } from './run-store.ts';

export { DELIVERY_STATES, type DeliveryRow, type DeliveryState } from '../deliver/ledger.ts';
export type { DeliveryFilter, DeliveryPage } from './delivery-page.ts';

/** Who decides, and why: kept with the decision. */
export interface Decider {
  readonly by: string;
  readonly reason: string;
}

/** What a person may decide about deliveries and runs that have ended. */
export interface Decisions {
  find(delivery: string): Promise<DeliveryRow | undefined>;
  /** As `find`; a delivery that the ledger has lost is put back from the archive of these organizations, which may be searched. */
  recover(delivery: string, orgs: readonly string[] | '*'): Promise<DeliveryRow | undefined>;
  page(filter: DeliveryFilter): Promise<DeliveryPage>;
  /** The first page alone. */
  list(filter: Omit<DeliveryFilter, 'after'>): Promise<readonly DeliveryRow[]>;
  /**
   * `sent`: an `unknown` delivery has arrived. `resend`: an `unknown` or `refused` one is sent again, with the same
   * Message-ID, and no other delivery of its run; a notice to an owner leaves within a minute. What the ledger and the
   * record have forgotten is taken from the archive. Throws `delivery.not_found`, `delivery.conflict`, `run.not_found`.
   */
  resolve(delivery: string, as: 'sent' | 'resend', who: Decider): Promise<DeliveryRow>;
  /**
   * Tries again what surely did not arrive, or the whole run when it failed before its files were made. Deliveries that
   * are `unknown` stay so. Throws `run.not_found`, `run.conflict`.
   */
  retry(run: string, who: Decider): Promise<RunRecord>;
  /** Sends a held pack as it is. Throws `run.not_found`, `run.conflict`. */
  release(run: string, who: Decider): Promise<RunRecord>;
  /** Stops a run that has not ended: see `cancelRun`. Throws `run.not_found`, `run.conflict`. */
  cancel(run: string, who: Decider): Promise<RunRecord>;
}

export interface DecisionPorts {
  readonly runs: Pick<RedisRunStore, 'open' | 'get' | 'list' | 'update' | 'reopen' | 'askToCancel'>;
  readonly queue: Pick<RunQueue, 'revive' | 'remove'>;
  readonly ledger: Ledger;
  readonly owed: Pick<OwedNotices, 'owe'>;
  readonly archive: {
    /** Whether the run's files are there and what they were. Throws `archive.corrupt`. */
    readonly sealed: (order: RunOrder) => Promise<boolean>;
    /** Keeps a decision beside the run's files, if they are there. */
    readonly keep: (row: DeliveryRow, decision: Resolution) => Promise<void>;
    readonly release: (order: RunOrder, who: Decider & { readonly at: number }) => Promise<void>;
    /** Puts back what the ledger has lost of the run that the delivery is of, should the archive have it. */
    readonly recover?: (delivery: string, orgs: readonly string[] | '*') => Promise<void>;
    /** The order of an archived run whose record is gone; undefined where the archive or its definition is gone, too. */
    readonly orderOf?: (row: DeliveryRow) => Promise<RunOrder | undefined>;
  };
  readonly clock: Clock;
  readonly log: Log;
}

const OVER: readonly RunState[] = ['done', 'partly_delivered', 'cancelled', 'failed'];
/** Ends of which the owner is told. */
const TOLD: readonly RunState[] = ['partly_delivered', 'held', 'failed'];

/**
 * Each decision is written in the order that a crash may interrupt: the ledger, the archive, the record, the queue. What
 * is missing after one is done by deciding again, or by the reconciler.
 */
export function decisions(ports: DecisionPorts): Decisions {
  const { runs, ledger, archive, clock, log } = ports;

  const recordOf = async (run: string): Promise<RunRecord> => {
    const record = await runs.get(run);
    if (record !== undefined) return record;
    throw new DocketError('run.not_found', `There is no record of run ${run}.`, {
      next: '`docket runs` lists what is kept.',
    });
  };
  /** The record of an archived run that was forgotten begins anew, at its deliveries: nobody has it in hand yet. */
  const restoredOf = async (row: DeliveryRow): Promise<RunRecord> => {
    const record = await runs.get(row.run);
    if (record !== undefined) return record;
    const order = await archive.orderOf?.(row);
    if (order === undefined) {
      throw new DocketError('run.not_found', `The record of run ${row.run} is no longer kept.`, {
        expected: 'the record, or the archived files and the version of the definition that made them',
        next: 'Declare the delivery sent with --sent, or trigger the report again.',
      });
    }
    await requireFiles(order);
    return (await runs.open(order)).record;
  };
  const recover = async (id: string, orgs: readonly string[] | '*'): Promise<DeliveryRow | undefined> => {
    const found = await ledger.find(id);
    if (found !== undefined || archive.recover === undefined) return found;
    await archive.recover(id, orgs);
    return ledger.find(id);
  };
  const deliveriesOf = async (run: string): Promise<DeliveryRow[]> =>
    (await ledger.list(run)).filter(({ target }) => target !== NOTICE_TARGET);
  const decide = async (row: DeliveryRow, to: Resolution['to'], { by, reason }: Decider): Promise<DeliveryRow> => {
    const decision = { to, by, reason, at: clock.now() };
    const decided = await ledger.resolve(row.id, row.epoch, decision);
    if (decided === undefined) throw changed(row);
    await archive.keep(decided, decision).catch((thrown: unknown) => {
      const of = { delivery: row.id, run: row.run, error: toDocketError(thrown).toJSON() };
      log.warn('A decision about a delivery is in the ledger, but could not be archived', of);
    });
    const { id: delivery, run, org, report, target } = row;
    log.info('Delivery resolved', { delivery, run, org, report, target, state: to, who: by, why: reason });
    return decided;
  };
  const reopen = async (
    run: RunRecord,
    from: readonly RunState[],
    what: Reopening['what'],
    { by, reason }: Decider,
  ): Promise<RunRecord> => {
    const record = await runs.reopen(run.id, from, { what, by, reason, at: clock.now() });
    if (record === undefined) {
      throw new DocketError('run.conflict', `The run ${run.id} is not what it was a moment ago.`, {
        next: 'Look at it again with `docket runs show`, and decide anew.',
      });
    }
    await ports.queue.revive(record);
    const { id, org, report, state } = run;
    log.info('Run reopened', { run: id, org, report, stage: what, state, who: by, why: reason });
    return record;
  };
  const requireFiles = async (run: RunOrder): Promise<void> => {
    if (await archive.sealed(run)) return;
    throw new DocketError('run.conflict', `The files of run ${run.id} are not in the archive (any more).`, {
      expected: 'the very files that the others have got',
      next: 'Look at DOCKET_ARCHIVE, restore the folder from a backup, or trigger the report again.',
    });
  };

  return {
    find: (delivery) => ledger.find(delivery),

    recover,

    page: (filter) => pageOfDeliveries(filter, ports),

    list: async (filter) => (await pageOfDeliveries(filter, ports)).deliveries,

    resolve: async (id, as, who) => {
      const found = await recover(id, '*');
      if (found === undefined) {
        throw new DocketError('delivery.not_found', `There is no delivery ${id}.`, {
          next: '`docket deliveries` lists those of recent runs.',
        });
      }
      const row = await withoutDeadAttempt(found);
      if (row.target === NOTICE_TARGET && as === 'resend') return resendNotice(row, who);
      const open: readonly DeliveryState[] = as === 'sent' ? ['unknown'] : ['unknown', 'refused'];
      if (!open.includes(row.state)) throw notOpen(row, as, open);
      if (as === 'sent') {
        const decided = await decide(row, 'sent', who);
        await tellRecord(decided.run, who);
        return decided;
      }
      const record = await restoredOf(row);
      await requireFiles(record);
      const decided = await decide(row, 'pending', who);
      // A run that is still at it sends the row at its next try by itself.
      if (OVER.includes(record.state)) await reopen(record, OVER, 'resend', who);
      else if (record.starts === 0) await ports.queue.revive(record);
      return decided;
    },

    retry: async (id, who) => {
      const record = await recordOf(id);
      if (!RETRYABLE.includes(record.state)) throw notFailed(record);
      const rows = await deliveriesOf(id);
      const refused = rows.filter(({ state }) => state === 'refused');
      if (retryScope(record.state, rows) === 'nothing') {
        const unknown = rows.filter(({ state }) => state === 'unknown').length;
        throw new DocketError(
          'run.conflict',
          `There is nothing to retry of run ${id}: no delivery of it is known not to have arrived.`,
          {
            got: `${unknown} ${unknown === 1 ? 'delivery' : 'deliveries'} that may have arrived`,
            next: `Ask their recipients, then \`docket deliveries resolve\`; \`docket deliveries --run ${id}\` lists them.`,
          },
        );
      }
      // Whoever has it already has those files: a new pack of other figures must not go to the rest.
      if (rows.some(({ state }) => state === 'sent' || state === 'unknown')) await requireFiles(record);
      for (const row of refused) await decide(row, 'pending', who);
      return reopen(record, RETRYABLE, 'retry', who);
    },

    cancel: async (id, who) => {
      const record = await cancelRun(id, who, ports);
      for (const row of await ledger.list(id)) await withoutDeadAttempt(row);
      return record;
    },

    release: async (id, who) => {
      const record = await recordOf(id);
      if (record.state !== 'held') {
        throw new DocketError('run.conflict', `The run ${id} is not held.`, {
          expected: 'a run in state held',
          got: record.state,
          next: `See \`docket runs show ${id}\`.`,
        });
      }
      if (!record.deliver) {
        throw new DocketError('run.conflict', `The run ${id} was asked to deliver nothing.`, {
          next: 'Trigger the report again, with deliveries.',
        });
      }
      await requireFiles(record);
      await archive.release(record, { ...who, at: clock.now() });
      return reopen(record, ['held'], 'release', who);
    },
  };

  /** What an attempt that died has left in a run that no worker will look at again is `unknown`: somebody may decide. */
  async function withoutDeadAttempt(row: DeliveryRow): Promise<DeliveryRow> {
    if (row.state !== 'sending' || clock.now() - row.at < DEAD_MS) return row;
    const record = await runs.get(row.run);
    if (record === undefined || !ENDED.has(record.state)) return row;
    await ledger.settle(row.id, row.epoch, 'unknown', INTERRUPTED, clock.now());
    return (await ledger.find(row.id)) ?? row;
  }

  /** No run is tried again for a notice: it is owed once more. One that is owed already stays so: a crash may have come between. */
  async function resendNotice(row: DeliveryRow, who: Decider): Promise<DeliveryRow> {
    const record = await recordOf(row.run);
    const tells = noticeId(row.run, row.recipient, record.state === 'held') === row.id;
    if (!tells || !TOLD.includes(record.state)) {
      throw new DocketError('delivery.conflict', 'What the notice says is true no longer.', {
        where: `delivery ${row.id} to ${row.recipient}`,
        expected: `a run in state ${TOLD.join(', ')}`,
        got: record.state,
        next: 'If it comes to a bad end again, its owner is told again. Settle an unknown notice with --sent.',
      });
    }
    const open: readonly DeliveryState[] = ['unknown', 'refused'];
    if (row.state !== 'pending' && !open.includes(row.state)) throw notOpen(row, 'resend', open);
    const decided = row.state === 'pending' ? row : await decide(row, 'pending', who);
    await ports.owed.owe({ run: row.run, error: record.error, since: clock.now() });
    return decided;
  }

  /** The record follows a delivery that was declared sent; with the last one, the run comes to its proper end. */
  async function tellRecord(id: string, who: Decider): Promise<void> {
    const record = await runs.get(id);
    if (record === undefined) return;
    const rows = await deliveriesOf(id);
    const deliveries = rows.map(({ target, recipient, state, detail }) => ({ target, recipient, state, detail }));
    if (rows.length > 0) await runs.update(id, { deliveries });
    if (record.state !== 'partly_delivered' || rows.some(({ state }) => state !== 'sent')) return;
    if (await archive.sealed(record).catch(() => false)) await reopen(record, ['partly_delivered'], 'settle', who);
  }
}

const changed = ({ id }: DeliveryRow): DocketError =>
  new DocketError('delivery.conflict', `The delivery ${id} is not what it was a moment ago.`, {
    next: 'Look at it again with `docket deliveries`, and decide anew.',
  });

function notOpen(row: DeliveryRow, as: 'sent' | 'resend', open: readonly DeliveryState[]): DocketError {
  return new DocketError('delivery.conflict', `The delivery ${row.id} waits for no such decision.`, {
    where: `delivery ${row.id} to ${row.recipient}`,
    expected: `${open.join(' or ')}, to ${as === 'sent' ? 'be declared sent' : 'be sent again'}`,
    got: row.state,
    next: {
      pending: `It is tried again by itself, or by \`docket runs retry ${row.run}\` when its run has ended.`,
      sending: 'It is being sent just now: look again in a minute.',
      sent: 'It has arrived; a new run of the report sends a new pack.',
      refused: 'The target did not take it. Correct what it says, then decide for --resend.',
      unknown: 'Look at it again.',
    }[row.state],
  });
}

function notFailed({ id, state }: RunRecord): DocketError {
  const next =
    state === 'held'
      ? `\`docket runs release ${id}\` sends it as it is.`
      : state === 'done'
        ? 'Everything was delivered; trigger the report again for new figures.'
        : 'It is still at it, and tries again by itself.';
  return new DocketError('run.conflict', `There is nothing to retry of run ${id}.`, {
    expected: `a run in state ${RETRYABLE.join(', ')}`,
    got: state,
    next,
  });
}
