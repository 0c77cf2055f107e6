import { DateTime } from 'luxon';
import { toDocketError } from '../../base/error.ts';
import { MINUTE_MS, SECOND_MS } from '../../base/time.ts';
import { resolveRunPeriods } from '../../definitions/periods/period.ts';
import { dataReadyMs } from '../../definitions/schema/org-settings.ts';
import { preparedCalls } from '../../plan/prepare.ts';
import type { FrozenDefinition } from '../../queue/definitions/definition-store.ts';
import { reportName } from '../../queue/schedules/report-schedules.ts';
import { expectedAt } from '../../run/lateness.ts';
import { planRun } from '../definitions/plan-run.ts';
import { beginningSlots } from '../preparations/due-preparations.ts';
import type { ForecastRun, ForecastWindow, PlanningSource } from './forecast-run.ts';
import { callsOfCheck } from './plan-tasks.ts';

/** A report whose calls are unknown. */
export interface UnplannedReport {
  readonly org: string;
  /** `<org>/<report>`. */
  readonly name: string;
  /** Number of its slots in the window. */
  readonly slots: number;
  readonly why: string;
}

export interface PlannedSlots {
  readonly runs: readonly ForecastRun[];
  readonly unplanned: readonly UnplannedReport[];
}

/**
 * Plans the slots whose runs begin in a window, with each run's calls. Plans past slots as if they were in the future.
 *
 * @param sources by organization; a text says why one is missing
 */
export function planSlots(
  reports: readonly FrozenDefinition[],
  { from, to }: ForecastWindow,
  sources: ReadonlyMap<string, PlanningSource | string>,
): PlannedSlots {
  const unplanned = new Map<string, UnplannedReport>();
  const slots = reports.flatMap((report): SlotToPlan[] => {
    const { org, schedule } = report.definition;
    const name = reportName(report);
    const longest = Math.max(0, ...schedule.map(({ prepare = 0 }) => prepare * 1000));
    // A slot before the window limits how early the next one is prepared.
    const all = beginningSlots(report, from - longest - 1, to - 1);
    const inWindow = all.filter(({ begins }) => begins >= from);
    if (inWindow.length === 0) return [];
    const source = sources.get(org) ?? 'The organization is not defined.';
    if (typeof source === 'string') {
      unplanned.set(name, { org, name, slots: inWindow.length, why: source });
      return [];
    }
    const planOf = planner(report, source);
    return inWindow.map((slot) => {
      const before = all[all.indexOf(slot) - 1]?.begins ?? Number.NEGATIVE_INFINITY;
      return { report, slot, name, before, source, planOf, of: inWindow.length };
    });
  });
  const runs: ForecastRun[] = [];
  // Slots of one day need the same computed days.
  for (const slot of slots.sort((a, b) => a.slot.begins - b.slot.begins || (a.name < b.name ? -1 : 1))) {
    const { name, of, report } = slot;
    if (unplanned.has(name)) continue;
    try {
      runs.push(planSlot(slot));
    } catch (thrown) {
      const error = toDocketError(thrown);
      if (error.code !== 'plan.invalid') throw thrown;
      unplanned.set(name, { org: report.definition.org, name, slots: of, why: error.message });
    }
  }
  return { runs: runs.filter(({ name }) => !unplanned.has(name)), unplanned: [...unplanned.values()] };
}

type BeginningSlot = ReturnType<typeof beginningSlots>[number];
type PlannedRun = ReturnType<typeof planRun>;

interface SlotToPlan {
  readonly report: FrozenDefinition;
  /** `<org>/<report>`. */
  readonly name: string;
  readonly slot: BeginningSlot;
  /** When the previous slot's run begins, epoch ms. */
  readonly before: number;
  readonly source: PlanningSource;
  readonly planOf: (slot: BeginningSlot) => PlannedRun;
  /** Number of the report's slots in the window. */
  readonly of: number;
}

/** Plans a report's slots. Slots with the same days share a plan, unless it depends on stored readings. */
function planner(report: FrozenDefinition, { catalog }: PlanningSource): SlotToPlan['planOf'] {
  const { definition, settings } = report;
  let last: { readonly days: string; readonly planned: PlannedRun } | undefined;
  return ({ slot, begins }) => {
    const periods = resolveRunPeriods(definition, settings, slot);
    const days = settings.readings === undefined ? JSON.stringify(periods) : String(slot);
    if (last?.days !== days) last = { days, planned: planRun(report, periods, catalog, begins) };
    return last.planned;
  };
}

/** Throws `plan.invalid`. */
function planSlot({ report, name, slot: at, before, source, planOf }: SlotToPlan): ForecastRun {
  const { definition, settings } = report;
  const { slot, begins, prepareMs, lateAfterMs } = at;
  const { plan, calls } = planOf(at);
  const prepared = preparedCalls({ calls }, { from: before, begins, dataReadyMs: dataReadyMs(settings) });
  const completeFrom = new Map(prepared.calls.map(({ call, completeSince }) => [call.id, completeSince]));
  const expected = expectedAt({
    slot: new Date(slot).toISOString(),
    ...(lateAfterMs === undefined ? {} : { lateAfterMs }),
  });
  const { corrections } = definition;
  const watch =
    corrections === undefined
      ? {}
      : {
          watch: {
            ms: corrections.watch * SECOND_MS,
            calls: callsOfCheck(report, resolveRunPeriods(definition, settings, slot), source.catalog),
          },
        };
  const run: ForecastRun = {
    ...watch,
    ...{ org: definition.org, name, key: source.key, slot, begins, before, expected },
    lateAt: lateAfterMs === undefined ? undefined : expected,
    maxAgeMs: definition.max_age * 1000,
    isCurrentOrg: settings.org === 'current',
    offsetMs: DateTime.fromMillis(slot, { zone: plan.period.timezone }).offset * MINUTE_MS,
    calls: calls.map((call) => ({
      // The id is a hash of the request. Runs share responses only within their organization.
      request: `${definition.org} ${call.id}`,
      kind: call.kind,
      preparedFrom: undefined,
      completeFrom: completeFrom.get(call.id),
    })),
  };
  return prepareMs === undefined ? run : prepareRun(run, prepareMs);
}

/** A run whose calls may be made up to `prepareMs` before it begins. */
export function prepareRun(run: ForecastRun, prepareMs: number): ForecastRun {
  const { begins, before } = run;
  const calls = run.calls.map((call) => {
    if (call.completeFrom === undefined) return call;
    const from = Math.max(begins - prepareMs, before, call.completeFrom);
    return { ...call, preparedFrom: Math.min(from, call.preparedFrom ?? from) };
  });
  return { ...run, calls };
}
