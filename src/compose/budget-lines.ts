import type { BudgetEntry, BudgetLines } from '../admin/access.ts';
import type { Clock } from '../base/clock.ts';
import { RATES } from '../contract/limits.ts';
import type { OrgSettings } from '../define/org.ts';
import type { BudgetLimits, BudgetState } from '../fetch/budget.ts';
import { type BudgetLook, expectedFinish, lookAtBudgets } from './budgets.ts';

/** The lines of the keys of these organizations, for people to look at. Two commands for each key. */
export async function budgetLines(
  orgs: readonly OrgSettings[],
  ports: BudgetLook & { readonly clock: Clock },
): Promise<BudgetLines> {
  const { keys, unknown } = await lookAtBudgets(orgs, ports);
  const now = ports.clock.now();
  const line = (
    of: BudgetEntry['of'],
    organizations: readonly string[],
    { calls, windowMs }: BudgetLimits,
    state: BudgetState,
  ): BudgetEntry => ({
    organizations,
    of,
    calls,
    windowMs,
    state,
    expected: expectedFinish(state, windowMs, 1, now),
  });
  return {
    lines: keys.flatMap(({ organizations, limits, metrics, reads }) => [
      line('metrics', organizations, limits, metrics),
      ...(reads === null ? [] : [line('reads', organizations, RATES.reads, reads)]),
    ]),
    unknown: unknown.map(({ org, error }) => ({ org, why: error.message })),
  };
}
