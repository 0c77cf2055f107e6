import type { RunIdLookup } from '../../queue/runs/run-ids.ts';
import type { AuditLog } from '../../services/audit-log.ts';
import { resolveDeliveries, resolveDelivery } from '../../services/deliveries/audited-decisions.ts';
import type { DecisionService, DeliveryRow } from '../../services/deliveries/decisions.ts';
import { resolveDeliveryId, resolveRunId } from '../../services/runs/resolve-id.ts';
import { listReceived, type ReceivedPorts } from '../../services/search/received.ts';
import { type RunPartsPorts, runPartsFilter } from '../../services/search/run-parts.ts';
import { type SearchPorts, search } from '../../services/search/search.ts';
import type { Principal } from '../auth/tokens.ts';
import { type Access, assertOperator, assertVisible, auditActor, notFoundError } from './access.ts';
import { getVisibleRun } from './runs.ts';

export interface DeliveriesPorts {
  readonly decisions: Pick<DecisionService, 'page' | 'find' | 'recover' | 'resolve' | 'resolveMany'>;
  readonly runs: RunIdLookup;
  readonly audit: Pick<AuditLog, 'record'>;
}

/** Deliveries, and decisions about them. */
export function deliveriesAccess(
  { decisions, runs, audit }: DeliveriesPorts,
  principal: Principal,
): Pick<Access, 'deliveries' | 'delivery' | 'resolve' | 'resolveMany'> {
  const visible = async (text: string, find: DecisionService['find']): Promise<DeliveryRow> => {
    const id = await resolveDeliveryId(text, { runs, deliveries: decisions }, principal.orgs);
    const row = id === undefined ? undefined : await find(id);
    if (row === undefined) throw notFoundError();
    assertVisible(principal, row.org);
    return row;
  };
  const delivery = (text: string) => visible(text, decisions.find);
  return {
    deliveries: async ({ org, run, ...filter }) => {
      if (org !== undefined) assertVisible(principal, org);
      const orgs = org === undefined ? principal.orgs : [org];
      if (run === undefined) return decisions.page({ orgs, ...filter });
      const id = await resolveRunId(run, runs, principal.orgs);
      return id === undefined ? { deliveries: [], next: null } : decisions.page({ orgs, run: id, ...filter });
    },

    delivery,

    resolve: async (text, as, reason) => {
      // Only an operator may cause a search of the archive.
      const recover = (id: string) => decisions.recover(id, principal.orgs);
      const { id } = await visible(text, principal.role === 'operator' ? recover : decisions.find);
      assertOperator(principal);
      return resolveDelivery(id, as, auditActor(principal, reason), { decisions, audit });
    },

    resolveMany: async (text, which, as, reason) => {
      const { id } = await getVisibleRun({ runs }, principal, text);
      assertOperator(principal);
      return resolveDeliveries(id, which, as, auditActor(principal, reason), { decisions, audit });
    },
  };
}

export type SearchAccessPorts = Omit<SearchPorts, 'now'> & ReceivedPorts & RunPartsPorts;

/** Searches among the visible organizations. */
export const searchAccess = (ports: SearchAccessPorts, principal: Principal): Pick<Access, 'search' | 'received'> => ({
  search: (text) => search(text, principal.orgs, { ...ports, now: ports.clock.now }),

  received: async ({ org, report, match, to, period, ...filter }) => {
    if (org !== undefined) assertVisible(principal, org);
    const orgs = org === undefined ? principal.orgs : [org];
    const { reports, begins } = await runPartsFilter({ match, period }, orgs, ports);
    return listReceived({ ...filter, orgs, to, begins, report, reports }, ports);
  },
});
