import type { Clock } from '../../base/clock.ts';
import type { ForecastRun } from './forecast-run.ts';

/** A run on its way through the line. */
export interface WaitingRun {
  readonly run: ForecastRun;
  /** The round in which it is served; 0 before all that have not begun. */
  round: number;
  /** Runs of a round are served in the order of their arrival. */
  arrival: number;
  hasBegun: boolean;
}

/** Rounds that a returning run may wait. Then it comes before all others. */
const MAX_LATE_ROUNDS = 16;
/** Rounds start again when nobody waits for this long, ms, after the last run came. */
const RESTART_MS = 500;

/**
 * The order of runs: organizations take turns, and the runs of one come in the order in which readers expect them. The
 * same rules as those of `fair-priority.ts` for scheduled runs.
 */
export function createRunLine<Run extends WaitingRun>(clock: Clock) {
  let waiting: Run[] = [];
  let served = 1;
  let arrivals = 0;
  let placedAt = Number.NEGATIVE_INFINITY;
  const nextRounds = new Map<string, number>();

  const place = (added: Run): void => {
    if (waiting.length === 0 && clock.now() - placedAt > RESTART_MS) {
      nextRounds.clear();
      served = 1;
    }
    placedAt = clock.now();
    const rounds = waiting.filter(({ hasBegun }) => !hasBegun).map(({ round }) => round);
    if (rounds.length > 0) served = Math.max(served, Math.min(...rounds));
    const { org } = added.run;
    added.round = Math.max(served, nextRounds.get(org) ?? 1);
    nextRounds.set(org, added.round + 1);
    // It takes its place; those that are expected later move back by one place each.
    const own = [...waiting, added].filter((one) => one.run.org === org && !one.hasBegun);
    const places = own.map(({ round, arrival }) => ({ round, arrival })).sort(byPlace);
    const ordered = own.sort((a, b) => a.run.expected - b.run.expected || (a.run.name < b.run.name ? -1 : 1));
    for (const [index, one] of ordered.entries()) Object.assign(one, places[index]);
  };

  return {
    add: (added: Run): void => {
      arrivals += 1;
      added.arrival = arrivals;
      if (!added.hasBegun) place(added);
      else if (added.round > MAX_LATE_ROUNDS) added.round = 0;
      waiting.push(added);
    },
    /** Takes the next run out of the line. */
    take: (): Run | undefined => {
      const [next] = waiting.toSorted(byPlace);
      waiting = waiting.filter((one) => one !== next);
      return next;
    },
  };
}

const byPlace = (a: Pick<WaitingRun, 'round' | 'arrival'>, b: Pick<WaitingRun, 'round' | 'arrival'>): number =>
  a.round - b.round || a.arrival - b.arrival;
