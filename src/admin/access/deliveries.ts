import type { RunIdLookup } from '../../queue/runs/run-ids.ts';
import type { ReadingSummary } from '../../queue/schedules/reading-index.ts';
import type { DecisionService, DeliveryPage, DeliveryRow } from '../../services/deliveries/decisions.ts';
import type { DeliveryFilter } from '../../services/deliveries/query-deliveries.ts';
import { listReceived, type ReceivedPage } from '../../services/listings/received.ts';
import { runPartsFilter } from '../../services/listings/run-parts.ts';
import { resolveDeliveryId, resolveRunId } from '../../services/runs/resolve-id.ts';
import { canSee, type Principal } from '../auth/tokens.ts';
import { assertOperator, assertVisible, auditActor, getVisibleRun, notFoundError, visibleOrgs } from './guards.ts';
import type { RunsFilter } from './runs.ts';
import type { AdminServices } from './services.ts';

export type DeliveriesFilter = Omit<DeliveryFilter, 'orgs'> & Pick<RunsFilter, 'org'>;

/** `limit`: maximum number of runs to read, newest first. */
export type ReceivedFilter = Omit<RunsFilter, 'error' | 'states' | 'since' | 'until'> & Pick<DeliveryFilter, 'state'>;

/** One delivery, and the decisions about deliveries. */
export function deliveriesAccess(
  services: Pick<AdminServices, 'decisions'> & { readonly runs: RunIdLookup },
  principal: Principal,
) {
  const { decisions, runs } = services;
  const visible = async (text: string, find: DecisionService['find']): Promise<DeliveryRow> => {
    const id = await resolveDeliveryId(text, { runs, deliveries: decisions }, principal.orgs);
    const row = id === undefined ? undefined : await find(id);
    if (row === undefined) throw notFoundError();
    assertVisible(principal, row.org);
    return row;
  };
  return {
    deliveries: async ({ org, run, ...filter }: DeliveriesFilter): Promise<DeliveryPage> => {
      const orgs = visibleOrgs(principal, org);
      if (run === undefined) return decisions.page({ orgs, ...filter });
      const id = await resolveRunId(run, runs, principal.orgs);
      return id === undefined ? { deliveries: [], next: null } : decisions.page({ orgs, run: id, ...filter });
    },

    delivery: (text: string): Promise<DeliveryRow> => visible(text, decisions.find),

    /** Throws `delivery.conflict`. */
    resolve: async (text: string, as: 'sent' | 'resend', reason: string): Promise<DeliveryRow> => {
      // Recovery searches the archive, so only operators may cause it.
      const recover = (id: string) => decisions.recover(id, principal.orgs);
      const { id } = await visible(text, principal.role === 'operator' ? recover : decisions.find);
      assertOperator(principal);
      return decisions.resolve(id, as, auditActor(principal, reason));
    },

    /**
     * Decides about several deliveries of a run, or about none if one cannot be decided: the given ones, or `all` with
     * an unknown result. Returns their new states. Throws `delivery.conflict`.
     */
    resolveMany: async (
      text: string,
      which: readonly string[] | 'all',
      as: 'sent' | 'resend',
      reason: string,
    ): Promise<readonly DeliveryRow[]> => {
      const { id } = await getVisibleRun(services, principal, text);
      assertOperator(principal);
      return decisions.resolveMany(id, which, as, auditActor(principal, reason));
    },
  };
}

/** Listings of the visible organizations. */
export const listingsAccess = (services: AdminServices, principal: Principal) => ({
  /** The deliveries to matching recipients, grouped by run, newest first. */
  received: async ({ org, report, match, to, period, ...filter }: ReceivedFilter): Promise<ReceivedPage> => {
    const orgs = visibleOrgs(principal, org);
    const { reports, begins } = await runPartsFilter({ match, period }, orgs, services, services.jobs());
    return listReceived({ ...filter, orgs, to, begins, report, reports }, services);
  },

  /** Organizations that store readings of current counts, with the readings missed lately. */
  readings: async (): Promise<readonly ReadingSummary[]> =>
    (await services.readings.list()).filter(({ org }) => canSee(principal, org)),
});
