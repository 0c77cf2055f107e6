import type { Clock } from '../../base/clock.ts';
import { RATE_LIMITS } from '../../contract/limits.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { BudgetLimits, BudgetState } from '../../fetch/rate-limit/budget.ts';
import { expectedFinish, type InspectBudgetsPorts, inspectBudgets } from './budgets.ts';

/** Lines by key; and organizations whose key this process cannot look up, so that nothing is told of its line. */
export interface BudgetOverview {
  readonly budgets: readonly BudgetEntry[];
  readonly unknown: readonly { readonly org: string; readonly why: string }[];
}

/** The line of one API key for one kind of calls. */
export interface BudgetEntry {
  /** Visible ones alone: that strangers share the key is not told. */
  readonly organizations: readonly string[];
  readonly of: 'metrics' | 'reads';
  /** Tokens there are at the full rate, in a window of so many ms. */
  readonly calls: number;
  readonly windowMs: number;
  readonly state: BudgetState;
  /** When a call that is asked for now can expect its token, if nobody goes before it: epoch ms, now while one is free. */
  readonly expected: number;
}

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
