import { MINUTE_MS } from '../../base/time.ts';
import type { BudgetLimits } from '../../fetch/rate-limit/budget.ts';
import type { ForecastAssumptions, ForecastRun } from './forecast-run.ts';
import { prepareRun } from './plan-slots.ts';
import { type ForecastTasks, type SimulatedRun, simulateRuns } from './simulate-runs.ts';

/** The fewest reports found for which `prepare` keeps every run of a slot on time. */
export interface PrepareAdvice {
  readonly prepareMs: number;
  /** `<org>/<report>`. */
  readonly reports: readonly string[];
}

/** The runs of a slot on one key, if some of them will be late. */
export interface LateSlot {
  readonly key: string;
  /** Epoch ms. */
  readonly slot: number;
  readonly runs: readonly SimulatedRun[];
  /** Undefined if `prepare` does not suffice, or if trying would take too long. */
  readonly advice: PrepareAdvice | undefined;
  /** How many runs at once in each process suffice where `prepare` does not: runs wait for workers, not for tokens. */
  readonly concurrency: number | undefined;
}

/** `prepare` is advised in steps of this size, ms. */
const STEP_MS = 15 * MINUTE_MS;
const MAX_PREPARE_MS = 24 * 60 * MINUTE_MS;
/** The most that `docket start --concurrency` takes. */
const MAX_CONCURRENCY = 100;
/** Runs that begin this long before or after a slot, ms, are simulated together with it. */
const AROUND_MS = 12 * 60 * MINUTE_MS;
/** How many slots get advice. Each takes up to twenty simulations. */
const MAX_ADVISED = 10;
/** Most calls that slots with advice may simulate. A thousand calls take a tenth of a second. */
const MAX_ADVISED_CALLS = 1_500;

/** Finds the slots with runs that will be late, in order. */
export async function findLateSlots(
  simulated: readonly SimulatedRun[],
  limits: ReadonlyMap<string, BudgetLimits>,
  assumptions: ForecastAssumptions,
  { tasks, to }: ForecastTasks,
): Promise<readonly LateSlot[]> {
  const slots = new Map<string, SimulatedRun[]>();
  for (const one of simulated) {
    const name = `${one.run.slot} ${one.run.key}`;
    slots.set(name, [...(slots.get(name) ?? []), one]);
  }
  const found: LateSlot[] = [];
  let calls = 0;
  for (const runs of slots.values()) {
    const [first] = runs;
    if (first === undefined || !runs.some(({ late }) => late)) continue;
    const { slot, key } = first.run;
    const around = simulated.map(({ run }) => run).filter((run) => Math.abs(run.begins - slot) <= AROUND_MS);
    calls += around.reduce((sum, run) => sum + run.calls.length, 0);
    const isAdvised = found.length < MAX_ADVISED && calls <= MAX_ADVISED_CALLS;
    const options = { tasks: tasks.filter(({ at }) => Math.abs(at - slot) <= AROUND_MS), to };
    const isOnTime: IsOnTime = async (tried, assumed = {}) => {
      const { runs: ended } = await simulateRuns(tried, limits, { ...assumptions, ...assumed }, options);
      return !ended.some(({ run, late }) => late && run.slot === slot && run.key === key);
    };
    const advice = isAdvised ? await advisePrepare(around, first.run, isOnTime) : undefined;
    const hasRoom = (concurrency: number): Promise<boolean> => isOnTime(around, { concurrency });
    const isHelped = isAdvised && advice === undefined && (await hasRoom(MAX_CONCURRENCY));
    const concurrency = isHelped ? await least(assumptions.concurrency, MAX_CONCURRENCY, hasRoom) : undefined;
    found.push({ key, slot, runs, advice, concurrency });
  }
  return found;
}

/** Simulates these runs, and says whether all runs of the slot are on time. */
type IsOnTime = (runs: readonly ForecastRun[], assumed?: Partial<ForecastAssumptions>) => Promise<boolean>;

/** The least number from `from` to `to` that is enough, as far as more is better. `to` is enough. */
async function least(from: number, to: number, isEnough: (count: number) => Promise<boolean>): Promise<number> {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (await isEnough(middle)) high = middle;
    else low = middle + 1;
  }
  return high;
}

/** Prepares the reports with the most calls first, then tries with half as many, or half as many more. */
async function advisePrepare(
  runs: readonly ForecastRun[],
  { slot, key }: ForecastRun,
  isOnTime: IsOnTime,
): Promise<PrepareAdvice | undefined> {
  const countCalls = ({ calls }: ForecastRun): number =>
    calls.filter(({ completeFrom, kind }) => completeFrom !== undefined && kind === 'report').length;
  const candidates = runs
    .filter((run) => run.slot === slot && run.key === key && countCalls(run) > 0)
    .sort((a, b) => countCalls(b) - countCalls(a) || (a.name < b.name ? -1 : 1));
  const isEnough = (count: number, prepareMs: number): Promise<boolean> => {
    const chosen = new Set(candidates.slice(0, count));
    return isOnTime(runs.map((run) => (chosen.has(run) ? prepareRun(run, prepareMs) : run)));
  };
  if (candidates.length === 0 || !(await isEnough(candidates.length, MAX_PREPARE_MS))) return undefined;
  const count = await least(1, candidates.length, (tried) => isEnough(tried, MAX_PREPARE_MS));
  const steps = await least(1, MAX_PREPARE_MS / STEP_MS, (tried) => isEnough(count, tried * STEP_MS));
  // More time is not always better, because another slot may come before. So the advice is simulated again.
  const prepareMs = steps * STEP_MS;
  if (!(await isEnough(count, prepareMs))) return undefined;
  return { prepareMs, reports: candidates.slice(0, count).map(({ name }) => name) };
}
