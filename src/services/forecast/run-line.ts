import type { Clock } from '../../base/clock.ts';
import type { ForecastRun } from './forecast-run.ts';

/** A run on its way through the line. */
export interface WaitingRun {
  readonly run: ForecastRun;
  /** The round of its turn; 0 comes before all runs that have not begun. */
  round: number;
  /** Within a round, runs take their turn in order of arrival. */
  arrival: number;
  hasBegun: boolean;
}

type Place = Pick<WaitingRun, 'round' | 'arrival'>;

/** An organization's runs that have not begun. */
interface Turns<Run> {
  /** In the order in which they are expected. The first run takes the first place. */
  readonly runs: Run[];
  readonly places: Place[];
  nextRound: number;
}

/** Rounds that a returning run may wait. After that it comes before all others. */
const MAX_LATE_ROUNDS = 16;
/** Rounds start again if nobody waits for this long, ms, after the last run arrived. */
const RESTART_MS = 500;

/**
 * The order in which runs start: organizations take turns, and each organization's runs come in the order in which
 * readers expect them. The rules are those of `fair-priority.ts` for scheduled runs.
 */
export function createRunLine<Run extends WaitingRun>(clock: Clock) {
  const turns = new Map<string, Turns<Run>>();
  /** Runs that have begun, in the order of their places. */
  const returned: Run[] = [];
  let served = 1;
  let arrivals = 0;
  let placedAt = Number.NEGATIVE_INFINITY;

  const firstPlaces = (): Place[] => [...turns.values()].flatMap(({ places }) => places.slice(0, 1));

  const place = (added: Run): void => {
    const first = firstPlaces();
    if (first.length + returned.length === 0 && clock.now() - placedAt > RESTART_MS) {
      turns.clear();
      served = 1;
    }
    placedAt = clock.now();
    if (first.length > 0) served = Math.max(served, Math.min(...first.map(({ round }) => round)));
    const { org } = added.run;
    const own = turns.get(org) ?? { runs: [], places: [], nextRound: 1 };
    turns.set(org, own);
    const round = Math.max(served, own.nextRound);
    own.nextRound = round + 1;
    own.places.push({ round, arrival: added.arrival });
    // The run takes its place. Runs that are expected later move back by one place each.
    insertSorted(own.runs, added, byExpected);
  };

  return {
    add: (added: Run): void => {
      arrivals += 1;
      added.arrival = arrivals;
      if (!added.hasBegun) {
        place(added);
        return;
      }
      if (added.round > MAX_LATE_ROUNDS) added.round = 0;
      insertSorted(returned, added, byPlace);
    },
    /** Removes the next run from the line, and returns it. */
    take: (): Run | undefined => {
      const [first] = firstPlaces().sort(byPlace);
      const [back] = returned;
      if (first === undefined || (back !== undefined && byPlace(back, first) < 0)) return returned.shift();
      const own = [...turns.values()].find(({ places }) => places[0] === first);
      own?.places.shift();
      const next = own?.runs.shift();
      return next && Object.assign(next, first);
    },
  };
}

/** Inserts behind equal elements. */
function insertSorted<Run>(runs: Run[], added: Run, compare: (a: Run, b: Run) => number): void {
  const before = runs.findLastIndex((one) => compare(one, added) <= 0);
  runs.splice(before + 1, 0, added);
}

const byPlace = (a: Place, b: Place): number => a.round - b.round || a.arrival - b.arrival;

const byExpected = ({ run: a }: Pick<WaitingRun, 'run'>, { run: b }: Pick<WaitingRun, 'run'>): number =>
  a.expected - b.expected || (a.name < b.name ? -1 : 1);
