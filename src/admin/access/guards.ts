import { DocketError } from '../../base/error.ts';
import type { RunIdLookup } from '../../queue/runs/run-ids.ts';
import type { RunRecord } from '../../run/run-record.ts';
import type { AuditActor } from '../../services/audit-log.ts';
import { resolveRunId } from '../../services/runs/resolve-id.ts';
import { canSee, type Principal } from '../auth/tokens.ts';

/**
 * The error for a resource of another organization and for one that does not exist. It is the same, so it reveals no
 * existence.
 */
export const notFoundError = (): DocketError => new DocketError('request.not_found', 'Not found.');

/** Throws `request.not_found` for an organization that does not exist for the principal. */
export function assertVisible(principal: Principal, org: string): void {
  if (!canSee(principal, org)) throw notFoundError();
}

/** The organizations that a listing reads. Throws `request.not_found` for one that does not exist for the principal. */
export function visibleOrgs(principal: Principal, org: string | undefined): readonly string[] | '*' {
  if (org === undefined) return principal.orgs;
  assertVisible(principal, org);
  return [org];
}

/** Throws `auth.forbidden` for a viewer. Call `assertVisible` first. */
export function assertOperator({ role, kind }: Principal): void {
  if (role === 'operator') return;
  throw new DocketError('auth.forbidden', `This ${kind} is read-only.`, {
    expected: `${kind === 'token' ? 'a token' : 'an account'} with the role operator`,
    got: `the role ${role}`,
  });
}

/** The principal as the audit log records it. */
export const auditActor = ({ name, from }: Principal, reason: string): AuditActor => ({ by: name, from, reason });

/**
 * The run with this id or prefix, if the principal may see it. Throws `request.not_found`, and what `resolveRunId`
 * throws.
 */
export async function getVisibleRun(
  { runs }: { readonly runs: RunIdLookup },
  principal: Principal,
  text: string,
): Promise<RunRecord> {
  const id = await resolveRunId(text, runs, principal.orgs);
  const record = id === undefined ? undefined : await runs.get(id);
  if (record === undefined) throw notFoundError();
  assertVisible(principal, record.org);
  return record;
}
