import type { Clock } from '../base/clock.ts';
import { DocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import { ENDED, isInline, type RunRecord } from '../run/record.ts';
import type { Decider } from './decisions.ts';
import type { RunQueue } from './jobs.ts';
import { cancelled, type RedisRunStore } from './run-store.ts';

/** What telling a run to stop needs. */
export interface CancelPorts {
  readonly runs: Pick<RedisRunStore, 'get' | 'update' | 'askToCancel'>;
  readonly queue: Pick<RunQueue, 'remove'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Whoever cancels waits so long, ms, for the worker that has the run: it looks every second. */
const WAIT_MS = 3_000;
const LOOK_MS = 100;

/**
 * Stops a run for good. One that waits ends here and now. One that a worker has in hand is told, stops before its next
 * step – each message that was begun is settled first – and is answered as it is after three seconds at most:
 * `cancel` is set then, and the state may still be `running`. Cancelling what is cancelled changes nothing.
 *
 * Throws `run.not_found`, and `run.conflict` for a run that ended otherwise.
 */
export async function cancelRun(id: string, { by, reason }: Decider, ports: CancelPorts): Promise<RunRecord> {
  const { runs, clock, log } = ports;
  const asked = await runs.askToCancel(id, { by, reason, at: clock.now() });
  if (asked === undefined) {
    throw new DocketError('run.not_found', `There is no record of run ${id}.`, {
      next: '`docket runs` lists what is kept.',
    });
  }
  if (!ENDED.has(asked.state)) {
    log.info('Run told to stop', { run: id, org: asked.org, report: asked.report, who: by, why: reason });
  }
  const until = clock.now() + WAIT_MS;
  for (let record = asked; ; record = (await runs.get(id)) ?? record) {
    if (record.state === 'cancelled') return record;
    if (ENDED.has(record.state)) throw endedOtherwise(record);
    // A worker that is just putting it to sleep lets go of it in a moment.
    if (await endIfIdle(record, ports)) continue;
    if (clock.now() >= until) return record;
    await clock.sleep(LOOK_MS);
  }
}

/** Ends a run that was told to stop and that no worker has in hand; false while one has, or the command that makes it itself. */
export async function endIfIdle(record: RunRecord, { runs, queue, clock, log }: CancelPorts): Promise<boolean> {
  if (record.cancel === null || isInline(record) || !(await queue.remove(record.id))) return false;
  const error = cancelled(record.cancel).toJSON();
  await runs.update(record.id, { state: 'cancelled', error, finishedAt: clock.now(), until: null });
  log.info('Run cancelled', { run: record.id, org: record.org, report: record.report, why: error.message });
  return true;
}

const endedOtherwise = ({ id, state }: RunRecord): DocketError =>
  new DocketError('run.conflict', `The run ${id} has ended already.`, {
    expected: 'a run that is queued, running or waiting',
    got: state,
    next: `See \`docket runs show ${id}\`.`,
  });
