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
  /** Address that the token or its session came from, for the audit log. */
  readonly from?: string;
}

/** What became of a token that was shown. */
export type Verdict =
  | {
      readonly accepted: true;
      readonly principal: Principal;
      /** Stands for the token in a session: neither it nor what the file keeps of it can be told from this. */
      readonly mark: string;
    }
  | { readonly accepted: false; readonly why: 'unknown' | 'expired' };

/** Hex. A token has 256 random bits, so neither salt nor a slow hash would add anything. */
export const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex');

/** A token nobody has: shown once, kept as its hash. */
export function newToken(): { readonly token: string; readonly sha256: string } {
  const token = `docket_${randomBytes(32).toString('base64url')}`;
  return { token, sha256: hashToken(token) };
}

const markOf = ({ sha256 }: TokenEntry): string => hashToken(`session of ${sha256}`);

/** Judges a token. Takes as long for one that is nearly right as for any other, and looks at every entry. */
export const verifyToken = (entries: readonly TokenEntry[], token: string, now: number): Verdict =>
  judge(entries, ({ sha256 }) => sha256, hashToken(token), now);

/** Judges a token by the mark that a session keeps of it: what is revoked or has expired meanwhile is refused. */
export const verifyMark = (entries: readonly TokenEntry[], mark: string, now: number): Verdict =>
  judge(entries, markOf, mark, now);

function judge(
  entries: readonly TokenEntry[],
  hashOf: (entry: TokenEntry) => string,
  hash: string,
  now: number,
): Verdict {
  const shown = Buffer.from(hash, 'hex');
  let found: TokenEntry | undefined;
  for (const entry of entries) {
    if (sameBytes(shown, Buffer.from(hashOf(entry), 'hex'))) found = entry;
  }
  if (found === undefined) return { accepted: false, why: 'unknown' };
  if (hasExpired(found, now)) return { accepted: false, why: 'expired' };
  const { name, role, orgs } = found;
  return { accepted: true, principal: Object.freeze({ name, role, orgs }), mark: markOf(found) };
}

/** Compares in a time that depends on the lengths alone. */
export const sameBytes = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b);

/** The instant from which a token that expires on this day is refused, epoch ms. */
const lastMs = (day: string): number => Date.parse(`${day}T00:00:00Z`) + 86_400_000;

/** Whether the token is not accepted any more. */
export const hasExpired = ({ expires }: TokenEntry, now: number): boolean =>
  expires !== undefined && now >= lastMs(expires);

/** Judges tokens, and what sessions keep of them. */
export interface Tokens {
  verify(token: string): Promise<Verdict>;
  /** @param mark of an accepted verdict */
  verifyMark(mark: string): Promise<Verdict>;
}

/** @param entries asked for each judgement, for they may change */
export const judgeBy = (entries: () => Promise<readonly TokenEntry[]>, now: () => number): Tokens => ({
  verify: async (token) => verifyToken(await entries(), token, now()),
  verifyMark: async (mark) => verifyMark(await entries(), mark, now()),
});

/** Whether an organization exists for the bearer. */
export const maySee = ({ orgs }: Principal, org: string): boolean => orgs === '*' || orgs.includes(org);
