import type { OrgSettings } from '../../define/org.ts';
import type { Access, BudgetLines } from '../access.ts';
import { maySee, type Principal } from '../auth/tokens.ts';
import type { ReportsPorts } from './reports.ts';

export interface BudgetsPorts extends Pick<ReportsPorts, 'jobs'> {
  /** The lines of these organizations' keys, asked of Redis alone. Throws `redis.unreachable`. */
  readonly lines: (orgs: readonly OrgSettings[]) => Promise<BudgetLines>;
}

/** The lines of API keys. */
export function budgetsAccess({ jobs, lines }: BudgetsPorts, principal: Principal): Pick<Access, 'budgets'> {
  return {
    budgets: () => lines([...jobs().orgs.values()].filter(({ id }) => maySee(principal, id))),
  };
}
