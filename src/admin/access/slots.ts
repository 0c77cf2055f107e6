import type { ReportSummary } from '../../definitions/load/kept-reports.ts';
import { type Definitions, summariesOf } from '../../definitions/load/load-definitions.ts';
import { slotView } from '../../definitions/schedules/slot-view.ts';
import { timetableOf } from '../../definitions/schedules/slots.ts';
import { groupByTimetable, slotFinder, type TimetableGroup } from '../../definitions/schedules/upcoming-slots.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import { canSee, type Principal } from '../auth/tokens.ts';
import { type Access, assertVisible, notFoundError } from './access.ts';
import type { ReportsPorts } from './reports.ts';

/** A report and its settings. */
interface Scheduled {
  readonly definition: ReportSummary;
  readonly settings: OrgSettings;
}

/** Finds the next slots of reports. One finder for all principals: it caches timetables. */
export type FindReportSlots = (
  jobs: Definitions,
  which: (of: { readonly org: string; readonly report: string }) => boolean,
  span: { readonly from: number; readonly until?: number | undefined; readonly limit: number },
) => Promise<readonly (Scheduled & { readonly slot: Parameters<typeof slotView>[0] })[]>;

/** Takes milliseconds for ten thousand reports, and longer once a day to compute their timetables. */
export function reportSlotFinder(): FindReportSlots {
  const find = slotFinder();
  let grouped: { readonly jobs: Definitions; readonly groups: readonly TimetableGroup<Scheduled>[] } | undefined;
  return async (jobs, which, span) => {
    // The object changes only when definitions are loaded again.
    if (grouped?.jobs !== jobs) grouped = { jobs, groups: groupByTimetable(scheduledOf(jobs)) };
    const groups = grouped.groups.flatMap(({ reports, ...group }) => {
      const chosen = reports.filter(({ definition }) => which(definition));
      return chosen.length === 0 ? [] : { ...group, reports: chosen };
    });
    return (await find(groups, span)).map(({ slot, report }) => ({ slot, ...report }));
  };
}

function* scheduledOf(jobs: Definitions) {
  for (const definition of summariesOf(jobs).values()) {
    const settings = jobs.orgs.get(definition.org);
    if (settings !== undefined) yield [{ definition, settings }, timetableOf(definition, settings)] as const;
  }
}

export interface SlotsPorts extends Pick<ReportsPorts, 'jobs' | 'pauses' | 'clock'> {
  readonly findSlots: FindReportSlots;
}

/** When reports are due, by the definitions of this process. */
export function slotsAccess(ports: SlotsPorts, principal: Principal): Pick<Access, 'slots'> {
  return {
    slots: async ({ org, report, from = ports.clock.now(), until, limit }) => {
      const jobs = ports.jobs();
      if (org !== undefined) {
        assertVisible(principal, org);
        if (!jobs.orgs.has(org)) throw notFoundError();
      }
      const which = (of: { readonly org: string; readonly report: string }): boolean =>
        canSee(principal, of.org) && (org ?? of.org) === of.org && (report ?? of.report) === of.report;
      const [found, pauses] = await Promise.all([
        ports.findSlots(jobs, which, { from, until, limit }),
        ports.pauses.list(),
      ]);
      const paused = new Set(pauses.map((pause) => `${pause.org}/${pause.report ?? '*'}`));
      return found.map(({ slot, definition, settings }) => ({
        ...slotView(slot, definition, settings.timezone),
        org: definition.org,
        report: definition.report,
        title: definition.title,
        paused: paused.has(`${definition.org}/*`) || paused.has(`${definition.org}/${definition.report}`),
      }));
    },
  };
}
