import type { Access } from '../access.ts';
import type { Audit } from '../auth/audit.ts';
import type { Principal } from '../auth/tokens.ts';
import { requireSeen } from './may.ts';

export interface AuditPorts {
  readonly audit: Pick<Audit, 'list'>;
}

/** Who did what: of its organizations for everybody, of the house for an operator of all. */
export const auditAccess = ({ audit }: AuditPorts, principal: Principal): Pick<Access, 'audit'> => ({
  audit: async ({ org, ...filter }) => {
    if (org !== undefined) requireSeen(principal, org);
    return audit.list({
      ...filter,
      orgs: org === undefined ? principal.orgs : [org],
      house: org === undefined && principal.orgs === '*' && principal.role === 'operator',
    });
  },
});
