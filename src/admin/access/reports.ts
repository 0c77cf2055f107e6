import { z } from 'zod';
import { comparePositions, type Diagnostic, formatDiagnostic } from '../../definitions/diagnostics/diagnostic.ts';
import { type Definitions, reportDiagnostics } from '../../definitions/load/load-definitions.ts';
import { type Period, resolveReportPeriod } from '../../definitions/periods/period.ts';
import { formatSchedule, type SlotView, slotSchema, slotView } from '../../definitions/schedules/slot-view.ts';
import { buildTimetable, nextReportSlots } from '../../definitions/schedules/slots.ts';
import type { PeriodSpec } from '../../definitions/schema/report-definition.ts';
import type { TemplateView } from '../../definitions/schema/template-view.ts';
import { ID_PATTERN } from '../../definitions/schema/values/primitives.ts';
import type { Pause } from '../../queue/schedules/pauses.ts';
import type { RunRecord } from '../../run/run-record.ts';
import { currentReport, isOrganization } from '../../services/definitions/current-report.ts';
import { outlineReport, type ReportOutline, scheduleWords } from '../../services/definitions/report-outline.ts';
import { matchReports, splitWords } from '../../services/listings/match-reports.ts';
import { pauseSchedules, resumeSchedules } from '../../services/runs/pause-schedules.ts';
import { canSee, type Principal } from '../auth/tokens.ts';
import { assertOperator, assertVisible, auditActor, notFoundError } from './guards.ts';
import type { AdminServices } from './services.ts';

export interface OrganizationEntry {
  readonly org: string;
  readonly name: string;
  /** Null if no valid `org.yaml` was loaded. */
  readonly timezone: string | null;
  readonly reports: number;
  readonly pause: Pause | null;
}

export interface ReportsFilter {
  readonly org?: string | undefined;
  /** Words of the report's id or title, or of its organization's id or name. Case does not matter. */
  readonly match?: string | undefined;
  /** `paused`: the report or its organization is paused. `errors`: its file has errors. */
  readonly state?: 'paused' | 'errors' | undefined;
  /** The `next` of the previous page: the name of its last report, `org/report`. */
  readonly after?: string | undefined;
  readonly limit: number;
}

export interface ReportPage {
  readonly reports: readonly ReportEntry[];
  readonly next: string | null;
}

export interface ReportEntry {
  readonly org: string;
  readonly report: string;
  readonly title: string;
  /** One line per schedule (`formatSchedule`). Empty if the report only runs on demand. */
  readonly schedules: readonly string[];
  /** The schedules in words: `at 08:00, only on Monday`. */
  readonly scheduleWords: readonly string[];
  /** The report's own pause or its organization's. */
  readonly pause: Pause | null;
  /** Diagnostics of its file. The report uses its last good version, if there is one. */
  readonly faults: readonly string[];
  /** The newest run in any state; null if the report has no run. */
  readonly last: RunRecord | null;
}

/** All fields but the slots are null for a report without a valid version. */
export interface ReportDetail extends ReportEntry {
  readonly owner: string | null;
  readonly timezone: string | null;
  /**
   * The text of the active definition: YAML with references to secrets. Null for an invalid text, which may contain a
   * secret, and if only Redis has the active version.
   */
  readonly text: string | null;
  readonly digest: string | null;
  /** The next slots, at most five. */
  readonly slots: readonly SlotView[];
  /** Who gets what, when and in which form, for people who do not read YAML. */
  readonly outline: ReportOutline | null;
  /** Which parts of its workbook template are filled with what. Null also for a report without a template. */
  readonly workbook: TemplateView | null;
}

export interface SlotFilter {
  readonly org?: string | undefined;
  readonly report?: string | undefined;
  readonly from?: number | undefined;
  readonly until?: number | undefined;
  readonly limit: number;
}

export const scheduledSchema = slotSchema
  .extend({
    org: z.string().meta({ example: 'acme' }),
    report: z.string().meta({ example: 'weekly' }),
    title: z.string(),
    paused: z.boolean().describe('The report or its organization is paused: the run waits until it is resumed.'),
  })
  .meta({ id: 'ScheduledSlot' });
export type SlotEntry = z.infer<typeof scheduledSchema>;

/** The result of a validation. */
export const validationSchema = z
  .object({
    ok: z.boolean(),
    faults: z
      .array(
        z.object({
          line: z.int(),
          column: z.int(),
          text: z.string(),
          code: z
            .string()
            .optional()
            .describe(
              'Stable code of the kind of error, e.g. field.unknown. definition.over_limit: reading the text would take too long or too much memory, so Docket stopped.',
            ),
        }),
      )
      .readonly()
      .describe('All errors and warnings, as `docket check` prints them; line and column count from 1.'),
    unchecked: z
      .string()
      .nullable()
      .describe('Why the text was not checked against the metric catalog; null if it was checked, or has errors.'),
  })
  .meta({ id: 'Validation' });
