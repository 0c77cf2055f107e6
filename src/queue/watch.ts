import type { Clock } from '../base/clock.ts';
import { DocketError, isRedisOutage, toDocketError } from '../base/error.ts';
import type { RunNews } from '../run/live.ts';
import { ENDED } from '../run/record.ts';
import type { LiveRuns } from './live.ts';

export interface WatchPorts {
  readonly live: Pick<LiveRuns, 'read'>;
  readonly clock: Clock;
  /** For so long, ms, a Redis may be away that answered before. */
  readonly patienceMs?: number;
}

/** Between two looks: one round trip each. */
const LOOK_MS = 1_000;
const PATIENCE_MS = 60_000;

/**
 * How a run goes on: at once, and whenever its record or what is told of it has changed, until it has ended or `signal` is
 * aborted. One that goes back in line, for another try or because its worker stops, has not ended.
 *
 * Throws `run.not_found` for a run that is not on record, `redis.unreachable`.
 */
export async function* watchRun(
  run: string,
  signal: AbortSignal,
  { live, clock, patienceMs = PATIENCE_MS }: WatchPorts,
): AsyncGenerator<RunNews, void, void> {
  let shown: string | undefined;
  let answered: number | undefined;
  while (!signal.aborted) {
    const news = await live.read(run).catch((thrown: unknown) => {
      const away = isRedisOutage(toDocketError(thrown));
      if (away && answered !== undefined && clock.now() - answered < patienceMs) return 'away' as const;
      throw thrown;
    });
    if (news === undefined) throw notOnRecord(run);
    if (news !== 'away') {
      answered = clock.now();
      // What a worker said that died is not what the run is at.
      const now = news.record.state === 'running' ? news : { ...news, live: null };
      const text = JSON.stringify(now);
      if (text !== shown) yield now;
      shown = text;
      if (ENDED.has(now.record.state)) return;
    }
    await clock.sleep(LOOK_MS, signal).catch(() => {});
  }
}

const notOnRecord = (run: string): DocketError =>
  new DocketError('run.not_found', `There is no record of run ${run}.`, { next: '`docket runs` lists what is kept.' });
