import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { SessionStore } from '../../admin/auth/session-store.ts';
import type { AccountState } from '../../admin/auth/sessions.ts';
import type { Principal } from '../../admin/auth/tokens.ts';
import type { Clock } from '../../base/clock.ts';
import { DocketError } from '../../base/error.ts';
import type { Log } from '../../base/log.ts';
import type { Secret } from '../../base/secrets/secret.ts';
import { epochMsSchema, MINUTE_MS, SECOND_MS } from '../../base/time.ts';
import { parseStored } from '../../redis/client.ts';
import { type AccountRule, accountAccess } from './account-access.ts';
import { accountClaimsSchema, accountName, accountSubject } from './claims.ts';
import type { ConfirmedAccount, IdentityProvider } from './provider.ts';

/** After this time, the next request has the provider confirm the account again. */
const REFRESH_AFTER_MS = 10 * MINUTE_MS;
/** Maximum age of a confirmation while the provider answers. */
const MAX_AGE_MS = 15 * MINUTE_MS;
/** Maximum age of a confirmation while the provider does not answer: 15 more minutes. */
const MAX_UNCONFIRMED_AGE_MS = 30 * MINUTE_MS;
/** Pause between two attempts to refresh an account after the provider did not answer. */
const RETRY_INTERVAL_MS = 20 * SECOND_MS;
/** Longer than an attempt takes: four requests of at most five seconds. */
const CLAIM_TTL_MS = 30 * SECOND_MS;
/** How long a request waits for the refresh of another process, and how often it checks. */
const WAIT_MS = 10 * SECOND_MS;
const POLL_INTERVAL_MS = 100;
/** Allowed difference between the clocks of two machines. A confirmation further in the future does not count. */
const MAX_CLOCK_SKEW_MS = MINUTE_MS;

const stateSchema = z.object({
  name: z.string(),
  claims: accountClaimsSchema,
  refreshToken: z.string().optional(),
  /** Epoch ms of the sign-in, the last confirmation, and the last attempt that the provider did not answer. */
  began: epochMsSchema,
  confirmed: epochMsSchema,
  failed: epochMsSchema.optional(),
});
type State = Readonly<z.infer<typeof stateSchema>>;

