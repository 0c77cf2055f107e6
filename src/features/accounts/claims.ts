import { z } from 'zod';
import { sha256 } from '../../base/sha256.ts';

/** Limits of what is kept from an ID token. */
const MAX_GROUPS = 1_000;
const MAX_VALUE_LENGTH = 256;
/** The audit log can search for names up to this length. */
const MAX_NAME_LENGTH = 100;

/** What the provider says about an account. */
export const accountClaimsSchema = z.object({
  /** Stable id of the account at the provider (`sub`). */
  subject: z.string().min(1),
  email: z.string().optional(),
  /** Only `true` counts: an unverified address may belong to somebody else. */
  emailVerified: z.boolean(),
  /** Only for display: the provider may let its users change it. */
  username: z.string().optional(),
  /** Values of the claim that has roles or groups. */
  groups: z.array(z.string()),
  /** The provider left out the groups, because there are too many. */
  groupsOmitted: z.boolean(),
});
export type AccountClaims = z.infer<typeof accountClaimsSchema>;

export type Claims = Readonly<Record<string, unknown>>;

/**
 * Parses the claims of a UserInfo response, or of an ID token whose signature and audience were checked.
 *
 * @param rolesClaim a claim, or a path such as `realm_access.roles`
 */
export function parseClaims(claims: Claims, subject: string, rolesClaim: string): AccountClaims {
  const email = parseText(claims.email);
  const username = parseText(claims.preferred_username) ?? parseText(claims.name);
  return {
    subject,
    ...(email === undefined ? {} : { email }),
    // Some providers write booleans as text.
    emailVerified: claims.email_verified === true || claims.email_verified === 'true',
    ...(username === undefined ? {} : { username }),
    groups: parseValues(claimAt(claims, rolesClaim)),
    groupsOmitted: isOmitted(claims, rolesClaim),
  };
}

/** Whether a claim is missing that access may depend on. */
export const isIncomplete = (claims: Claims, rolesClaim: string): boolean =>
  claims.email === undefined || claimAt(claims, rolesClaim) === undefined;

/** Merges both; claims of the ID token win. Its address counts as verified only if the ID token, or both, say so. */
export function mergeClaims(userInfo: Claims, idToken: Claims): Claims {
  const merged = { ...userInfo, ...idToken };
  const isOtherAddress = idToken.email !== undefined && userInfo.email !== idToken.email;
  return isOtherAddress ? { ...merged, email_verified: idToken.email_verified } : merged;
}

/** Claims from UserInfo alone. If it has no address or no groups at all, the previous ones stay. */
export function keepMissing(
  claims: AccountClaims,
  before: AccountClaims,
  userInfo: Claims,
  rolesClaim: string,
): AccountClaims {
  const { email, emailVerified } = before;
  return {
    ...claims,
    ...(userInfo.email !== undefined || email === undefined ? {} : { email, emailVerified }),
    ...(claimAt(userInfo, rolesClaim) === undefined
      ? { groups: before.groups, groupsOmitted: before.groupsOmitted }
      : {}),
  };
}

/** A claim by its name, which may contain dots, or by a path. */
function claimAt(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let found: unknown = claims;
  for (const part of name.split('.')) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, part)) return undefined;
    found = new Map<string, unknown>(Object.entries(found)).get(part);
  }
  return found;
}

/** A claim with one value may be a string instead of a list. */
function parseValues(claim: unknown): string[] {
  const values: readonly unknown[] = Array.isArray(claim) ? claim : [claim];
  return values.flatMap((value) => parseText(value) ?? []).slice(0, MAX_GROUPS);
}

/** For more than 200 groups, Entra ID only names an endpoint to read them from (`_claim_names`, `hasgroups`). */
function isOmitted({ _claim_names: names, hasgroups }: Claims, rolesClaim: string): boolean {
  return (
    (rolesClaim === 'groups' && (hasgroups === true || hasgroups === 'true')) ||
    (typeof names === 'object' && names !== null && Object.hasOwn(names, rolesClaim))
  );
}

/** Longer values are left out: a truncated one could match another group. */
const parseText = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' && value.length <= MAX_VALUE_LENGTH ? value : undefined;

/**
 * The name of an account on the page and in the audit log: its verified e-mail address. Any other name gets a part
 * derived from issuer and subject, so that a renamed account cannot take the name of another.
 */
export function accountName(issuer: string, { subject, email, emailVerified, username }: AccountClaims): string {
  if (email !== undefined && emailVerified && email.length <= MAX_NAME_LENGTH && isPrintable(email)) return email;
  const id = sha256(accountSubject(issuer, subject)).slice(0, 12);
  const label = [email, username].find((text) => text !== undefined && isPrintable(text)) ?? 'account';
  return `${label.slice(0, MAX_NAME_LENGTH - id.length - 3)} (${id})`;
}

/** Identifies an account of a provider, and never changes. */
export const accountSubject = (issuer: string, subject: string): string => `${issuer} ${subject}`;

const isPrintable = (text: string): boolean => /^[^\p{C}\p{Zl}\p{Zp}]+$/u.test(text);
