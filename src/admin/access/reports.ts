import type { Clock } from '../../base/clock.ts';
import { formatFault } from '../../define/fault.ts';
import { isFaultyOrg } from '../../define/last-good.ts';
import { faultsOf, type Jobs } from '../../define/load.ts';
import { periodOf } from '../../define/period.ts';
import { scheduleText, slotView } from '../../define/slot-view.ts';
import { nextReportSlots, timetableOf } from '../../define/slots.ts';
import { ID } from '../../define/words.ts';
import type { FrozenDefinition } from '../../queue/definition-store.ts';
import type { Pause, Pauses } from '../../queue/pauses.ts';
import type { RunStore } from '../../run/record.ts';
import type { Access, OrganizationEntry, ReportEntry } from '../access.ts';
import { maySee, type Principal } from '../auth/tokens.ts';
import { notThere, requireSeen } from './may.ts';

export interface ReportsPorts {
  /** What this process's folder of definitions says now. */
  readonly jobs: () => Jobs;
  /** The version in force of a report whose file has a fault and of which this process remembers no good text. */
  readonly lastGood: (name: string) => Promise<FrozenDefinition | undefined>;
  readonly runs: Pick<RunStore, 'list'>;
  readonly pauses: Pick<Pauses, 'list'>;
  readonly clock: Clock;
}

/** Slots that the detail of a report shows. */
const SLOTS = 5;

/** Organizations and reports as they are defined now. */
export function reportsAccess(
  ports: ReportsPorts,
  principal: Principal,
): Pick<Access, 'organizations' | 'reports' | 'report' | 'periods'> {
  const entryOf = async (org: string, report: string, pauses: readonly Pause[]): Promise<ReportEntry> => {
    const [{ version, faults }, [last]] = await Promise.all([
      reportNow(ports, org, report),
      ports.runs.list({ org, report, limit: 1 }),
    ]);
    return {
      org,
      report,
      title: version?.definition.title ?? report,
      schedules: version?.definition.schedule.map(scheduleText) ?? [],
      pause: pauseOf(pauses, org, report) ?? pauseOf(pauses, org, null),
      faults,
      last: last ?? null,
    };
  };

  return {
    organizations: async () => {
      const jobs = ports.jobs();
      const pauses = await ports.pauses.list();
      const counts = new Map<string, number>();
      for (const name of reportNames(jobs)) counts.set(orgOf(name), (counts.get(orgOf(name)) ?? 0) + 1);
      return organizationNames(jobs)
        .filter((org) => maySee(principal, org))
        .map((org): OrganizationEntry => {
          const settings = jobs.orgs.get(org);
          return {
            org,
            name: settings?.name ?? org,
            timezone: settings?.timezone ?? null,
            reports: counts.get(org) ?? 0,
            pause: pauseOf(pauses, org, null),
          };
        });
    },

    reports: async ({ org, after = '', limit }) => {
      const jobs = ports.jobs();
      if (org !== undefined) {
        requireSeen(principal, org);
        if (!isOrganization(jobs, org)) throw notThere();
      }
      const pauses = await ports.pauses.list();
      const visible = reportNames(jobs).filter((name) => {
        const of = orgOf(name);
        return name > after && maySee(principal, of) && (org === undefined || of === org);
      });
      // One read for the newest run of each: that is why there are pages.
      const names = visible.slice(0, limit);
      const reports = await Promise.all(
        names.map((name) => entryOf(orgOf(name), name.slice(name.indexOf('/') + 1), pauses)),
      );
      return { reports, next: visible.length > names.length ? (names.at(-1) ?? null) : null };
    },

    report: async (org, report) => {
      requireSeen(principal, org);
      const { version, faults } = await reportNow(ports, org, report);
      if (version === undefined && faults.length === 0) throw notThere();
      const entry = await entryOf(org, report, await ports.pauses.list());
      const none = { ...entry, owner: null, timezone: null, text: null, digest: null, slots: [] };
      if (version === undefined) return none;
      const { definition, settings } = version;
      const timezone = definition.timezone ?? settings.timezone;
      const slots = nextReportSlots(timetableOf(definition, settings), ports.clock.now(), SLOTS);
      const good = ports.jobs().good.reports.get(`${org}/${report}`);
      return {
        ...entry,
        owner: definition.owner,
        timezone,
        text: good?.definition.digest === definition.digest ? good.text : null,
        digest: definition.digest,
        slots: slots.map((slot) => slotView(slot, definition, settings.timezone)),
      };
    },

    periods: async (org, report, specs) => {
      requireSeen(principal, org);
      const { version, faults } = await reportNow(ports, org, report);
      if (version === undefined && faults.length === 0) throw notThere();
      if (version === undefined) return [];
      const now = ports.clock.now();
      return specs.map((spec) => periodOf(version.definition, version.settings, now, spec));
    },
  };
}

/** A report as it is defined now: by its last good version while its file has a fault. */
export interface ReportNow {
  /** Undefined: there is no such report, or it never was without a fault. */
  readonly version: FrozenDefinition | undefined;
  /** One line each; empty as well where there is no such report. */
  readonly faults: readonly string[];
}

export async function reportNow(
  { jobs, lastGood }: Pick<ReportsPorts, 'jobs' | 'lastGood'>,
  org: string,
  report: string,
): Promise<ReportNow> {
  const own = jobs();
  const name = `${org}/${report}`;
  const faults = faultsOf(own, name).map(formatFault);
  const definition = own.reports.get(name);
  const settings = own.orgs.get(org);
  if (definition !== undefined && settings !== undefined) return { version: { definition, settings }, faults };
  // A schedule goes on with the last good version; so does who asks for the report.
  return { version: faults.length === 0 ? undefined : await lastGood(name), faults };
}

/** Whether there is such an organization, be its settings readable or not. */
export const isOrganization = ({ orgs, folder, faults }: Jobs, org: string): boolean =>
  orgs.has(org) || isFaultyOrg(folder, org, faults);

/** Of `org/report`, or of the organization's own name. */
const orgOf = (name: string): string => name.split('/', 1)[0] ?? '';

/** `org/report`, in order: those in force, and those whose file has faults. */
function reportNames({ reports, sources }: Jobs): readonly string[] {
  const names = new Set(reports.keys());
  for (const name of sources.keys()) if (name.includes('/')) names.add(name);
  return [...names].sort();
}

/** In order. */
function organizationNames(jobs: Jobs): readonly string[] {
  const named = [...jobs.orgs.keys(), ...jobs.sources.keys()].map(orgOf);
  return [...new Set(named)].filter((org) => ID.test(org) && isOrganization(jobs, org)).sort();
}

const pauseOf = (pauses: readonly Pause[], org: string, report: string | null): Pause | null =>
  pauses.find((pause) => pause.org === org && pause.report === report) ?? null;
