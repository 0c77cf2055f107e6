import { toDocketError } from '../../base/error.ts';
import type { Catalog } from '../../contract/catalog.ts';
import { runPeriodsOf } from '../../definitions/periods/period.ts';
import { dataReadyMs } from '../../definitions/schema/org-settings.ts';
import { type PreparedCalls, preparedCalls } from '../../plan/prepare.ts';
import type { FrozenDefinition } from '../../queue/definitions/definition-store.ts';
import { reportName } from '../../queue/schedules/report-schedules.ts';
import { expectedAt } from '../../run/lateness.ts';
import { planRun } from '../definitions/plan-run.ts';
import { beginningSlots } from '../preparations/due-preparations.ts';
import type { ForecastRun } from './forecast-run.ts';

/** Instants are epoch ms. */
export interface ForecastWindow {
  readonly from: number;
  readonly to: number;
}

/** What planning needs of an organization. */
export interface PlanningSource {
  /** Fingerprint of its API key. */
  readonly key: string;
  readonly catalog: Catalog;
}

/** A report whose calls are not known. */
export interface UnplannedReport {
  readonly org: string;
  /** `<org>/<report>`. */
  readonly name: string;
  /** Slots in the window. */
  readonly slots: number;
  readonly why: string;
}

export interface PlannedSlots {
  readonly runs: readonly ForecastRun[];
  readonly unplanned: readonly UnplannedReport[];
}

/**
 * The slots whose runs begin in a window, with the calls of each run. Slots in the past are planned as if they were to come.
 *
 * @param sources by organization; a sentence says why one is missing
 */
export function planSlots(
  reports: readonly FrozenDefinition[],
  { from, to }: ForecastWindow,
  sources: ReadonlyMap<string, PlanningSource | string>,
): PlannedSlots {
  const runs: ForecastRun[] = [];
  const unplanned: UnplannedReport[] = [];
  for (const report of reports) {
    const { org, schedule } = report.definition;
    const name = reportName(report);
    const longest = Math.max(0, ...schedule.map(({ prepare = 0 }) => prepare * 1000));
    // A slot before the window limits how early the next one is prepared.
    const slots = beginningSlots(report, from - longest - 1, to - 1);
    const inWindow = slots.filter(({ begins }) => begins >= from);
    if (inWindow.length === 0) continue;
    const source = sources.get(org) ?? 'The organization is not defined.';
    if (typeof source === 'string') {
      unplanned.push({ org, name, slots: inWindow.length, why: source });
      continue;
    }
    try {
      const planned = inWindow.map((slot) => {
        const before = slots[slots.indexOf(slot) - 1]?.begins ?? Number.NEGATIVE_INFINITY;
        return planSlot(report, slot, before, source);
      });
      runs.push(...planned);
    } catch (thrown) {
      const error = toDocketError(thrown);
      if (error.code !== 'plan.invalid') throw thrown;
      unplanned.push({ org, name, slots: inWindow.length, why: error.message });
    }
  }
  return { runs: runs.sort((a, b) => a.begins - b.begins || (a.name < b.name ? -1 : 1)), unplanned };
}

/** Throws `plan.invalid`. */
function planSlot(
  report: FrozenDefinition,
  { slot, begins, prepareMs, lateAfterMs }: ReturnType<typeof beginningSlots>[number],
  before: number,
  { key, catalog }: PlanningSource,
): ForecastRun {
  const { definition, settings } = report;
  const { plan, split } = planRun(report, runPeriodsOf(definition, settings, slot), catalog, begins);
  const calls = split?.plan.calls ?? plan.calls;
  // Reports with `split` are not prepared.
  const prepared: PreparedCalls =
    prepareMs === undefined || split !== undefined
      ? { calls: [], others: [] }
      : preparedCalls(plan, { from: Math.max(begins - prepareMs, before), begins, dataReadyMs: dataReadyMs(settings) });
  const preparedFrom = new Map(prepared.calls.map(({ call, from }) => [call.id, from]));
  const at = { slot: new Date(slot).toISOString(), ...(lateAfterMs === undefined ? {} : { lateAfterMs }) };
  const expected = expectedAt(at);
  return {
    ...{ org: definition.org, name: reportName(report), key, slot, begins, expected },
    lateAt: lateAfterMs === undefined ? undefined : expected,
    maxAgeMs: definition.max_age * 1000,
    calls: calls.map((call) => ({
      // Its id is a hash of the request; runs use answers of their own organization only.
      request: `${definition.org} ${call.id}`,
      kind: call.kind,
      preparedFrom: preparedFrom.get(call.id),
    })),
  };
}
