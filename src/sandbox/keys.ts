import { createHash, timingSafeEqual } from 'node:crypto';
import { Refusal } from './refusal.ts';

const YEAR = 365 * 86_400_000;

/** What a role lets its members do. `analytics.read` is the one permission the specification names (§5.10). */
export interface Role {
  readonly id: number;
  readonly name: string;
  readonly analytics: boolean;
}
export const ROLES: readonly Role[] = [
  { id: 1, name: 'Administrator', analytics: true },
  { id: 2, name: 'Compliance officer', analytics: true },
  { id: 3, name: 'Onboarding agent', analytics: false },
];

export interface User {
  readonly id: number;
  readonly name: string;
  /** Organization id → role id. */
  readonly roles: ReadonlyMap<number, number>;
}
export const USERS: readonly User[] = [
  {
    id: 1,
    name: 'Ada Keller',
    roles: new Map([
      [101, 1],
      [102, 1],
      [103, 1],
      [104, 1],
    ]),
  },
  { id: 2, name: 'Ben Osei', roles: new Map([[101, 2]]) },
  { id: 3, name: 'Chiara Rossi', roles: new Map([[101, 3]]) },
  { id: 4, name: 'Dan Novak', roles: new Map([[102, 2]]) },
  { id: 5, name: 'Eve Laurent', roles: new Map() },
];

/** What is kept of a key: its prefix and the hash of its secret, never the secret (specification §5). */
export interface StoredKey {
  readonly id: number;
  readonly label: string;
  readonly what: string;
  readonly prefix: string;
  readonly secretHash: Buffer;
  readonly owner: User;
  readonly access: 'read' | 'full';
  /** Permissions it is scoped to; null: all of its owner's. */
  readonly scope: readonly string[] | null;
  /** The organization it was issued in, which `current` means. */
  readonly home: number;
  /** It works in its home only. */
  readonly scoped: boolean;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly revokedAt: number | null;
}

interface KeySpec {
  readonly label: string;
  readonly what: string;
  readonly owner: number;
  readonly home: number;
  readonly scoped?: true;
  readonly access?: 'read';
  readonly scope?: readonly string[];
  readonly ended?: 'expired' | 'revoked';
}

/** The ready-made keys: one for each way in which a key can work or be refused. */
const READY_MADE: readonly KeySpec[] = [
  { label: 'all', what: 'full access in every organization', owner: 1, home: 101 },
  { label: 'acme', what: 'full access in Acme Payments only', owner: 1, home: 101, scoped: true },
  { label: 'northwind', what: 'full access in Northwind Exchange only', owner: 1, home: 102, scoped: true },
  { label: 'lakeside', what: 'full access in Lakeside Trust only', owner: 1, home: 103, scoped: true },
  { label: 'blank', what: 'full access in Blank Slate Bank only', owner: 1, home: 104, scoped: true },
  {
    label: 'metrics',
    what: 'scoped to analytics.read in Acme Payments: metrics and nothing else',
    owner: 2,
    home: 101,
    scoped: true,
    access: 'read',
    scope: ['analytics.read'],
  },
  { label: 'readonly', what: 'read-only: GET endpoints only', owner: 1, home: 101, access: 'read' },
  { label: 'agent', what: "its owner's role lacks analytics.read", owner: 3, home: 101 },
  { label: 'elsewhere', what: 'its owner is a member of Northwind Exchange only', owner: 4, home: 102 },
  { label: 'left', what: 'its owner is no longer a member of any organization', owner: 5, home: 101, scoped: true },
  { label: 'expired', what: 'expired: 401 auth.token_expired', owner: 1, home: 101, ended: 'expired' },
  { label: 'revoked', what: 'revoked: 401 auth.invalid_credentials', owner: 1, home: 101, ended: 'revoked' },
];

export interface IssuedKey {
  readonly stored: StoredKey;
  /** `prefix.secret`, told once. */
  readonly text: string;
}

const sha256 = (text: string) => createHash('sha256').update(text).digest();

/** The ready-made keys, the same for a seed at each start. They open nothing but a sandbox. */
export function issueKeys(seed: number, now: number): IssuedKey[] {
  return READY_MADE.map((spec, index) => {
    const prefix = `sbx_${spec.label}`;
    const secret = createHash('sha256').update(`docket sandbox ${seed} ${spec.label}`).digest('base64url').slice(0, 32);
    const owner = USERS.find(({ id }) => id === spec.owner);
    if (owner === undefined) throw new RangeError(`no user ${spec.owner}`);
    const createdAt = spec.ended === undefined ? now - 30 * 86_400_000 : now - YEAR - 86_400_000;
    const stored: StoredKey = {
      id: index + 1,
      label: spec.label,
      what: spec.what,
      prefix,
      secretHash: sha256(secret),
      owner,
      access: spec.access ?? 'full',
      scope: spec.scope ?? null,
      home: spec.home,
      scoped: spec.scoped ?? false,
      createdAt,
      expiresAt: spec.ended === 'revoked' ? now + YEAR : createdAt + YEAR,
      revokedAt: spec.ended === 'revoked' ? now - 86_400_000 : null,
    };
    return { stored, text: `${prefix}.${secret}` };
  });
}

const NOBODY = sha256('no such key');

/**
 * The key that the header names (specification §5.1, §5.2).
 * Throws a 401 `Refusal`: `auth.token_expired` for a key that was right once, `auth.invalid_credentials` for the rest.
 */
export function authenticate(keys: readonly StoredKey[], header: string | undefined, now: number): StoredKey {
  const presented = /^Api-Key ([^.\s]+)\.(\S+)$/.exec(header ?? '');
  if (presented === null) {
    throw unauthorized('auth.invalid_credentials', 'Send the header "Authorization: Api-Key <prefix>.<secret>".');
  }
  const [, prefix = '', secret = ''] = presented;
  const key = keys.find((candidate) => candidate.prefix === prefix);
  // Compared even when no key has the prefix, so that the time taken tells nothing about prefixes.
  const right = timingSafeEqual(sha256(secret), key?.secretHash ?? NOBODY);
  if (key === undefined || !right) throw unauthorized('auth.invalid_credentials', 'The API key is not valid.');
  if (key.revokedAt !== null && key.revokedAt <= now) {
    throw unauthorized('auth.invalid_credentials', 'The API key has been revoked.');
  }
  if (key.expiresAt <= now) throw unauthorized('auth.token_expired', 'The API key has expired.');
  return key;
}

const unauthorized = (code: 'auth.invalid_credentials' | 'auth.token_expired', detail: string) =>
  new Refusal(401, code, detail, { headers: { 'WWW-Authenticate': 'Api-Key' } });
