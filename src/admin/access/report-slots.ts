import type { Definitions } from '../../definitions/load/load-definitions.ts';
import { buildTimetable, type Slot } from '../../definitions/schedules/slots.ts';
import { groupByTimetable, slotFinder, type TimetableGroup } from '../../definitions/schedules/upcoming-slots.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { Definition } from '../../definitions/schema/report-definition.ts';

/** A report and its settings. */
interface Scheduled {
  readonly definition: Definition;
  readonly settings: OrgSettings;
}

/** Finds the next slots of reports. All principals share one finder, because it caches timetables. */
export type FindReportSlots = (
  jobs: Definitions,
  which: (of: { readonly org: string; readonly report: string }) => boolean,
  span: { readonly from: number; readonly until?: number | undefined; readonly limit: number },
) => Promise<readonly (Scheduled & { readonly slot: Slot })[]>;

/** Takes milliseconds for ten thousand reports, and longer once a day, when it computes their timetables. */
export function reportSlotFinder(): FindReportSlots {
  const find = slotFinder();
  let grouped: { readonly jobs: Definitions; readonly groups: readonly TimetableGroup<Scheduled>[] } | undefined;
  return async (jobs, which, span) => {
    // `jobs` is a new object only when definitions are loaded again.
    if (grouped?.jobs !== jobs) grouped = { jobs, groups: groupByTimetable(iterateTimetables(jobs)) };
    const groups = grouped.groups.flatMap(({ reports, ...group }) => {
      const chosen = reports.filter(({ definition }) => which(definition));
      return chosen.length === 0 ? [] : { ...group, reports: chosen };
    });
    return (await find(groups, span)).map(({ slot, report }) => ({ slot, ...report }));
  };
}

function* iterateTimetables(jobs: Definitions) {
  for (const definition of jobs.reports.values()) {
    const settings = jobs.orgs.get(definition.org);
    if (settings !== undefined) yield [{ definition, settings }, buildTimetable(definition, settings)] as const;
  }
}