interface AccountSessionPorts {
  readonly provider: IdentityProvider;
  readonly secret: Secret;
  /** Called for each request, because the mapping file may change. */
  readonly rules: () => Promise<readonly AccountRule[]>;
  readonly claimGrants: boolean;
  readonly store: SessionStore;
  readonly lifetimeMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Accounts of running sessions, encrypted. The keys need both the id in the browser's cookie and the client's secret.
 * So the data in Redis gives no access, and cannot be forged. Methods throw `redis.unreachable`.
 */
export function createAccountSessions(ports: AccountSessionPorts) {
  const { provider, rules, claimGrants, lifetimeMs, clock } = ports;
  const refreshes = new Map<string, Promise<State | undefined>>();

  const buildPrincipal = async (name: string, claims: State['claims']): Promise<Principal | undefined> => {
    const access = accountAccess(claims, { rules: await rules(), claimGrants });
    if (access === undefined) return undefined;
    return Object.freeze({
      ...access,
      name,
      kind: 'account',
      subject: accountSubject(provider.issuer, claims.subject),
    });
  };
  /** Runs one refresh per session at a time. Undefined: the provider refuses the account. */
  const refresh = (id: string, state: State, ttlMs: number): Promise<State | undefined> => {
    const running = refreshes.get(id) ?? refreshState(ports, id, state, ttlMs).finally(() => refreshes.delete(id));
    refreshes.set(id, running);
    return running;
  };

  return {
    /** The principal of an account; undefined if it has no access. */
    principal: ({ claims }: ConfirmedAccount): Promise<Principal | undefined> =>
      buildPrincipal(accountName(provider.issuer, claims), claims),
    /** The text to store for a new session. @param id of the session */
    begin: (id: string, { claims, refreshToken }: ConfirmedAccount): string => {
      const now = clock.now();
      const name = accountName(provider.issuer, claims);
      return buildSeal(ports, id).seal(JSON.stringify({ name, claims, refreshToken, began: now, confirmed: now }));
    },
    resume: async (id: string, stored: string, ttlMs: number): Promise<AccountState> => {
      const before = openState(ports, id, stored);
      if (before === undefined) return { state: 'ended', why: 'unreadable' };
      if (clock.now() - before.began >= lifetimeMs) return { state: 'ended', why: 'its lifetime is over' };
      const state = isDue(before, clock.now()) ? await refresh(id, before, ttlMs) : before;
      const { name: who } = before;
      if (state === undefined) return { state: 'ended', why: 'the provider refused the account', who };
      const age = measureAge(state, clock.now());
      if (state.refreshToken === undefined && age >= MAX_AGE_MS)
        return { state: 'ended', why: 'the provider gave no refresh token', who };
      if (age >= MAX_UNCONFIRMED_AGE_MS) return { state: 'unconfirmed' };
      const principal = await buildPrincipal(state.name, state.claims);
      return principal === undefined
        ? { state: 'ended', why: 'the account has no access any more', who }
        : { state: 'active', principal };
    },
    end: async (id: string, stored: string): Promise<void> => {
      const token = openState(ports, id, stored)?.refreshToken;
      if (token === undefined) return;
      // Errors are ignored: the session is over, and its stored data is deleted anyway.
      await provider.revoke(token).catch(() => {});
    },
  };
}
export type AccountSessions = ReturnType<typeof createAccountSessions>;

const buildSeal = ({ provider, secret }: Pick<AccountSessionPorts, 'provider' | 'secret'>, id: string): Seal =>
  createSeal(secret.reveal(), id, `docket account session ${provider.issuer}`);

const openState = (ports: AccountSessionPorts, id: string, stored: string): State | undefined =>
  parseStored(stateSchema, buildSeal(ports, id).open(stored));

function measureAge({ confirmed }: State, now: number): number {
  const age = now - confirmed;
  return age < -MAX_CLOCK_SKEW_MS ? Number.POSITIVE_INFINITY : age;
}

function isDue(state: State, now: number): boolean {
  if (state.refreshToken === undefined || measureAge(state, now) < REFRESH_AFTER_MS) return false;
  const sinceFailure = now - (state.failed ?? Number.NEGATIVE_INFINITY);
  return sinceFailure < 0 || sinceFailure >= RETRY_INTERVAL_MS;
}

/** The state after a refresh by this or another process. Undefined: the provider refuses the account. */
async function refreshState(
  ports: AccountSessionPorts,
  id: string,
  before: State,
  ttlMs: number,
): Promise<State | undefined> {
  const { store, clock } = ports;
  // Some refresh tokens can be used only once, so two processes must not use the same one.
  const release = await store.claimRefresh(id, CLAIM_TTL_MS);
  if (release === undefined)
    return measureAge(before, clock.now()) < MAX_AGE_MS ? before : waitForOther(ports, id, before);
  try {
    // Another process may have refreshed the state since this one read it.
    const { account } = await store.get(id);
    const current = account === undefined ? undefined : openState(ports, id, account);
    return current !== undefined && isDue(current, clock.now())
      ? await refreshOnce(ports, id, current, ttlMs)
      : current;
  } finally {
    await release();
  }
}

/** Refreshes once and stores the new state. Undefined: the provider refuses the account. */
async function refreshOnce(
  ports: AccountSessionPorts,
  id: string,
  before: State,
  ttlMs: number,
): Promise<State | undefined> {
  const { provider, store, clock, log } = ports;
  const { refreshToken } = before;
  if (refreshToken === undefined) return before;
  const keep = async (state: State): Promise<State> => {
    await store.replace(id, { account: buildSeal(ports, id).seal(JSON.stringify(state)) }, ttlMs);
    return state;
  };
  try {
    const { claims, refreshToken: next } = await provider.refresh(refreshToken, before.claims);
    const { name, began } = before;
    return await keep({ name, claims, began, confirmed: clock.now(), refreshToken: next });
  } catch (thrown) {
    if (!(thrown instanceof DocketError) || !thrown.code.startsWith('oidc.')) throw thrown;
    const fields = { who: before.name, error: thrown.toJSON() };
    if (thrown.code === 'oidc.refused') {
      log.info('The provider refused an account: its session ends', fields);
      return undefined;
    }
    log.warn('An account could not be confirmed; its session ends if this lasts', fields);
    return keep({ ...before, failed: clock.now() });
  }
}

/** Waits for the refresh of another process. Returns the unchanged state if it fails or takes too long. */
async function waitForOther(ports: AccountSessionPorts, id: string, before: State): Promise<State | undefined> {
  const { store, clock } = ports;
  for (const until = clock.now() + WAIT_MS; clock.now() < until; ) {
    const { account } = await store.get(id);
    if (account === undefined) return undefined;
    const state = openState(ports, id, account);
    if (state === undefined || state.confirmed !== before.confirmed || state.failed !== before.failed) return state;
    await clock.sleep(POLL_INTERVAL_MS);
  }
  return before;
}

const ALGORITHM = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts texts for storage that others may read and write. */
interface Seal {
  /** @returns base64url */
  seal(text: string): string;
  /** Undefined if the text was changed, or another key sealed it. */
  open(sealed: string): string | undefined;
}

/**
 * Authenticated encryption (AES-256-GCM) with a key derived from two secrets (HKDF-SHA-256). Reading or forging a text
 * takes both.
 *
 * @param secret of this deployment
 * @param own secret of this one text, e.g. the id of a session: at least 128 random bits
 * @param purpose keys for different purposes are unrelated
 */
export function createSeal(secret: string, own: string, purpose: string): Seal {
  const key = Buffer.from(hkdfSync('sha256', JSON.stringify([secret, own]), '', purpose, 32));
  return {
    seal: (text) => {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(ALGORITHM, key, iv);
      const sealed = Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return sealed.toString('base64url');
    },
    open: (sealed) => {
      const bytes = Buffer.from(sealed, 'base64url');
      if (bytes.length < IV_BYTES + TAG_BYTES) return undefined;
      const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      try {
        return decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
      } catch {
        return undefined;
      }
    },
  };
}
