import { z } from 'zod';
import type { MayAdmit } from '../../admin/auth/account-method.ts';
import { TOKEN_ROLES, type TokenRole } from '../../admin/auth/tokens.ts';
import { accountKey } from '../../definitions/allow-lists/recipients.ts';
import type { AccountClaims } from './claims.ts';

const access = {
  role: z.enum(TOKEN_ROLES).describe('A viewer reads; an operator also triggers.'),
  orgs: z.union([z.literal('*'), z.array(z.string().min(1)).min(1)]).describe('Organizations it may see, or "*".'),
};
const who = z.string().min(1).max(256);

/** An entry of the mapping file: the accounts it applies to, and what they may do. */
export const accountRuleSchema = z.union(
  [
    z.strictObject({ subject: who.describe('The account with this `sub`.'), ...access }),
    z.strictObject({ email: who.describe('The account with this verified e-mail address.'), ...access }),
    z.strictObject({ group: who.describe('Accounts with this value in the claim with roles or groups.'), ...access }),
  ],
  { error: 'one of subject, email and group, with role (viewer, operator) and orgs (a list, or "*")' },
);
export type AccountRule = z.infer<typeof accountRuleSchema>;

/** What an account may do. */
export interface AccountAccess {
  readonly role: TokenRole;
  readonly orgs: readonly string[] | '*';
}

/** Values of the claim that grant access without an entry: `docket:operator:acme`, `docket:viewer:*`. */
const CLAIM_GRANT = /^docket:(viewer|operator):(\*|[A-Za-z0-9][A-Za-z0-9_-]*)$/;

function parseGrant(value: string): AccountAccess | undefined {
  const [, role, org] = CLAIM_GRANT.exec(value) ?? [];
  if (role === undefined || org === undefined) return undefined;
  return { role: role === 'operator' ? 'operator' : 'viewer', orgs: org === '*' ? '*' : [org] };
}

function applies(rule: AccountRule, { subject, email, emailVerified, groups }: AccountClaims): boolean {
  if ('subject' in rule) return rule.subject === subject;
  if ('group' in rule) return groups.includes(rule.group);
  return emailVerified && email !== undefined && accountKey(email) === accountKey(rule.email);
}

/**
 * What an account may do; undefined if nothing. A principal has one role for all its organizations. So if any entry
 * grants the role operator, entries for viewers do not count: the result never exceeds what the entries grant.
 *
 * @param claimGrants whether values of the claim grant access without an entry
 */
export function accountAccess(
  claims: AccountClaims,
  { rules, claimGrants }: { readonly rules: readonly AccountRule[]; readonly claimGrants: boolean },
): AccountAccess | undefined {
  const grants: readonly AccountAccess[] = [
    ...rules.filter((rule) => applies(rule, claims)),
    ...(claimGrants ? claims.groups.flatMap((value) => parseGrant(value) ?? []) : []),
  ];
  if (grants.length === 0) return undefined;
  const role: TokenRole = grants.some((grant) => grant.role === 'operator') ? 'operator' : 'viewer';
  const orgs = new Set<string>();
  for (const grant of grants) {
    if (grant.role !== role) continue;
    if (grant.orgs === '*') return { role, orgs: '*' };
    for (const org of grant.orgs) orgs.add(org);
  }
  return { role, orgs: [...orgs].sort() };
}

/**
 * Whether an account may get access, if only its address or subject is known. Its groups are unknown, so an entry for a
 * group always counts.
 */
export const mayAdmit =
  ({ rules, claimGrants }: { readonly rules: readonly AccountRule[]; readonly claimGrants: boolean }): MayAdmit =>
  (accounts, org) =>
    claimGrants ||
    rules.some((rule) => {
      if (rule.orgs !== '*' && !rule.orgs.includes(org)) return false;
      if ('group' in rule) return true;
      if ('email' in rule) return accounts.some((account) => accountKey(account) === accountKey(rule.email));
      return accounts.some((account) => account === rule.subject || account.endsWith(` ${rule.subject}`));
    });
