import { DocketError } from '../../base/error.ts';
import type { AuditActor } from '../../services/audit-log.ts';
import { canSee, type Principal } from '../auth/tokens.ts';

/** The same error for what belongs to another organization and for what does not exist: existence is not revealed. */
export const notFoundError = (): DocketError => new DocketError('request.not_found', 'Not found.');

/** Throws `request.not_found` for an organization that does not exist for the principal. */
export function assertVisible(principal: Principal, org: string): void {
  if (!canSee(principal, org)) throw notFoundError();
}

/** Throws `auth.forbidden` for a viewer. Call `assertVisible` first. */
export function assertOperator({ role }: Principal): void {
  if (role === 'operator') return;
  throw new DocketError('auth.forbidden', 'This token is read-only.', {
    expected: 'a token with the role operator',
    got: `the role ${role}`,
  });
}

/** The principal as the audit log records it. */
export const auditActor = ({ name, from }: Principal, reason: string): AuditActor => ({ by: name, from, reason });
