import { randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { sha256 } from '../../base/sha256.ts';
import { DAY_MS } from '../../base/time.ts';
import { authorName } from '../../run/run-record.ts';

/** A viewer can read. An operator can also act. */
export const TOKEN_ROLES = ['viewer', 'operator'] as const;
export type TokenRole = (typeof TOKEN_ROLES)[number];

/** A stored token: its hash, never the token itself. */
export const tokenEntrySchema = z.strictObject({
  name: z.string().min(1).max(100).describe('Who uses it; appears in the log.'),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, '64 hex digits: the SHA-256 of the token')
    .describe('`docket tokens create` writes it.'),
  role: z.enum(TOKEN_ROLES).describe('A viewer reads; an operator also triggers.'),
  orgs: z.union([z.literal('*'), z.array(z.string().min(1)).min(1)]).describe('Organizations it may see, or "*".'),
  expires: z.iso.date().optional().describe('Last day (UTC) on which it is accepted.'),
});
export type TokenEntry = z.infer<typeof tokenEntrySchema>;

/** Who is authenticated: a program or person with a token, or a person with a company account. */
export interface Principal {
  /** For display and the audit log. */
  readonly name: string;
  readonly kind: 'token' | 'account';
  /**
   * Identifies the principal and never changes: `token:` and the name of a token, or the issuer and the subject of an
   * account. The two never collide.
   */
  readonly subject: string;
  readonly role: TokenRole;
  readonly orgs: readonly string[] | '*';
  /** Client address, for the audit log. */
  readonly from?: string;
}

export type TokenVerification =
  | {
      readonly accepted: true;
      readonly principal: Principal;
      /** A session's reference to its token. It reveals neither the token nor its hash in the file. */
      readonly mark: string;
    }
  | { readonly accepted: false; readonly why: 'unknown' | 'expired' };

/** The SHA-256 as hex. A token has 256 random bits, so neither salt nor a slow hash would add anything. */
export const hashToken = (token: string): string => sha256(token);

/** Creates a token. It is shown once; only its hash is stored. */
export function newToken(): { readonly token: string; readonly sha256: string } {
  const token = `docket_${randomBytes(32).toString('base64url')}`;
  return { token, sha256: hashToken(token) };
}

/** Cannot collide with an account's subject, which begins with its issuer, an http or https URL. */
const tokenSubject = (name: string): string => `token:${name}`;

const hashTokenRef = ({ sha256 }: TokenEntry): string => hashToken(`session of ${sha256}`);

/** Compares with all entries in constant time. */
function verifyHash(
  entries: readonly TokenEntry[],
  hashOf: (entry: TokenEntry) => string,
  hash: string,
  now: number,
): TokenVerification {
  const presented = Buffer.from(hash, 'hex');
  let found: TokenEntry | undefined;
  for (const entry of entries) {
    if (equalBytes(presented, Buffer.from(hashOf(entry), 'hex'))) found = entry;
  }
  if (found === undefined) return { accepted: false, why: 'unknown' };
  if (hasExpired(found, now)) return { accepted: false, why: 'expired' };
  const { name, role, orgs } = found;
  return {
    accepted: true,
    principal: Object.freeze({
      name: authorName(name, 'token'),
      role,
      orgs,
      kind: 'token',
      subject: tokenSubject(name),
    }),
    mark: hashTokenRef(found),
  };
}

/** Compares in constant time for a given length. */
export const equalBytes = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b);

export const hasExpired = ({ expires }: Pick<TokenEntry, 'expires'>, now: number): boolean =>
  expires !== undefined && now >= Date.parse(`${expires}T00:00:00Z`) + DAY_MS;

/** Verifies tokens, and references to them in sessions. */
export interface TokenVerifier {
  verify(token: string): Promise<TokenVerification>;
  /** @param mark the reference to an accepted token */
  verifyRef(mark: string): Promise<TokenVerification>;
}

/** @param entries called for each verification, because entries may change */
export const createTokenVerifier = (
  entries: () => Promise<readonly TokenEntry[]>,
  now: () => number,
): TokenVerifier => ({
  verify: async (token) => verifyHash(await entries(), ({ sha256 }) => sha256, hashToken(token), now()),
  verifyRef: async (mark) => verifyHash(await entries(), hashTokenRef, mark, now()),
});

/** Whether the principal may see an organization. */
export const canSee = ({ orgs }: Principal, org: string): boolean => orgs === '*' || orgs.includes(org);
