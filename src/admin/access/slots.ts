import type { Definition } from '../../define/definition.ts';
import type { Jobs } from '../../define/load.ts';
import type { OrgSettings } from '../../define/org.ts';
import { slotView } from '../../define/slot-view.ts';
import { timetableOf } from '../../define/slots.ts';
import { type DueTogether, dueTogether, slotFinder } from '../../define/soonest-slots.ts';
import type { Access } from '../access.ts';
import { maySee, type Principal } from '../auth/tokens.ts';
import { notThere, requireSeen } from './may.ts';
import type { ReportsPorts } from './reports.ts';

/** A report, and the settings that it is read with. */
interface Scheduled {
  readonly definition: Definition;
  readonly settings: OrgSettings;
}

/** Finds the soonest slots of reports; the same for all principals. Made once, for it remembers. */
export type FindReportSlots = (
  jobs: Jobs,
  which: (of: { readonly org: string; readonly report: string }) => boolean,
  span: { readonly from: number; readonly until?: number | undefined; readonly limit: number },
) => Promise<readonly (Scheduled & { readonly slot: Parameters<typeof slotView>[0] })[]>;

/** See `FindReportSlots`. Ten thousand reports cost milliseconds, and the first time of a day their timetables. */
export function reportSlotFinder(): FindReportSlots {
  const find = slotFinder();
  let grouped: { readonly jobs: Jobs; readonly groups: readonly DueTogether<Scheduled>[] } | undefined;
  return async (jobs, which, span) => {
    // Until definitions are read again they are the very same.
    if (grouped?.jobs !== jobs) grouped = { jobs, groups: dueTogether(scheduledOf(jobs)) };
    const groups = grouped.groups.flatMap(({ reports, ...group }) => {
      const chosen = reports.filter(({ definition }) => which(definition));
      return chosen.length === 0 ? [] : { ...group, reports: chosen };
    });
    return (await find(groups, span)).map(({ slot, report }) => ({ slot, ...report }));
  };
}

function* scheduledOf({ reports, orgs }: Jobs) {
  for (const definition of reports.values()) {
    const settings = orgs.get(definition.org);
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
        requireSeen(principal, org);
        if (!jobs.orgs.has(org)) throw notThere();
      }
      const which = (of: { readonly org: string; readonly report: string }): boolean =>
        maySee(principal, of.org) && (org ?? of.org) === of.org && (report ?? of.report) === of.report;
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
