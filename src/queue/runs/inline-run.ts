import type { Clock } from '../../base/clock.ts';
import { DocketError, toDocketError } from '../../base/error.ts';
import type { Log } from '../../base/log.ts';
import { fail, type Outcome } from '../../base/outcome.ts';
import type { DeliveryRow } from '../../deliver/ledger/ledger.ts';
import type { OnRunEvent } from '../../run/run-events.ts';
import { isInlineRun, type RunOrder, type RunRecord, TERMINAL_STATES } from '../../run/run-record.ts';
import type { RunResult } from '../../run/run-result.ts';
import type { DefinitionStore, FrozenDefinition } from '../definitions/definition-store.ts';
import type { ConfirmLock } from '../jobs/process-job.ts';
import { type InlineLeases, LEASE_DURATION_MS } from './inline-leases.ts';
import type { LiveProgressStore } from './live-progress.ts';
import type { NoticeOutbox } from './notice-outbox.ts';
import { createProgressRecorder, resultFields } from './progress-recorder.ts';
import { cancelledError, type RedisRunStore } from './run-store.ts';

const LEASE_RENEW_INTERVAL_MS = 15_000;
/** Between two looks whether the run was cancelled. */
const CANCEL_POLL_INTERVAL_MS = 1_000;
const BATCH_SIZE = 100;

