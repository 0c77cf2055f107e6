import type { Clock } from '../base/clock.ts';
import { DocketError, toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import { fail, type Outcome } from '../base/outcome.ts';
import type { DeliveryRow } from '../deliver/ledger.ts';
import type { Observe } from '../run/event.ts';
import { ENDED, isInline, type RunOrder, type RunRecord } from '../run/record.ts';
import type { RunResult } from '../run/result.ts';
import { asking } from './connection.ts';
import type { DefinitionStore, FrozenDefinition } from './definition-store.ts';
import { keysOf } from './keys.ts';
import type { LiveRuns } from './live.ts';
import type { OwedNotices } from './owed-notices.ts';
import { recordProgress, resultFields } from './progress.ts';
import type { ConfirmLock } from './run-job.ts';
import { cancelled, type RedisRunStore } from './run-store.ts';
import { type RedisClient, script } from './script.ts';

/** A run whose process has not renewed its lease for so long is taken for dead, ms. */
const LEASE_MS = 120_000;
const RENEW_INTERVAL_MS = 15_000;
/** Between two looks whether the run was cancelled. */
const CANCEL_INTERVAL_MS = 1_000;
const BATCH_SIZE = 100;

/** Which runs are being made by a command, as that says itself. Throws `redis.unreachable`. */
export interface InlineLeases {
  take(run: string): Promise<void>;
  /** False when the lease is gone: the run was given up, or Redis has lost it. */
  renew(run: string): Promise<boolean>;
  release(run: string): Promise<void>;
  /** Runs whose lease has run out. */
  expired(limit: number): Promise<readonly string[]>;
}

// The clock of the server alone decides. KEYS: leases  ARGV: run, ms
const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`;
const TAKE = script(`${NOW}
return redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[2]), ARGV[1])
`);
const RENEW = script(`${NOW}
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[2]), ARGV[1])
return 1
`);
// KEYS: leases  ARGV: limit
const EXPIRED = script(`${NOW}
return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now), 'LIMIT', 0, ARGV[1])
`);

/** @param leaseMs for tests */
export function inlineLeases(
  redis: RedisClient,
  { prefix, leaseMs = LEASE_MS }: { readonly prefix: string; readonly leaseMs?: number },
): InlineLeases {
  const { inline } = keysOf(prefix);
  return {
    take: (run) => asking(redis, async () => void (await TAKE(redis, [inline], [run, leaseMs]))),
    renew: (run) => asking(redis, async () => (await RENEW(redis, [inline], [run, leaseMs])) === 1),
    release: (run) => asking(redis, async () => void (await redis.zrem(inline, run))),
    expired: (limit) =>
      asking(redis, async () => {
        const found = await EXPIRED(redis, [inline], [limit]);
        return Array.isArray(found) ? found.map(String) : [];
      }),
  };
}

export interface InlineRunPorts {
  readonly runs: Pick<RedisRunStore, 'open' | 'get' | 'update' | 'toldToStop'>;
  readonly definitions: Pick<DefinitionStore, 'put'>;
  readonly leases: InlineLeases;
  readonly live: Pick<LiveRuns, 'tell' | 'forget'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** What happens in the run; it is told when to stop by `signal`. */
export type InlineWork = (context: {
  readonly signal: AbortSignal;
  readonly observe: Observe;
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
  { signal, observe }: { readonly signal: AbortSignal; readonly observe: Observe },
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
  const progress = recordProgress(runs, record, { clock, live, failed });
  const stop = new AbortController();
  const over = new AbortController();
  const watching = watchLease(id, ports, stop, over.signal);
  const outcome = await work({
    signal: AbortSignal.any([signal, stop.signal]),
    observe: (event) => {
      progress.observe(event);
      observe(event);
    },
    confirmLock: async () => ((await leases.renew(id)) ? LEASE_MS : 0),
  }).catch((thrown: unknown): Outcome<RunResult> => fail(toDocketError(thrown)));
  over.abort(null);
  await watching;
  try {
    if (await isTakenOver(id, runs)) {
      await progress.ended(true);
      return outcome;
    }
    const told = await progress.ended();
    await runs.update(id, {
      ...told,
      ...endOf(outcome, told.calls ?? record.calls, stop.signal),
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
  return record !== undefined && !isInline(record);
}

/** The last word of the record. */
function endOf(
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
  let renewAt = clock.now() + RENEW_INTERVAL_MS;
  for (;;) {
    await clock.sleep(CANCEL_INTERVAL_MS, over).catch(() => {});
    if (over.aborted || stop.signal.aborted) return;
    try {
      if ((await runs.toldToStop([id])).length > 0) {
        const cancellation = (await runs.get(id))?.cancel;
        if (cancellation) stop.abort(cancelled(cancellation));
      } else if (clock.now() >= renewAt) {
        renewAt = clock.now() + RENEW_INTERVAL_MS;
        if (!(await leases.renew(id))) stop.abort(abandoned());
      }
    } catch {
      // Redis is away: whatever is at stake, the ledger, says so to the run itself. The next look may succeed.
    }
  }
}

const abandoned = (): DocketError =>
  new DocketError('run.abandoned', 'The process that made the run went away, or was cut off from Redis.', {
    next: 'See what was delivered with `docket runs show`; `docket runs retry` has the workers do the rest.',
  });

export interface AbandonedPorts {
  readonly runs: Pick<RedisRunStore, 'get' | 'update'>;
  readonly leases: Pick<InlineLeases, 'expired' | 'release'>;
  readonly owed: Pick<OwedNotices, 'owe'>;
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

async function failIfOpen(run: string, { runs, owed, rowsAtEnd, clock, log }: AbandonedPorts): Promise<boolean> {
  const record = await runs.get(run);
  if (record === undefined || ENDED.has(record.state) || !isInline(record)) return false;
  const rows = await rowsAtEnd(record);
  const deliveries = rows.map(({ target, recipient, state, detail }) => ({ target, recipient, state, detail }));
  const error = (record.cancel === null ? abandoned() : cancelled(record.cancel)).toJSON();
  const state = record.cancel === null ? 'failed' : 'cancelled';
  // Before the record says that it is over: who dies in between must not leave the owner untold.
  if (state === 'failed') await owed.owe({ run, error, since: clock.now() });
  await runs.update(run, { state, error, deliveries, finishedAt: clock.now(), until: null });
  const { org, report } = record;
  log.error('The process of a run went away; the run was ended', { run, org, report, state, error });
  return true;
}
