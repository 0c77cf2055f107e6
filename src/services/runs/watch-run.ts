import type { Clock } from '../../base/clock.ts';
import { DocketError, isRedisOutage, toDocketError } from '../../base/error.ts';
import type { LiveProgressStore } from '../../queue/runs/live-progress.ts';
import type { RunSnapshot } from '../../run/live-progress.ts';
import { TERMINAL_STATES } from '../../run/run-record.ts';

export interface WatchRunPorts {
  readonly live: Pick<LiveProgressStore, 'get'>;
  readonly clock: Clock;
  /** For so long, ms, a Redis may be away that answered before. */
  readonly patienceMs?: number;
}

/** Between two looks: one round trip each. */
const WATCH_POLL_INTERVAL_MS = 1_000;
const OUTAGE_TIMEOUT_MS = 60_000;

/**
 * How a run goes on: at once, and whenever its record or what is told of it has changed, until it has ended or `signal` is
 * aborted. One that goes back in line, for another try or because its worker stops, has not ended.
 *
 * Throws `run.not_found` for a run that is not on record, `redis.unreachable`.
 */
export async function* watchRun(
  run: string,
  signal: AbortSignal,
  { live, clock, patienceMs = OUTAGE_TIMEOUT_MS }: WatchRunPorts,
): AsyncGenerator<RunSnapshot, void, void> {
  let shown: string | undefined;
  let answered: number | undefined;
  while (!signal.aborted) {
    const news = await live.get(run).catch((thrown: unknown) => {
      const away = isRedisOutage(toDocketError(thrown));
      if (away && answered !== undefined && clock.now() - answered < patienceMs) return 'away' as const;
      throw thrown;
    });
    if (news === undefined) throw runNotFoundError(run);
    if (news !== 'away') {
      answered = clock.now();
      // What a worker said that died is not what the run is at.
      const now = news.record.state === 'running' ? news : { ...news, live: null };
      const text = JSON.stringify(now);
      if (text !== shown) yield now;
      shown = text;
      if (TERMINAL_STATES.has(now.record.state)) return;
    }
    await clock.sleep(WATCH_POLL_INTERVAL_MS, signal).catch(() => {});
  }
}

const runNotFoundError = (run: string): DocketError =>
  new DocketError('run.not_found', `There is no record of run ${run}.`, { next: '`docket runs` lists what is kept.' });
