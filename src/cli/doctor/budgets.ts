import { secretSource } from '../../base/secret.ts';
import { budgetConflicts, CONFLICT_NEXT } from '../../compose/key-limits.ts';
import type { Surroundings } from '../../compose/ports.ts';
import type { Jobs } from '../../define/load.ts';
import { type Finding, fail } from './finding.ts';

/** A finding for each API key whose organizations set different budgets for it; nothing is asked but the keys themselves. */
export async function examineBudgetSettings(
  { orgs }: Pick<Jobs, 'orgs'>,
  around: Pick<Surroundings, 'env' | 'learn' | 'redact'>,
): Promise<readonly Finding[]> {
  const conflicts = await budgetConflicts(orgs.values(), secretSource(around.env, around));
  return conflicts.map(({ organizations, message }) => ({
    what: `Budget settings of ${organizations.join(', ')}`,
    ...fail(message, `${CONFLICT_NEXT.charAt(0).toUpperCase()}${CONFLICT_NEXT.slice(1)}.`),
  }));
}
