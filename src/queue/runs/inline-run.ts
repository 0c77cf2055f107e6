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
/** How often to check whether the run was cancelled. */
const CANCEL_POLL_INTERVAL_MS = 1_000;
const BATCH_SIZE = 100;

export interface InlineRunPorts {
  readonly runs: RedisRunStore;
  readonly definitions: DefinitionStore;
  readonly leases: InlineLeases;
  readonly live: LiveProgressStore;
  readonly clock: Clock;
  readonly log: Log;
}

/** Executes the run. Returns soon after `signal` aborts. */
export type InlineWork = (context: {
  readonly signal: AbortSignal;
  readonly observe: OnRunEvent;
  readonly confirmLock?: ConfirmLock;
}) => Promise<Outcome<RunResult>>;

/**
 * Executes a run in this process, and records it as workers do (state, progress, end), so that it is listed, its
 * deliveries can be decided, and a worker can retry it. Meanwhile a lease keeps workers away from it. If the lease
 * expires, `failAbandoned` ends the run. Throws `redis.unreachable`.
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
  // The lease comes before the record, because `failAbandoned` finds runs only by their lease.
  await leases.take(id);
  const { record } = await runs.open(order);
  await runs.update(id, { state: 'running', startedAt: clock.now(), starts: 1, attempts: 1 });
  const failed = (error: DocketError) =>
    log.warn('Run progress could not be written', { run: id, error: error.toJSON() });
  const progress = createProgressRecorder(runs, record, { clock, live, failed });
  const stop = new AbortController();
  const finished = new AbortController();
  const watching = watchLease(id, ports, stop, finished.signal);
  const outcome = await work({
    signal: AbortSignal.any([signal, stop.signal]),
    observe: (event) => {
      progress.observe(event);
      observe(event);
    },
    confirmLock: async () => ((await leases.renew(id)) ? LEASE_DURATION_MS : 0),
  }).catch((thrown: unknown): Outcome<RunResult> => fail(toDocketError(thrown)));
  finished.abort(null);
  await watching;
  try {
    if (await isTakenOver(id, runs)) {
      await progress.finish(true);
      return outcome;
    }
    const changes = await progress.finish();
    await runs.update(id, {
      ...changes,
      ...finalFields(outcome, changes.calls ?? record.calls, stop.signal),
      finishedAt: clock.now(),
    });
    await leases.release(id);
  } catch (thrown) {
    // The lease stays: once it has expired, `failAbandoned` ends the record.
    log.error('The end of the run could not be written', { run: id, error: toDocketError(thrown).toJSON() });
  }
  return outcome;
}

/** Whether the run now belongs to workers: its lease expired, it was ended, and a person retried it. */
async function isTakenOver(id: string, runs: RedisRunStore): Promise<boolean> {
  const record = await runs.get(id);
  return record !== undefined && !isInlineRun(record);
}

/** The record's fields for an outcome. */
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

/**
 * Renews the lease and polls for a cancellation, until `finished` aborts. A lost lease or a cancellation aborts `stop`.
 */
async function watchLease(
  id: string,
  { runs, leases, clock }: InlineRunPorts,
  stop: AbortController,
  finished: AbortSignal,
): Promise<void> {
  let renewAt = clock.now() + LEASE_RENEW_INTERVAL_MS;
  for (;;) {
    await clock.sleep(CANCEL_POLL_INTERVAL_MS, finished).catch(() => {});
    if (finished.aborted || stop.signal.aborted) return;
    try {
      if ((await runs.cancelRequested([id])).length > 0) {
        const cancellation = (await runs.get(id))?.cancel;
        if (cancellation) stop.abort(cancelledError(cancellation));
      } else if (clock.now() >= renewAt) {
        renewAt = clock.now() + LEASE_RENEW_INTERVAL_MS;
        if (!(await leases.renew(id))) stop.abort(abandonedError());
      }
    } catch {
      // If Redis is unreachable, the next poll may succeed, and the ledger fails the run if necessary.
    }
  }
}

const abandonedError = (): DocketError =>
  new DocketError('run.abandoned', 'The process of the run stopped, or lost its connection to Redis.', {
    next: '`docket runs show` lists the deliveries; `docket runs retry` continues with the rest on a worker.',
  });

export interface AbandonedPorts {
  readonly runs: RedisRunStore;
  readonly leases: InlineLeases;
  readonly noticeOutbox: NoticeOutbox;
  /** Sets the rows that are being sent to `unknown`, and returns all ledger rows of the run. */
  readonly rowsAtEnd: (order: RunOrder) => Promise<readonly DeliveryRow[]>;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Ends inline runs whose process stopped: as cancelled if that was requested, otherwise as failed with a notice to the
 * owner. Deliveries in progress become `unknown` and need a decision. Run it periodically. Returns how many runs it
 * ended.
 */
export async function failAbandoned(ports: AbandonedPorts): Promise<number> {
  const { leases, log } = ports;
  let ended = 0;
  for (const run of await leases.expired(BATCH_SIZE)) {
    try {
      if (await failIfOpen(run, ports)) ended += 1;
      await leases.release(run);
    } catch (thrown) {
      // The next round tries again.
      log.error('An abandoned run could not be ended', { run, error: toDocketError(thrown).toJSON() });
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
  // The notice comes before the record, so that a crash in between does not lose it.
  if (state === 'failed') await noticeOutbox.enqueue({ run, error, since: clock.now() });
  await runs.update(run, { state, error, deliveries, finishedAt: clock.now(), until: null });
  const { org, report } = record;
  log.error('Abandoned run ended: its process stopped', { run, org, report, state, error });
  return true;
}
