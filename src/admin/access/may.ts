import { DocketError } from '../../base/error.ts';
import { maySee, type Principal } from '../auth/tokens.ts';

/** What belongs to another organization and what does not exist at all: nobody can tell the two apart. */
export const notThere = (): DocketError => new DocketError('request.not_found', 'There is nothing here.');

/** Throws `request.not_found` for an organization that does not exist for the principal. */
export function requireSeen(principal: Principal, org: string): void {
  if (!maySee(principal, org)) throw notThere();
}

/** Throws `auth.forbidden` for whoever may only look. Ask first whether he sees what he wants to act on. */
export function requireOperator({ role }: Principal): void {
  if (role === 'operator') return;
  throw new DocketError('auth.forbidden', 'The token may look and not act.', {
    expected: 'a token with the role operator',
    got: `the role ${role}`,
  });
}

/** Who acts and from where, as the audit log tells it. */
export const doer = ({ name, from }: Principal): { readonly who: string; readonly from?: string } => ({
  who: name,
  ...(from === undefined ? {} : { from }),
});
