import { DateTime } from 'luxon';
import { toDocketError } from '../../base/error.ts';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../../base/time.ts';
import type { Catalog } from '../../contract/catalog.ts';
import type { RunPeriods } from '../../definitions/periods/period.ts';
import { daysBetween, localDay, readingWindow } from '../../definitions/schedules/reading-window.ts';
import { buildDesk, deskDefinition } from '../../definitions/split.ts';
import { isCurrentSection } from '../../plan/answered-sections.ts';
import { readingQuestions } from '../../plan/reading.ts';
import { splitPlan } from '../../plan/split/split-plan.ts';
import type { FrozenDefinition } from '../../queue/definitions/definition-store.ts';
import { reportName } from '../../queue/schedules/report-schedules.ts';
import { planCheck } from '../corrections/check-edition.ts';
import { nextCheckAt } from '../corrections/watch-index.ts';
import type { ForecastTask, ForecastWindow, PlanningSource } from './forecast-run.ts';

/** A delivered edition whose figures are compared with the service's. */
export interface WatchedEdition {
  readonly report: FrozenDefinition;
  readonly periods: RunPeriods;
  /** When it was delivered and when it was last compared, epoch ms. */
  readonly deliveredAt: number;
  readonly checkedAt: number | undefined;
}

/** The calls of one check of an edition. */
export function callsOfCheck(
  { definition, settings }: FrozenDefinition,
  periods: RunPeriods,
  catalog: Catalog,
): number {
  const { sections, split } = definition;
  const corrected = sections.filter((section) => section.metrics !== undefined && !isCurrentSection(section, catalog));
  const watched = corrected.map(({ id }) => id);
  if (watched.length === 0) return 0;
  try {
    if (split === undefined) return planCheck({ definition, settings }, watched, periods, catalog).calls.length;
    const [first] = catalog.dimensions.find(({ id }) => id === split.by)?.values ?? [];
    if (first === undefined) return 0;
    const desk = deskDefinition(definition, buildDesk(first.value, first.label));
    const one = planCheck({ definition: desk, settings }, watched, periods, catalog);
    return splitPlan(one, split.by, { org: settings.org, catalog }).calls.length;
  } catch (thrown) {
    if (toDocketError(thrown).code !== 'plan.invalid') throw thrown;
    return 0;
  }
}

const offsetAt = (at: number, zone: string): number => DateTime.fromMillis(at, { zone }).offset * MINUTE_MS;

/** The readings, and the first checks of delivered editions, that begin in the window. */
export function planTasks(
  { from, to }: ForecastWindow,
  sources: ReadonlyMap<string, PlanningSource | string>,
  editions: readonly WatchedEdition[],
): ForecastTask[] {
  const readings = [...sources.values()].flatMap((source) => (typeof source === 'string' ? [] : planReadings(source)));
  return [...readings, ...editions.flatMap(planEditionCheck)];

  function planReadings({ key, catalog, settings }: PlanningSource): ForecastTask[] {
    const { id: org, readings: read, timezone } = settings;
    if (read === undefined) return [];
    const calls = readingQuestions(read, catalog).length;
    return daysBetween(localDay(from - DAY_MS, timezone), localDay(to, timezone)).flatMap((day): ForecastTask[] => {
      const window = readingWindow(day, read.at, timezone);
      if (window === undefined || window.at < from || window.at >= to) return [];
      const offsetMs = offsetAt(window.at, timezone);
      return [
        { kind: 'reading', org, key, name: `${org} readings`, at: window.at, until: window.until, calls, offsetMs },
      ];
    });
  }

  function planEditionCheck({ report, periods, deliveredAt, checkedAt }: WatchedEdition): ForecastTask[] {
    const { org, corrections, timezone } = report.definition;
    const source = sources.get(org);
    if (source === undefined || typeof source === 'string' || corrections === undefined) return [];
    const { watch } = corrections;
    let due = nextCheckAt({ deliveredAt, watch, checkedAt }, from);
    // Earlier checks have been made by then.
    while (due !== undefined && due < from - DAY_MS) due = nextCheckAt({ deliveredAt, watch, checkedAt: due }, from);
    const calls = callsOfCheck(report, periods, source.catalog);
    if (due === undefined || due >= to || calls === 0) return [];
    const at = Math.max(due, from);
    const until = deliveredAt + watch * SECOND_MS;
    const offsetMs = offsetAt(at, timezone ?? source.settings.timezone);
    const name = reportName(report);
    return [{ kind: 'check', org, key: source.key, name, at, until, calls, offsetMs }];
  }
}
