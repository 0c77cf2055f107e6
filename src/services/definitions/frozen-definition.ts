import { DocketError } from '../../base/error.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { DefinitionStore, FrozenDefinition } from '../../queue/definitions/definition-store.ts';
import { RETENTION_DAYS } from '../../redis/keys.ts';
import type { RunOrder } from '../../run/run-record.ts';
import type { ActiveOrgs } from '../budgets/key-limits.ts';

/**
 * The version of the report that a run uses. Undefined if it has expired, or if the digest belongs to another report: a
 * run must never use another organization's definition. Throws `definition.invalid`, `redis.unreachable`.
 */
export async function findFrozenDefinition(
  { org, report, digest }: Pick<RunOrder, 'org' | 'report' | 'digest'>,
  definitions: DefinitionStore,
): Promise<FrozenDefinition | undefined> {
  const frozen = await definitions.get(digest);
  return frozen?.definition.org === org && frozen.definition.report === report ? frozen : undefined;
}

/** Loads a run's frozen definition. Throws `definition.not_found` if it is no longer stored. */
export async function loadFrozenDefinition(order: RunOrder, definitions: DefinitionStore): Promise<FrozenDefinition> {
  const frozen = await findFrozenDefinition(order, definitions);
  if (frozen !== undefined) return frozen;
  throw new DocketError('definition.not_found', `The definition of run ${order.id} is no longer kept.`, {
    expected: `the version ${order.digest}, for ${RETENTION_DAYS} days after its last use`,
    next: 'Trigger the report again: the new run uses the current version.',
  });
}

/**
 * The settings that an attempt uses: the frozen ones, except for access control. Recipients, API key, private
 * addresses, secrets and destinations are the current ones, so that a removed recipient receives nothing, and a retry
 * works after an addition. The mail server is always the current one: its login does not belong to the report, and an
 * attacker may have written frozen settings.
 */
export function currentSettings(frozen: OrgSettings, orgs: ActiveOrgs): OrgSettings {
  const now = orgs.get(frozen.id);
  const { recipients, api_key, allow_private, secrets, destinations } = now ?? frozen;
  return { ...frozen, recipients, api_key, allow_private, secrets, destinations, smtp: now?.smtp };
}
