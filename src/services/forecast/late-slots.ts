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
}

/** `prepare` is advised in steps of this size, ms. */
const STEP_MS = 15 * MINUTE_MS;
const MAX_PREPARE_MS = 24 * 60 * MINUTE_MS;
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
    const beside = { tasks: tasks.filter(({ at }) => Math.abs(at - slot) <= AROUND_MS), to };
    const simulate = (tried: readonly ForecastRun[]) => simulateRuns(tried, limits, assumptions, beside);
    const advice = isAdvised ? await advise(around, first.run, simulate) : undefined;
    found.push({ key, slot, runs, advice });
  }
  return found;
}

/** Prepares the reports with the most calls first, then tries with half as many, or half as many more. */
async function advise(
  runs: readonly ForecastRun[],
  { slot, key }: ForecastRun,
  simulate: (runs: readonly ForecastRun[]) => ReturnType<typeof simulateRuns>,
): Promise<PrepareAdvice | undefined> {
  const callsOf = ({ calls }: ForecastRun): number =>
    calls.filter(({ completeFrom, kind }) => completeFrom !== undefined && kind === 'report').length;
  const candidates = runs
    .filter((run) => run.slot === slot && run.key === key && callsOf(run) > 0)
    .sort((a, b) => callsOf(b) - callsOf(a) || (a.name < b.name ? -1 : 1));
  const isEnough = async (count: number, prepareMs: number): Promise<boolean> => {
    const chosen = new Set(candidates.slice(0, count));
    const changed = runs.map((run) => (chosen.has(run) ? prepareRun(run, prepareMs) : run));
    const { runs: ended } = await simulate(changed);
    return !ended.some(({ run, late }) => late && run.slot === slot && run.key === key);
  };
  let [least, most] = [1, candidates.length];
  if (most === 0 || !(await isEnough(most, MAX_PREPARE_MS))) return undefined;
  while (least < most) {
    const middle = (least + most) >> 1;
    if (await isEnough(middle, MAX_PREPARE_MS)) most = middle;
    else least = middle + 1;
  }
  let [shortest, longest] = [1, MAX_PREPARE_MS / STEP_MS];
  while (shortest < longest) {
    const middle = (shortest + longest) >> 1;
    if (await isEnough(least, middle * STEP_MS)) longest = middle;
    else shortest = middle + 1;
  }
  // More time is not always better, because another slot may come before. So the advice is simulated again.
  const prepareMs = shortest * STEP_MS;
  if (!(await isEnough(least, prepareMs))) return undefined;
  return { prepareMs, reports: candidates.slice(0, least).map(({ name }) => name) };
}
