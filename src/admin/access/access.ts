import type { ProcessReport } from '../../queue/process-reports.ts';
import type { AuditEvent, AuditPage } from '../../services/audit-log.ts';
import type { BudgetOverview } from '../../services/budgets/inspect-budgets.ts';
import type { DeploymentProblem } from '../../services/deployment/probe.ts';
import { type ForecastDocument, forecastDocument } from '../../services/forecast/forecast-document.ts';
import type { ForecastWindow } from '../../services/forecast/forecast-run.ts';
import { canSee, type Principal } from '../auth/tokens.ts';
import { correctionsAccess } from './corrections.ts';
import { deliveriesAccess, denialsAccess, listingsAccess, recipientsAccess, switchesAccess } from './deliveries.ts';
import { assertVisible, notFoundError, visibleOrgs } from './guards.ts';
import { reportsAccess } from './reports.ts';
import { reviewsAccess } from './reviews.ts';
import { runsAccess } from './runs.ts';
import { selectionsAccess } from './selections.ts';
import type { AdminServices } from './services.ts';

/**
 * What a principal may see and do. All requests of the API and the page go through it.
 *
 * Data of another organization does not exist for the principal: `request.not_found`. Actions throw `auth.forbidden` for a
 * viewer, and are recorded in the audit log once they have changed something. Each method throws `redis.unreachable`.
 *
 * Run and delivery ids may be prefixes of eight digits or more that match one visible item; otherwise `run.ambiguous`,
 * `delivery.ambiguous`, or `usage.invalid` for fewer digits.
 */
export type Access = ReturnType<typeof createAccess>;

export interface Processes {
  readonly reports: readonly ProcessReport[];
  /** Processes without a report: they run 0.2.0 or older, or have just started. */
  readonly silent: readonly { readonly self: string; readonly roles: readonly string[] }[];
}

const KEY_UNKNOWN_MESSAGE = 'This process does not have its API key. Operators can see the reason.';

/** Creates the access of a principal. Does not call any service yet. */
export const createAccess = (services: AdminServices, principal: Principal) => ({
  principal,
  ...reportsAccess(services, principal),
  ...runsAccess(services, principal),
  ...reviewsAccess(services, principal),
  ...deliveriesAccess(services, principal),
  ...recipientsAccess(services, principal),
  ...correctionsAccess(services, principal),
  ...listingsAccess(services, principal),
  ...selectionsAccess(services, principal),
  ...switchesAccess(services, principal),
  ...denialsAccess(services, principal),

  /**
   * Entries of the audit log, newest first. Entries without an organization are only for operators of all
   * organizations.
   */
  audit: async ({
    org,
    ...filter
  }: {
    readonly org?: string | undefined;
    readonly event?: AuditEvent | undefined;
    readonly who?: string | undefined;
    readonly after?: string | undefined;
    readonly limit: number;
  }): Promise<AuditPage> =>
    services.audit.list({
      ...filter,
      orgs: visibleOrgs(principal, org),
      includeGlobal: org === undefined && principal.orgs === '*' && principal.role === 'operator',
    }),

  /** The processes of the deployment, for principals of all organizations. Throws `request.not_found`. */
  processes: async (): Promise<Processes> => {
    if (principal.orgs !== '*') throw notFoundError();
    const [reports, roles] = await Promise.all([services.processes(), services.processRoles()]);
    const known = new Set(reports.map(({ self }) => self));
    return { reports, silent: [...roles].flatMap(([self, of]) => (known.has(self) ? [] : [{ self, roles: of }])) };
  },

  /** The budgets of the API keys of the visible organizations. */
  budgets: async (): Promise<BudgetOverview> => {
    const visible = [...services.jobs().orgs.values()].filter(({ id }) => canSee(principal, id));
    const found = await services.budgetsOf(visible);
    if (principal.role === 'operator') return found;
    // The reason names a variable or a path of this machine, so only operators see it.
    return { ...found, unknown: found.unknown.map(({ org }) => ({ org, why: KEY_UNKNOWN_MESSAGE })) };
  },

  /**
   * What the runs of a window are expected to do. Counts only the calls on shared keys of organizations that the
   * principal may not see. Throws `definition.busy`.
   */
  forecast: async (window: ForecastWindow, org?: string): Promise<ForecastDocument> => {
    if (org !== undefined) {
      assertVisible(principal, org);
      if (!services.jobs().orgs.has(org)) throw notFoundError();
    }
    const isShown = (of: string): boolean => canSee(principal, of) && (org ?? of) === of;
    return forecastDocument(await services.forecast(window), isShown);
  },

  /**
   * Why reports do not go out, or soon will not. Problems that name servers or processes are for principals of all
   * organizations. Other principals see the effect on their runs.
   */
  deploymentProblems: async (): Promise<readonly DeploymentProblem[]> =>
    (await services.deploymentProblems()).filter(
      ({ orgs }) => orgs === undefined || principal.orgs === '*' || orgs.some((org) => canSee(principal, org)),
    ),
});
