import { isRedisOutage, toDocketError } from '../../base/error.ts';
import { SECOND_MS } from '../../base/time.ts';
import { isInlineRun, type RunCursor, type RunRecord, TERMINAL_STATES } from '../../run/run-record.ts';
import { cancelIfIdle, type QueuedRuns } from '../runs/cancel-run.ts';

/** A younger run may still be in the middle of being enqueued. */
const MIN_AGE_MS = 30 * SECOND_MS;
/** Runs per scan. */
const BATCH_SIZE = 10_000;

/**
 * Requeues runs without a job: the process that opened them crashed before adding one, or Redis lost the job. Each call
 * scans a batch of the unfinished runs, oldest first, and returns how many it requeued. The next call continues behind
 * it, and starts again after the last run.
 */
export function createOrphanRequeuer(ports: QueuedRuns, batchSize = BATCH_SIZE): () => Promise<number> {
  let after: RunCursor | undefined;
  // Runs in state `running` without a live job, in this round through all runs and in the previous one.
  let suspects = new Set<string>();
  let suspectsBefore = new Set<string>();
  const confirmed = ({ id, state }: RunRecord): boolean => {
    if (state !== 'running' || suspectsBefore.has(id)) return true;
    suspects.add(id);
    return false;
  };
  return async () => {
    if (after === undefined) [suspectsBefore, suspects] = [suspects, new Set()];
    const batch = await ports.runs.unfinished(ports.clock.now() - MIN_AGE_MS, batchSize, after);
    const requeued = await requeueBatch(batch, confirmed, ports);
    after = batch.length < batchSize ? undefined : batch.at(-1);
    return requeued;
  };
}

/** Scans the oldest runs once. Does not wait a round to confirm running ones. */
export const requeueOrphans = async (ports: QueuedRuns): Promise<number> =>
  requeueBatch(await ports.runs.unfinished(ports.clock.now() - MIN_AGE_MS, BATCH_SIZE), () => true, ports);

/**
 * @param confirmed whether to requeue a running run without a live job. A worker that lost its lock notices that within
 * half a minute. Until then it continues the run, and no other worker may start it.
 */
async function requeueBatch(
  open: readonly RunCursor[],
  confirmed: (record: RunRecord) => boolean,
  ports: QueuedRuns,
): Promise<number> {
  const { runs, queue, log } = ports;
  if (open.length === 0) return 0;
  /** An unreadable record must not block the others. Its worker, or a newer Docket's, ends it. */
  const each = async (id: string, step: (record: RunRecord) => Promise<void>): Promise<void> => {
    try {
      const record = await runs.get(id);
      if (record !== undefined && !TERMINAL_STATES.has(record.state)) await step(record);
    } catch (thrown) {
      const error = toDocketError(thrown);
      if (isRedisOutage(error)) throw error;
      log.error('A run could not be requeued', { run: id, error: error.toJSON() });
    }
  };
  // Runs that snoozed at the moment when their cancellation was requested.
  for (const id of await runs.cancelRequested(open.map((run) => run.id))) {
    await each(id, async (record) => {
      await cancelIfIdle(record, ports);
    });
  }
  let requeued = 0;
  for (const id of await queue.findOrphaned(open.map((run) => run.id))) {
    // Read after the queue: a run that ended in between has written its record first.
    await each(id, async (record) => {
      // Inline runs have no job. `failAbandoned` ends those whose process stopped.
      if (record.cancel !== null || isInlineRun(record) || !confirmed(record)) return;
      if (record.state !== 'queued') await runs.update(id, { state: 'queued', until: null });
      await queue.requeue(record);
      requeued += 1;
      log.warn('Orphaned run requeued', { run: id, org: record.org, report: record.report });
    });
  }
  return requeued;
}
