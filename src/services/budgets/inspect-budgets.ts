import type { BudgetEntry, BudgetOverview } from '../../admin/access/access.ts';
import type { Clock } from '../../base/clock.ts';
import { RATE_LIMITS } from '../../contract/limits.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { BudgetLimits, BudgetState } from '../../fetch/rate-limit/budget.ts';
import { expectedFinish, type InspectBudgetsPorts, inspectBudgets } from './budgets.ts';

/** The lines of the keys of these organizations, for people to look at. Two commands for each key. */
export async function budgetOverview(
  orgs: readonly OrgSettings[],
  ports: InspectBudgetsPorts & { readonly clock: Clock },
): Promise<BudgetOverview> {
  const { keys, unknown } = await inspectBudgets(orgs, ports);
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
    budgets: keys.flatMap(({ organizations, limits, metrics, reads }) => [
      line('metrics', organizations, limits, metrics),
      ...(reads === null ? [] : [line('reads', organizations, RATE_LIMITS.reads, reads)]),
    ]),
    unknown: unknown.map(({ org, error }) => ({ org, why: error.message })),
  };
}
