import type { Clock } from '../base/clock.ts';
import { isRedisOutage, toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import { ENDED, isInline, type RunPosition, type RunRecord } from '../run/record.ts';
import { endIfIdle } from './cancel.ts';
import type { RunQueue } from './jobs.ts';
import type { RedisRunStore } from './run-store.ts';

/** A run this young may still be on its way into the queue. */
const YOUNG_MS = 30_000;
/** Runs that one look goes through. */
const BATCH_SIZE = 10_000;

export interface RequeuePorts {
  readonly runs: RedisRunStore;
  readonly queue: RunQueue;
  readonly clock: Clock;
  readonly log: Log;
  readonly batchSize?: number;
}

/**
 * Puts runs in line again that are on record but have no job: the process that opened them died before it added one,
 * or Redis lost the job. Each look goes through so many runs that have not ended, the oldest first, and the next one goes
 * on behind them, until all were looked at and it begins anew. A look returns how many it put in line.
 */
export function requeuer({ batchSize = BATCH_SIZE, ...ports }: RequeuePorts): () => Promise<number> {
  let after: RunPosition | undefined;
  // Running, without a live job: in this round through all runs, and in the one before.
  let suspects = new Set<string>();
  let suspectsBefore = new Set<string>();
  const confirmed = ({ id, state }: RunRecord): boolean => {
    if (state !== 'running' || suspectsBefore.has(id)) return true;
    suspects.add(id);
    return false;
  };
  return async () => {
    if (after === undefined) [suspectsBefore, suspects] = [suspects, new Set()];
    const batch = await ports.runs.unfinished(ports.clock.now() - YOUNG_MS, batchSize, after);
    const requeued = await requeueBatch(batch, confirmed, ports);
    after = batch.length < batchSize ? undefined : batch.at(-1);
    return requeued;
  };
}

/** One look at the oldest runs, which takes each at its word. */
export const requeueLost = async ({ batchSize = BATCH_SIZE, ...ports }: RequeuePorts): Promise<number> =>
  requeueBatch(await ports.runs.unfinished(ports.clock.now() - YOUNG_MS, batchSize), () => true, ports);

/**
 * @param confirmed whether a run without a live job is to be put in line. A worker whose lock was lost notices it within
 * half a minute: until then it goes on with its run, which nobody else is to begin.
 */
async function requeueBatch(
  open: readonly RunPosition[],
  confirmed: (record: RunRecord) => boolean,
  ports: Omit<RequeuePorts, 'batchSize'>,
): Promise<number> {
  const { runs, queue, log } = ports;
  if (open.length === 0) return 0;
  /** One record that cannot be read must not hold up the others; its worker, or a newer Docket's, has to end it. */
  const each = async (id: string, step: (record: RunRecord) => Promise<void>): Promise<void> => {
    try {
      const record = await runs.get(id);
      if (record !== undefined && !ENDED.has(record.state)) await step(record);
    } catch (thrown) {
      const error = toDocketError(thrown);
      if (isRedisOutage(error)) throw error;
      log.error('A run could not be put in line again', { run: id, error: error.toJSON() });
    }
  };
  // One that was put to sleep at the very moment at which it was told to stop.
  for (const id of await runs.toldToStop(open.map((run) => run.id))) {
    await each(id, async (record) => {
      await endIfIdle(record, ports);
    });
  }
  let revived = 0;
  for (const id of await queue.lost(open.map((run) => run.id))) {
    // Read after the look into the queue: a run that ended in between has said so in its record first.
    await each(id, async (record) => {
      // A command that makes its run itself never had a job; `failAbandoned` sees to one that died.
      if (record.cancel !== null || isInline(record) || !confirmed(record)) return;
      if (record.state !== 'queued') await runs.update(id, { state: 'queued', until: null });
      await queue.revive(record);
      revived += 1;
      log.warn('A run without a job was put in line again', { run: id, org: record.org, report: record.report });
    });
  }
  return revived;
}

/**
 * Calls each step at once and then every minute until it is closed. A step that fails is logged and comes again; the
 * others go on.
 */
export function startReconciler(options: {
  readonly steps: readonly (() => Promise<unknown>)[];
  readonly clock: Clock;
  readonly log: Log;
  readonly everyMs?: number;
}): { wake(): void; close(): Promise<void> } {
  const { steps, clock, log, everyMs = 60_000 } = options;
  const closing = new AbortController();
  let woken = false;
  let wake: () => void = () => {};
  const sleep = async (): Promise<void> => {
    const waking = new AbortController();
    wake = () => waking.abort();
    if (!woken) await clock.sleep(everyMs, AbortSignal.any([waking.signal, closing.signal])).catch(() => {});
    woken = false;
  };
  const loop = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      for (const step of steps) {
        if (closing.signal.aborted) return;
        try {
          await step();
        } catch (thrown) {
          log.error('The reconciler failed and will try again', { error: toDocketError(thrown).toJSON() });
        }
      }
      await sleep();
    }
  };
  const running = loop();
  return {
    /** Calls the steps again at once, or when those under way are over. */
    wake: () => {
      woken = true;
      wake();
    },
    close: async () => {
      closing.abort();
      await running;
    },
  };
}
