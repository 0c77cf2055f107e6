import { secretSource } from '../../base/secret.ts';
import { BUDGET_CONFLICT_HINT, budgetConflicts } from '../../compose/key-limits.ts';
import type { AppContext } from '../../compose/ports.ts';
import type { Definitions } from '../../define/load.ts';
import { type Finding, fail } from './finding.ts';

/** A finding for each API key whose organizations set different budgets for it; nothing is asked but the keys themselves. */
export async function checkBudgetSettings(
  { orgs }: Pick<Definitions, 'orgs'>,
  around: Pick<AppContext, 'env' | 'learn' | 'redact'>,
): Promise<readonly Finding[]> {
  const conflicts = await budgetConflicts(orgs.values(), secretSource(around.env, around));
  return conflicts.map(({ organizations, message }) => ({
    what: `Budget settings of ${organizations.join(', ')}`,
    ...fail(message, `${BUDGET_CONFLICT_HINT.charAt(0).toUpperCase()}${BUDGET_CONFLICT_HINT.slice(1)}.`),
  }));
}