export interface InlineRunPorts {
  readonly runs: Pick<RedisRunStore, 'open' | 'get' | 'update' | 'cancelRequested'>;
  readonly definitions: Pick<DefinitionStore, 'put'>;
  readonly leases: InlineLeases;
  readonly live: Pick<LiveProgressStore, 'put' | 'delete'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** What happens in the run; it is told when to stop by `signal`. */
export type InlineWork = (context: {
  readonly signal: AbortSignal;
  readonly observe: OnRunEvent;
  readonly confirmLock?: ConfirmLock;
}) => Promise<Outcome<RunResult>>;

/**
 * Makes a run in this process and keeps it on record as workers do: its state, progress and end, so that it is listed, its
 * deliveries can be decided about, and what is missing can be retried by a worker. No worker takes it up meanwhile: a lease says
 * that this process is at it, and `failAbandoned` ends the run when nobody renews it. Throws `redis.unreachable`.
 */
export async function recordInlineRun(
  order: RunOrder,
  frozen: FrozenDefinition,
  ports: InlineRunPorts,
  { signal, observe }: { readonly signal: AbortSignal; readonly observe: OnRunEvent },
  work: InlineWork,
): Promise<Outcome<RunResult>> {
  const { runs, definitions, leases, live, clock, log } = ports;
  const { id } = order;
  await definitions.put(frozen);
  // Before the record: one without a lease would be nobody's.
  await leases.take(id);
  const { record } = await runs.open(order);
  await runs.update(id, { state: 'running', startedAt: clock.now(), starts: 1, attempts: 1 });
  const failed = (error: DocketError) =>
    log.warn('The progress of the run could not be written down', { run: id, error: error.toJSON() });
  const progress = createProgressRecorder(runs, record, { clock, live, failed });
  const stop = new AbortController();
  const over = new AbortController();
  const watching = watchLease(id, ports, stop, over.signal);
  const outcome = await work({
    signal: AbortSignal.any([signal, stop.signal]),
    observe: (event) => {
      progress.observe(event);
      observe(event);
    },
    confirmLock: async () => ((await leases.renew(id)) ? LEASE_DURATION_MS : 0),
  }).catch((thrown: unknown): Outcome<RunResult> => fail(toDocketError(thrown)));
  over.abort(null);
  await watching;
  try {
    if (await isTakenOver(id, runs)) {
      await progress.finish(true);
      return outcome;
    }
    const told = await progress.finish();
    await runs.update(id, {
      ...told,
      ...finalFields(outcome, told.calls ?? record.calls, stop.signal),
      finishedAt: clock.now(),
    });
    await leases.release(id);
  } catch (thrown) {
    // What happened has happened; the lease stays, and whoever finds it run out ends the record.
    log.error('The end of the run could not be written down', { run: id, error: toDocketError(thrown).toJSON() });
  }
  return outcome;
}

/** Whether the record is the workers' by now: the lease ran out, the run was ended, and somebody had it retried. */
async function isTakenOver(id: string, runs: Pick<RedisRunStore, 'get'>): Promise<boolean> {
  const record = await runs.get(id);
  return record !== undefined && !isInlineRun(record);
}

/** The last word of the record. */
function finalFields(
  outcome: Outcome<RunResult>,
  calls: RunRecord['calls'],
  stop: AbortSignal,
): Parameters<RedisRunStore['update']>[1] {
  if (outcome.kind === 'done') {
    const planned = Math.max(calls.planned, outcome.value.calls.length);
    return resultFields(outcome.value, { ...calls, planned });
  }
  if (outcome.kind === 'fail') return { state: 'failed', error: outcome.error.toJSON(), until: null };
  const error = stop.aborted ? toDocketError(stop.reason) : new DocketError('run.cancelled', outcome.why);
  return { state: 'cancelled', error: error.toJSON(), until: null };
}

/** Renews the lease and looks whether somebody has cancelled the run, until it is over. */
async function watchLease(
  id: string,
  { runs, leases, clock }: InlineRunPorts,
  stop: AbortController,
  over: AbortSignal,
): Promise<void> {
  let renewAt = clock.now() + LEASE_RENEW_INTERVAL_MS;
  for (;;) {
    await clock.sleep(CANCEL_POLL_INTERVAL_MS, over).catch(() => {});
    if (over.aborted || stop.signal.aborted) return;
    try {
      if ((await runs.cancelRequested([id])).length > 0) {
        const cancellation = (await runs.get(id))?.cancel;
        if (cancellation) stop.abort(cancelledError(cancellation));
      } else if (clock.now() >= renewAt) {
        renewAt = clock.now() + LEASE_RENEW_INTERVAL_MS;
        if (!(await leases.renew(id))) stop.abort(abandonedError());
      }
    } catch {
      // Redis is away: whatever is at stake, the ledger, says so to the run itself. The next look may succeed.
    }
  }
}

const abandonedError = (): DocketError =>
  new DocketError('run.abandoned', 'The process that made the run went away, or was cut off from Redis.', {
    next: 'See what was delivered with `docket runs show`; `docket runs retry` has the workers do the rest.',
  });

export interface AbandonedPorts {
  readonly runs: Pick<RedisRunStore, 'get' | 'update'>;
  readonly leases: Pick<InlineLeases, 'expired' | 'release'>;
  readonly noticeOutbox: Pick<NoticeOutbox, 'enqueue'>;
  /** The run's rows, what a dead process was sending now `unknown`. */
  readonly rowsAtEnd: (order: RunOrder) => Promise<readonly DeliveryRow[]>;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Ends the runs of commands that died: as failed, with their owner told, or as cancelled where that was asked for. What was
 * being sent becomes `unknown`, for somebody to decide. A step of the reconciler; returns how many runs it ended.
 */
export async function failAbandoned(ports: AbandonedPorts): Promise<number> {
  const { leases, log } = ports;
  let ended = 0;
  for (const run of await leases.expired(BATCH_SIZE)) {
    try {
      if (await failIfOpen(run, ports)) ended += 1;
      await leases.release(run);
    } catch (thrown) {
      // It must not hold up the others; the next round tries it again.
      log.error('A run whose process went away could not be ended', { run, error: toDocketError(thrown).toJSON() });
    }
  }
  return ended;
}

async function failIfOpen(
  run: string,
  { runs, noticeOutbox, rowsAtEnd, clock, log }: AbandonedPorts,
): Promise<boolean> {
  const record = await runs.get(run);
  if (record === undefined || TERMINAL_STATES.has(record.state) || !isInlineRun(record)) return false;
  const rows = await rowsAtEnd(record);
  const deliveries = rows.map(({ target, recipient, state, detail }) => ({ target, recipient, state, detail }));
  const error = (record.cancel === null ? abandonedError() : cancelledError(record.cancel)).toJSON();
  const state = record.cancel === null ? 'failed' : 'cancelled';
  // Before the record says that it is over: who dies in between must not leave the owner untold.
  if (state === 'failed') await noticeOutbox.enqueue({ run, error, since: clock.now() });
  await runs.update(run, { state, error, deliveries, finishedAt: clock.now(), until: null });
  const { org, report } = record;
  log.error('The process of a run went away; the run was ended', { run, org, report, state, error });
  return true;
}
