import type { OrgSettings } from '../../define/org.ts';
import type { Access, BudgetLines } from '../access.ts';
import { maySee, type Principal } from '../auth/tokens.ts';
import type { ReportsPorts } from './reports.ts';

export interface BudgetsPorts extends Pick<ReportsPorts, 'jobs'> {
  /** The lines of these organizations' keys, asked of Redis alone. Throws `redis.unreachable`. */
  readonly lines: (orgs: readonly OrgSettings[]) => Promise<BudgetLines>;
}

const NOT_KNOWN = 'Its API key is not known to this process; an operator is told why.';

/** The lines of API keys. */
export function budgetsAccess({ jobs, lines }: BudgetsPorts, principal: Principal): Pick<Access, 'budgets'> {
  return {
    budgets: async () => {
      const found = await lines([...jobs().orgs.values()].filter(({ id }) => maySee(principal, id)));
      if (principal.role === 'operator') return found;
      // The reason names a variable or a path of this machine, for whoever can mend it.
      return { ...found, unknown: found.unknown.map(({ org }) => ({ org, why: NOT_KNOWN })) };
    },
  };
}