type Validation = z.infer<typeof validationSchema>;

/** Maximum slots in the detail of a report. */
const SHOWN_SLOTS = 5;

/** The current organizations and reports, with their slots, plans and pauses. */
export function reportsAccess(services: AdminServices, principal: Principal) {
  const { jobs, clock, pauses } = services;
  /** Throws `request.not_found` if the principal cannot see the report. A report with an invalid file exists. */
  const visibleReport = async (org: string, report: string) => {
    assertVisible(principal, org);
    const current = await currentReport(services, org, report);
    if (current.version === undefined && current.faults.length === 0) throw notFoundError();
    return current;
  };
  const buildReportEntry = async (org: string, report: string, paused: readonly Pause[]): Promise<ReportEntry> => {
    const [{ version, faults }, [last]] = await Promise.all([
      currentReport(services, org, report),
      services.runs.list({ org, report, limit: 1 }),
    ]);
    return {
      org,
      report,
      title: version?.definition.title ?? report,
      schedules: version?.definition.schedule.map(formatSchedule) ?? [],
      scheduleWords: version?.definition.schedule.map(scheduleWords) ?? [],
      pause: findPause(paused, org, report) ?? findPause(paused, org, null),
      faults,
      last: last ?? null,
    };
  };

  return {
    kindLabels: services.kindLabels,

    /** Organizations that have a folder of definitions, by id. */
    organizations: async (): Promise<readonly OrganizationEntry[]> => {
      const loaded = jobs();
      const paused = await pauses.list();
      const counts = new Map<string, number>();
      for (const name of reportNames(loaded)) counts.set(parseOrg(name), (counts.get(parseOrg(name)) ?? 0) + 1);
      return organizationNames(loaded)
        .filter((org) => canSee(principal, org))
        .map((org) => {
          const settings = loaded.orgs.get(org);
          return {
            org,
            name: settings?.name ?? org,
            timezone: settings?.timezone ?? null,
            reports: counts.get(org) ?? 0,
            pause: findPause(paused, org, null),
          };
        });
    },

    /** The current reports by organization and id, including those with invalid files. */
    reports: async ({ org, match, state, after = '', limit }: ReportsFilter): Promise<ReportPage> => {
      const loaded = jobs();
      if (org !== undefined) {
        assertVisible(principal, org);
        if (!isOrganization(loaded, org)) throw notFoundError();
      }
      const paused = await pauses.list();
      const matching =
        match === undefined
          ? undefined
          : new Set(matchReports(splitWords(match), loaded, []).map((found) => `${found.org}/${found.report}`));
      const isPaused = new Set(paused.map((pause) => `${pause.org}/${pause.report ?? '*'}`));
      const visible = reportNames(loaded).filter((name) => {
        const of = parseOrg(name);
        return (
          name > after &&
          canSee(principal, of) &&
          (org === undefined || of === org) &&
          (matching?.has(name) ?? true) &&
          (state !== 'paused' || isPaused.has(name) || isPaused.has(`${of}/*`)) &&
          (state !== 'errors' || reportDiagnostics(loaded, name).length > 0)
        );
      });
      // Each report needs a read for its newest run, so the list has pages.
      const names = visible.slice(0, limit);
      const reports = await Promise.all(
        names.map((name) => buildReportEntry(parseOrg(name), name.slice(name.indexOf('/') + 1), paused)),
      );
      return { reports, next: visible.length > names.length ? (names.at(-1) ?? null) : null };
    },

    report: async (org: string, report: string): Promise<ReportDetail> => {
      const { version } = await visibleReport(org, report);
      const entry = await buildReportEntry(org, report, await pauses.list());
      const none = { owner: null, timezone: null, text: null, digest: null, slots: [], outline: null, workbook: null };
      if (version === undefined) return { ...entry, ...none };
      const { definition, settings } = version;
      const slots = nextReportSlots(buildTimetable(definition, settings), clock.now(), SHOWN_SLOTS);
      const good = jobs().lastKnownGood.reports.get(`${org}/${report}`);
      return {
        ...entry,
        owner: definition.owner,
        timezone: definition.timezone ?? settings.timezone,
        text: good?.definition.digest === definition.digest ? good.text : null,
        digest: definition.digest,
        slots: slots.map((slot) => slotView(slot, definition, settings.timezone)),
        outline: outlineReport(version, clock.now()),
        workbook: await services.viewTemplate(version),
      };
    },

    /** The title of a report; undefined if this process has loaded no valid version of it. Does no I/O. */
    titleOf: (org: string, report: string): string | undefined =>
      canSee(principal, org) ? jobs().reports.get(`${org}/${report}`)?.title : undefined,

    /** Resolves periods for the report; none while it is not active. @param specs undefined: the definition's period */
    periods: async (
      org: string,
      report: string,
      specs: readonly (PeriodSpec | undefined)[],
    ): Promise<readonly Period[]> => {
      const { version } = await visibleReport(org, report);
      if (version === undefined) return [];
      const now = clock.now();
      return specs.map((spec) => resolveReportPeriod(version.definition, version.settings, now, spec));
    },

    /** The next slots, soonest first, by the definitions of this process. @param until epoch ms */
    slots: async ({ org, report, from = clock.now(), until, limit }: SlotFilter): Promise<readonly SlotEntry[]> => {
      const loaded = jobs();
      if (org !== undefined) {
        assertVisible(principal, org);
        if (!loaded.orgs.has(org)) throw notFoundError();
      }
      const which = (of: { readonly org: string; readonly report: string }): boolean =>
        canSee(principal, of.org) && (org ?? of.org) === of.org && (report ?? of.report) === of.report;
      const [found, all] = await Promise.all([
        services.findSlots(loaded, which, { from, until, limit }),
        pauses.list(),
      ]);
      const paused = new Set(all.map((pause) => `${pause.org}/${pause.report ?? '*'}`));
      return found.map(({ slot, definition, settings }) => ({
        ...slotView(slot, definition, settings.timezone),
        org: definition.org,
        report: definition.report,
        title: definition.title,
        paused: paused.has(`${definition.org}/*`) || paused.has(`${definition.org}/${definition.report}`),
      }));
    },

    /**
     * The requests and cost of a run: `docket explain --json`. For an operator it may use a token of the API key; a
     * viewer gets the cached catalog. Throws `plan.invalid`, `catalog.missing` and the errors of the service.
     */
    explain: async (org: string, report: string, period?: PeriodSpec): Promise<unknown> => {
      assertVisible(principal, org);
      const { version } = await currentReport(services, org, report);
      if (version === undefined) throw notFoundError();
      // Each attempt uses a token, even a refused one. A viewer must not be able to use up the budget.
      return services.explainer.explain(version, period, { mayFetch: principal.role === 'operator' });
    },

    /** Validates the text of a definition as a report of this organization. Stores nothing. */
    validate: async (org: string, report: string, text: string): Promise<Validation> => {
      const loaded = jobs();
      assertVisible(principal, org);
      if (!isOrganization(loaded, org)) throw notFoundError();
      const file = `${org}/${report}.yaml`;
      const of = loaded.lastKnownGood.orgs.get(org);
      const { faults, unchecked } = await services.checkText({ text, file, name: { org, report }, of });
      return validation(faults, unchecked);
    },

    pauses: async (): Promise<readonly Pause[]> => (await pauses.list()).filter(({ org }) => canSee(principal, org)),

    /** @param report null: all reports of the organization */
    pause: async (org: string, report: string | null, reason: string): Promise<Pause> => {
      assertVisible(principal, org);
      const exists =
        report === null
          ? isOrganization(jobs(), org)
          : (await currentReport(services, org, report)).version !== undefined;
      if (!exists) throw notFoundError();
      assertOperator(principal);
      return pauseSchedules({ org, report }, auditActor(principal, reason), services);
    },

    // A removed report can still have a pause.
    resume: async (org: string, report: string | null, reason: string): Promise<readonly Pause[]> => {
      assertVisible(principal, org);
      assertOperator(principal);
      return resumeSchedules({ org, report }, auditActor(principal, reason), services);
    },
  };
}

const validation = (faults: readonly Diagnostic[], unchecked: string | null): Validation => ({
  ok: faults.length === 0,
  faults: [...faults].sort(comparePositions).map((fault) => ({
    line: fault.line,
    column: fault.column,
    text: formatDiagnostic(fault),
    ...(fault.code === undefined ? {} : { code: fault.code }),
  })),
  unchecked,
});

/** The organization of `org/report`, or the name itself. */
const parseOrg = (name: string): string => name.split('/', 1)[0] ?? '';

/** Sorted names `org/report` of active reports and of invalid files. */
function reportNames({ reports, sources }: Definitions): readonly string[] {
  const names = new Set(reports.keys());
  for (const name of sources.keys()) if (name.includes('/')) names.add(name);
  return [...names].sort();
}

/** Sorted names of organizations. */
function organizationNames(jobs: Definitions): readonly string[] {
  const named = [...jobs.orgs.keys(), ...jobs.sources.keys()].map(parseOrg);
  return [...new Set(named)].filter((org) => ID_PATTERN.test(org) && isOrganization(jobs, org)).sort();
}

const findPause = (pauses: readonly Pause[], org: string, report: string | null): Pause | null =>
  pauses.find((pause) => pause.org === org && pause.report === report) ?? null;
