import type { OrgSettings } from '../../define/org.ts';
import type { Access, BudgetOverview } from '../access.ts';
import { canSee, type Principal } from '../auth/tokens.ts';
import type { ReportsPorts } from './reports.ts';

export interface BudgetsPorts extends Pick<ReportsPorts, 'jobs'> {
  /** The lines of these organizations' keys, asked of Redis alone. Throws `redis.unreachable`. */
  readonly budgetsOf: (orgs: readonly OrgSettings[]) => Promise<BudgetOverview>;
}

const KEY_UNKNOWN_MESSAGE = 'Its API key is not known to this process; an operator is told why.';

/** The lines of API keys. */
export function budgetsAccess({ jobs, budgetsOf }: BudgetsPorts, principal: Principal): Pick<Access, 'budgets'> {
  return {
    budgets: async () => {
      const found = await budgetsOf([...jobs().orgs.values()].filter(({ id }) => canSee(principal, id)));
      if (principal.role === 'operator') return found;
      // The reason names a variable or a path of this machine, for whoever can mend it.
      return { ...found, unknown: found.unknown.map(({ org }) => ({ org, why: KEY_UNKNOWN_MESSAGE })) };
    },
  };
}
