import type { Decisions, DeliveryRow } from '../../queue/decisions.ts';
import type { Access } from '../access.ts';
import type { Audit } from '../auth/audit.ts';
import type { Principal } from '../auth/tokens.ts';
import { doer, isId, notThere, requireOperator, requireSeen } from './may.ts';

export interface DeliveriesPorts {
  readonly decisions: Pick<Decisions, 'page' | 'find' | 'resolve'>;
  readonly audit: Pick<Audit, 'tell'>;
}

/** Deliveries, and what may be decided of them. */
export function deliveriesAccess(
  { decisions, audit }: DeliveriesPorts,
  principal: Principal,
): Pick<Access, 'deliveries' | 'delivery' | 'resolve'> {
  const delivery = async (id: string): Promise<DeliveryRow> => {
    const row = isId(id) ? await decisions.find(id) : undefined;
    if (row === undefined) throw notThere();
    requireSeen(principal, row.org);
    return row;
  };
  return {
    deliveries: async ({ org, ...filter }) => {
      if (org !== undefined) requireSeen(principal, org);
      return decisions.page({ orgs: org === undefined ? principal.orgs : [org], ...filter });
    },

    delivery,

    resolve: async (id, as, reason) => {
      await delivery(id);
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
