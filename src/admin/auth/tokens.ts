import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

/** A viewer reads; an operator also triggers. */
export const ROLES = ['viewer', 'operator'] as const;
export type Role = (typeof ROLES)[number];

/** A token as it is kept: its hash, never itself. */
export const tokenEntrySchema = z.strictObject({
  name: z.string().min(1).max(100).describe('Who uses it; appears in the log.'),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, '64 hex digits: the SHA-256 of the token')
    .describe('`docket tokens create` writes it.'),
  role: z.enum(ROLES).describe('A viewer reads; an operator also triggers.'),
  orgs: z.union([z.literal('*'), z.array(z.string().min(1)).min(1)]).describe('Organizations it may see, or "*".'),
  expires: z.iso.date().optional().describe('Last day (UTC) on which it is accepted.'),
});
export type TokenEntry = z.infer<typeof tokenEntrySchema>;

/** Whoever has shown a token. */
export interface Principal {
  readonly name: string;
  readonly role: Role;
  readonly orgs: readonly string[] | '*';
}

/** What became of a token that was shown. */
export type Verdict =
  | { readonly accepted: true; readonly principal: Principal }
  | { readonly accepted: false; readonly why: 'unknown' | 'expired' };

/** Hex. A token has 256 random bits, so neither salt nor a slow hash would add anything. */
export const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex');

/** A token nobody has: shown once, kept as its hash. */
export function newToken(): { readonly token: string; readonly sha256: string } {
  const token = `docket_${randomBytes(32).toString('base64url')}`;
  return { token, sha256: hashToken(token) };
}

/** Judges a token. Takes as long for one that is nearly right as for any other, and looks at every entry. */
export function verifyToken(entries: readonly TokenEntry[], token: string, now: number): Verdict {
  const shown = Buffer.from(hashToken(token), 'hex');
  let found: TokenEntry | undefined;
  for (const entry of entries) {
    if (timingSafeEqual(shown, Buffer.from(entry.sha256, 'hex'))) found = entry;
  }
  if (found === undefined) return { accepted: false, why: 'unknown' };
  if (found.expires !== undefined && now >= Date.parse(`${found.expires}T00:00:00Z`) + 86_400_000) {
    return { accepted: false, why: 'expired' };
  }
  const { name, role, orgs } = found;
  return { accepted: true, principal: Object.freeze({ name, role, orgs }) };
}

/** Whether an organization exists for the bearer. */
export const maySee = ({ orgs }: Principal, org: string): boolean => orgs === '*' || orgs.includes(org);
