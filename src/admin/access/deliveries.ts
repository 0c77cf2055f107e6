import type { Decisions, DeliveryRow } from '../../queue/decisions.ts';
import { type RunIds, resolveDeliveryId, resolveRunId } from '../../queue/short-id.ts';
import type { Access } from '../access.ts';
import type { Audit } from '../auth/audit.ts';
import type { Principal } from '../auth/tokens.ts';
import { doer, notThere, requireOperator, requireSeen } from './may.ts';

export interface DeliveriesPorts {
  readonly decisions: Pick<Decisions, 'page' | 'find' | 'recover' | 'resolve'>;
  readonly runs: RunIds;
  readonly audit: Pick<Audit, 'tell'>;
}

/** Deliveries, and what may be decided of them. */
export function deliveriesAccess(
  { decisions, runs, audit }: DeliveriesPorts,
  principal: Principal,
): Pick<Access, 'deliveries' | 'delivery' | 'resolve'> {
  const visible = async (text: string, find: Decisions['find']): Promise<DeliveryRow> => {
    const id = await resolveDeliveryId(text, { runs, deliveries: decisions }, principal.orgs);
    const row = id === undefined ? undefined : await find(id);
    if (row === undefined) throw notThere();
    requireSeen(principal, row.org);
    return row;
  };
  const delivery = (text: string) => visible(text, decisions.find);
  return {
    deliveries: async ({ org, run, ...filter }) => {
      if (org !== undefined) requireSeen(principal, org);
      const orgs = org === undefined ? principal.orgs : [org];
      if (run === undefined) return decisions.page({ orgs, ...filter });
      const id = await resolveRunId(run, runs, principal.orgs);
      return id === undefined ? { deliveries: [], next: null } : decisions.page({ orgs, run: id, ...filter });
    },

    delivery,

    resolve: async (text, as, reason) => {
      // Searching the archive is for whoever may decide.
      const recover = (id: string) => decisions.recover(id, principal.orgs);
      const { id } = await visible(text, principal.role === 'operator' ? recover : decisions.find);
      requireOperator(principal);
      const row = await decisions.resolve(id, as, { by: principal.name, reason });
      const { run, org, report } = row;
      await audit.tell({
        event: 'delivery.resolved',
        ...doer(principal),
        delivery: id,
        run,
        org,
        report,
        why: `${as === 'sent' ? 'declared sent' : 'to be sent again'}: ${reason}`,
      });
      return row;
    },
  };
}
