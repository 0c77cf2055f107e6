import type { BudgetLimits } from '../../fetch/rate-limit/budget.ts';
import type { FrozenDefinition } from '../../queue/definitions/definition-store.ts';
import type { ForecastAssumptions, ForecastWindow, PlanningSource } from './forecast-run.ts';
import { findLateSlots, type LateSlot } from './late-slots.ts';
import { planSlots, type UnplannedReport } from './plan-slots.ts';
import { planTasks, type WatchedEdition } from './plan-tasks.ts';
import { type Simulation, simulateRuns } from './simulate-runs.ts';

/** What a forecast is computed from. Plain data, so that a thread can do it. */
export interface ForecastWork {
  readonly reports: readonly FrozenDefinition[];
  /** Delivered editions that are checked. */
  readonly editions: readonly WatchedEdition[];
  readonly window: ForecastWindow;
  /** By organization; a sentence says why one is missing. */
  readonly sources: ReadonlyMap<string, PlanningSource | string>;
  /** By key. */
  readonly limits: ReadonlyMap<string, BudgetLimits>;
  readonly assumptions: ForecastAssumptions;
}

export interface ForecastResult extends Simulation {
  readonly unplanned: readonly UnplannedReport[];
  readonly lateSlots: readonly LateSlot[];
}

/** Plans the slots of a window, simulates their runs, and looks for what would help those that are late. */
export async function computeForecast({
  reports,
  editions,
  window,
  sources,
  limits,
  assumptions,
}: ForecastWork): Promise<ForecastResult> {
  const { runs, unplanned } = planSlots(reports, window, sources);
  const tasks = { tasks: planTasks(window, sources, editions), to: window.to };
  const simulation = await simulateRuns(runs, limits, assumptions, tasks);
  return { ...simulation, unplanned, lateSlots: await findLateSlots(simulation.runs, limits, assumptions, tasks) };
}
