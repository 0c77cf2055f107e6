import type { Clock } from '../../base/clock.ts';
import { type Definitions, summariesOf } from '../../definitions/load/load-definitions.ts';
import { periodOf } from '../../definitions/periods/period.ts';
import { formatSchedule, slotView } from '../../definitions/schedules/slot-view.ts';
import { nextReportSlots, timetableOf } from '../../definitions/schedules/slots.ts';
import { ID_PATTERN } from '../../definitions/schema/values/primitives.ts';
import type { Pause, Pauses } from '../../queue/schedules/pauses.ts';
import type { RunStore } from '../../run/run-record.ts';
import { type CurrentReportPorts, currentReport, isOrganization } from '../../services/definitions/current-report.ts';
import { outlineReport, scheduleWords } from '../../services/definitions/report-outline.ts';
import type { ViewTemplate } from '../../services/definitions/view-template.ts';
import { canSee, type Principal } from '../auth/tokens.ts';
import { type Access, assertVisible, notFoundError, type OrganizationEntry, type ReportEntry } from './access.ts';

export interface ReportsPorts extends CurrentReportPorts {
  readonly runs: Pick<RunStore, 'list'>;
  readonly pauses: Pick<Pauses, 'list'>;
  readonly clock: Clock;
  readonly viewTemplate: ViewTemplate;
}

/** Slots in the detail of a report. */
const SHOWN_SLOTS = 5;

/** The current organizations and reports. */
export function reportsAccess(
  ports: ReportsPorts,
  principal: Principal,
): Pick<Access, 'organizations' | 'reports' | 'report' | 'titleOf' | 'periods'> {
  const entryOf = async (org: string, report: string, pauses: readonly Pause[]): Promise<ReportEntry> => {
    const [{ version, faults }, [last]] = await Promise.all([
      currentReport(ports, org, report),
      ports.runs.list({ org, report, limit: 1 }),
    ]);
    return {
      org,
      report,
      title: version?.definition.title ?? report,
      schedules: version?.definition.schedule.map(formatSchedule) ?? [],
      scheduleWords: version?.definition.schedule.map(scheduleWords) ?? [],
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
        .filter((org) => canSee(principal, org))
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
        assertVisible(principal, org);
        if (!isOrganization(jobs, org)) throw notFoundError();
      }
      const pauses = await ports.pauses.list();
      const visible = reportNames(jobs).filter((name) => {
        const of = orgOf(name);
        return name > after && canSee(principal, of) && (org === undefined || of === org);
      });
      // Each report needs one read for its newest run: this is why the list has pages.
      const names = visible.slice(0, limit);
      const reports = await Promise.all(
        names.map((name) => entryOf(orgOf(name), name.slice(name.indexOf('/') + 1), pauses)),
      );
      return { reports, next: visible.length > names.length ? (names.at(-1) ?? null) : null };
    },

    report: async (org, report) => {
      assertVisible(principal, org);
      const { version, faults } = await currentReport(ports, org, report);
      if (version === undefined && faults.length === 0) throw notFoundError();
      const entry = await entryOf(org, report, await ports.pauses.list());
      const none = {
        ...entry,
        owner: null,
        timezone: null,
        text: null,
        digest: null,
        slots: [],
        outline: null,
        workbook: null,
      };
      if (version === undefined) return none;
      const { definition, settings } = version;
      const timezone = definition.timezone ?? settings.timezone;
      const slots = nextReportSlots(timetableOf(definition, settings), ports.clock.now(), SHOWN_SLOTS);
      const good = ports.jobs().lastKnownGood.reports.get(`${org}/${report}`);
      return {
        ...entry,
        owner: definition.owner,
        timezone,
        text: good?.summary.digest === definition.digest ? good.read().text : null,
        digest: definition.digest,
        slots: slots.map((slot) => slotView(slot, definition, settings.timezone)),
        outline: outlineReport(version, ports.clock.now()),
        workbook: await ports.viewTemplate(version),
      };
    },

    titleOf: (org, report) =>
      canSee(principal, org) ? summariesOf(ports.jobs()).get(`${org}/${report}`)?.title : undefined,

    periods: async (org, report, specs) => {
      assertVisible(principal, org);
      const { version, faults } = await currentReport(ports, org, report);
      if (version === undefined && faults.length === 0) throw notFoundError();
      if (version === undefined) return [];
      const now = ports.clock.now();
      return specs.map((spec) => periodOf(version.definition, version.settings, now, spec));
    },
  };
}

/** The organization of `org/report`, or the name itself. */
const orgOf = (name: string): string => name.split('/', 1)[0] ?? '';

/** Sorted names `org/report` of active reports and of invalid files. */
function reportNames({ reports, sources }: Definitions): readonly string[] {
  const names = new Set(reports.keys());
  for (const name of sources.keys()) if (name.includes('/')) names.add(name);
  return [...names].sort();
}

/** Sorted names of organizations. */
function organizationNames(jobs: Definitions): readonly string[] {
  const named = [...jobs.orgs.keys(), ...jobs.sources.keys()].map(orgOf);
  return [...new Set(named)].filter((org) => ID_PATTERN.test(org) && isOrganization(jobs, org)).sort();
}

const pauseOf = (pauses: readonly Pause[], org: string, report: string | null): Pause | null =>
  pauses.find((pause) => pause.org === org && pause.report === report) ?? null;
