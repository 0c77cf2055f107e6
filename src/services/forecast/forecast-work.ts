import type { BudgetLimits } from '../../fetch/rate-limit/budget.ts';
import type { FrozenDefinition } from '../../queue/definitions/definition-store.ts';
import type { ForecastAssumptions, ForecastWindow, PlanningSource } from './forecast-run.ts';
import { findLateSlots, type LateSlot } from './late-slots.ts';
import { planSlots, type UnplannedReport } from './plan-slots.ts';
import { planTasks, type WatchedEdition } from './plan-tasks.ts';
import { type Simulation, simulateRuns } from './simulate-runs.ts';

/** The input of a forecast. Plain data, so that it can be sent to a thread. */
export interface ForecastWork {
  readonly reports: readonly FrozenDefinition[];
  /** Delivered editions that are checked. */
  readonly editions: readonly WatchedEdition[];
  readonly window: ForecastWindow;
  /** By organization. A text says why its source is missing. */
  readonly sources: ReadonlyMap<string, PlanningSource | string>;
  /** Limits by key. */
  readonly limits: ReadonlyMap<string, BudgetLimits>;
  readonly assumptions: ForecastAssumptions;
}

export interface ForecastResult extends Simulation {
  readonly unplanned: readonly UnplannedReport[];
  readonly lateSlots: readonly LateSlot[];
}

/** Plans a window's slots, simulates their runs, and looks for settings that would help late runs. */
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
