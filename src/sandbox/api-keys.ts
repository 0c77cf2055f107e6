import { createHash, timingSafeEqual } from 'node:crypto';
import { DAY_MS } from '../base/time.ts';
import { ProblemError } from './problem.ts';

const YEAR_MS = 365 * DAY_MS;

/** What members with this role may do. `analytics.read` is the only permission that the specification names (§5.10). */
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
  { id: 1, name: 'Ada Keller', roles: new Map([101, 102, 103, 104].map((org) => [org, 1])) },
  { id: 2, name: 'Ben Osei', roles: new Map([[101, 2]]) },
  { id: 3, name: 'Chiara Rossi', roles: new Map([[101, 3]]) },
  { id: 4, name: 'Dan Novak', roles: new Map([[102, 2]]) },
  { id: 5, name: 'Eve Laurent', roles: new Map() },
];

interface KeySpec {
  readonly label: string;
  readonly what: string;
  /** The organization in which it was issued. `current` refers to it. */
  readonly home: number;
  /** It is only valid in its home organization. */
  readonly scoped: boolean;
  readonly access: 'read' | 'full';
  /** Permissions to which it is limited; null: all permissions of its owner. */
  readonly scope: readonly string[] | null;
}

/** A stored key: its prefix and the hash of its secret, but never the secret (specification §5). */
export interface StoredKey extends KeySpec {
  readonly id: number;
  readonly prefix: string;
  readonly secretHash: Buffer;
  readonly owner: User;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly revokedAt: number | null;
}

const DEFAULTS = { home: 101, scoped: false, access: 'full', scope: null } as const;

/** The keys that the sandbox provides: one for each way in which a key can be accepted or rejected. */
const KEY_SPECS: readonly (KeySpec & { readonly owner: number; readonly ended?: 'expired' | 'revoked' })[] = [
  { ...DEFAULTS, label: 'all', what: 'full access in every organization', owner: 1 },
  { ...DEFAULTS, label: 'acme', what: 'full access in Acme Payments only', owner: 1, scoped: true },
  {
    ...DEFAULTS,
    label: 'northwind',
    what: 'full access in Northwind Exchange only',
    owner: 1,
    home: 102,
    scoped: true,
  },
  { ...DEFAULTS, label: 'lakeside', what: 'full access in Lakeside Trust only', owner: 1, home: 103, scoped: true },
  { ...DEFAULTS, label: 'blank', what: 'full access in Blank Slate Bank only', owner: 1, home: 104, scoped: true },
  {
    label: 'metrics',
    what: 'scoped to analytics.read in Acme Payments: metrics and nothing else',
    owner: 2,
    home: 101,
    scoped: true,
    access: 'read',
    scope: ['analytics.read'],
  },
  { ...DEFAULTS, label: 'readonly', what: 'read-only: GET endpoints only', owner: 1, access: 'read' },
  { ...DEFAULTS, label: 'agent', what: "its owner's role lacks analytics.read", owner: 3 },
  { ...DEFAULTS, label: 'elsewhere', what: 'its owner is a member of Northwind Exchange only', owner: 4, home: 102 },
  { ...DEFAULTS, label: 'left', what: 'its owner is no longer a member of any organization', owner: 5, scoped: true },
  { ...DEFAULTS, label: 'expired', what: 'expired: 401 auth.token_expired', owner: 1, ended: 'expired' },
  { ...DEFAULTS, label: 'revoked', what: 'revoked: 401 auth.invalid_credentials', owner: 1, ended: 'revoked' },
];

export interface IssuedKey {
  readonly stored: StoredKey;
  /** `prefix.secret`, shown once. */
  readonly text: string;
}

const sha256 = (text: string) => createHash('sha256').update(text).digest();

/**
 * The keys that the sandbox provides. The same seed gives the same keys at each start. They are only valid in
 * sandboxes.
 */
export function issueKeys(seed: number, now: number): IssuedKey[] {
  return KEY_SPECS.map(({ owner: ownerId, ended, ...spec }, index) => {
    const prefix = `sbx_${spec.label}`;
    const secret = sha256(`docket sandbox ${seed} ${spec.label}`).toString('base64url').slice(0, 32);
    const owner = USERS.find(({ id }) => id === ownerId);
    if (owner === undefined) throw new RangeError(`no user ${ownerId}`);
    const createdAt = ended === undefined ? now - 30 * DAY_MS : now - YEAR_MS - DAY_MS;
    const stored: StoredKey = {
      ...spec,
      ...{ id: index + 1, prefix, secretHash: sha256(secret), owner, createdAt },
      expiresAt: ended === 'revoked' ? now + YEAR_MS : createdAt + YEAR_MS,
      revokedAt: ended === 'revoked' ? now - DAY_MS : null,
    };
    return { stored, text: `${prefix}.${secret}` };
  });
}

const DUMMY_HASH = sha256('no such key');

/**
 * Finds the key in a header (specification §5.1, §5.2). Throws a 401 `ProblemError`: `auth.token_expired` for an
 * expired key, otherwise `auth.invalid_credentials`.
 */
export function authenticate(keys: readonly StoredKey[], header: string | undefined, now: number): StoredKey {
  const presented = /^Api-Key ([^.\s]+)\.(\S+)$/.exec(header ?? '');
  if (presented === null) {
    throw unauthorized('auth.invalid_credentials', 'Send the header "Authorization: Api-Key <prefix>.<secret>".');
  }
  const [, prefix = '', secret = ''] = presented;
  const key = keys.find((candidate) => candidate.prefix === prefix);
  // Compared even if no key has the prefix, so that the timing does not reveal prefixes.
  const right = timingSafeEqual(sha256(secret), key?.secretHash ?? DUMMY_HASH);
  if (key === undefined || !right) throw unauthorized('auth.invalid_credentials', 'The API key is not valid.');
  if (key.revokedAt !== null && key.revokedAt <= now) {
    throw unauthorized('auth.invalid_credentials', 'The API key has been revoked.');
  }
  if (key.expiresAt <= now) throw unauthorized('auth.token_expired', 'The API key has expired.');
  return key;
}

const unauthorized = (code: 'auth.invalid_credentials' | 'auth.token_expired', detail: string) =>
  new ProblemError(401, code, detail, { headers: { 'WWW-Authenticate': 'Api-Key' } });
