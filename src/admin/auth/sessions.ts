import { randomBytes } from 'node:crypto';
import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import { epochMsSchema, HOUR_MS } from '../../base/time.ts';
import { parseStored, type RedisClient } from '../../redis/client.ts';
import type { AuditLog } from '../../services/audit-log.ts';
import type { Env, Session } from '../hono-env.ts';
import { isLoopbackHost } from './client.ts';
import { deriveCsrfToken, isSafe, isSameOrigin } from './csrf.ts';
import type { LoginThrottle } from './login-throttle.ts';
import { redisSessionStore } from './session-store.ts';
import type { Principal, TokenVerifier } from './tokens.ts';

/** A session ends this long after the last request that the user caused, and this long after the sign-in. */
const SESSION_IDLE_TIMEOUT_MS = 2 * HOUR_MS;
export const SESSION_LIFETIME_MS = 12 * HOUR_MS;
/** The time of the last request is stored only this often, ms: otherwise every request would write. */
const LAST_SEEN_INTERVAL_MS = 60_000;

export type SignInResult =
  | { readonly signedIn: true; readonly session: Session }
  | {
      readonly signedIn: false;
      /**
       * - `unknown`, `expired`: the token;
       * - `throttled`: this address had too many rejected tokens; `retryAfterS` is the wait;
       * - `insecure`: neither TLS nor a loopback name, so the cookie would be sent unencrypted;
       * - `cross_site`: another site sent the form.
       */
      readonly why: 'unknown' | 'expired' | 'throttled' | 'insecure' | 'cross_site';
      readonly retryAfterS?: number;
    };

/** The state of the session that the cookie of a request names. */
export type SessionState =
  | { readonly state: 'active'; readonly session: Session }
  | { readonly state: 'none' }
  /** The provider does not answer, so the account cannot be confirmed. No access until it answers. */
  | { readonly state: 'unconfirmed' };

/**
 * Sessions of the page. The browser has a random id in a cookie (HttpOnly, SameSite=Strict; `__Host-` and Secure behind
 * TLS). Redis has the hash of the id and a reference to the token, or the encrypted account. So all admin processes
 * share sessions, and whoever reads Redis gains no access. Each request verifies the token again, so a revocation takes
 * effect within seconds. The provider confirms an account every 15 minutes.
 *
 * Each method throws `redis.unreachable`.
 */
export type Sessions = ReturnType<typeof redisSessions>;

/** Whether a stored account still gives access. */
export type AccountState =
  | { readonly state: 'active'; readonly principal: Principal }
  /** The provider has not answered for too long, but may answer later. */
  | { readonly state: 'unconfirmed' }
  /** The account lost its access for good. `who`: the account's name, if it ends now. */
  | { readonly state: 'ended'; readonly why: string; readonly who?: string };

/** Accounts of running sessions, stored beside them. Methods throw `redis.unreachable`. */
export interface StoredAccounts {
  /**
   * Has the provider confirm the account if that is due. @param id of the session @param ttlMs lifetime of what is
   * stored
   */
  resume(id: string, stored: string, ttlMs: number): Promise<AccountState>;
  /** Ends the account's session at the provider, if possible. Never rejects. */
  end(id: string, stored: string): Promise<void>;
}

const times = { began: epochMsSchema, seen: epochMsSchema };
/** Token sessions have no `kind`, as in earlier versions. Those versions ignore sessions of accounts. */
const storedSessionSchema = z.union([
  z.object({ mark: z.string(), ...times }),
  z.object({ kind: z.literal('account'), ...times }),
]);
type StoredSession = z.infer<typeof storedSessionSchema>;

export interface SessionPorts {
  readonly redis: RedisClient;
  readonly prefix: string;
  readonly tokens: TokenVerifier;
  /** Absent if accounts cannot sign in. */
  readonly accounts?: StoredAccounts | undefined;
  readonly loginThrottle: LoginThrottle;
  readonly audit: AuditLog;
  readonly clock: Clock;
}

/** Whether the connection is insecure: the session cookie would be sent unencrypted. */
export const isUnprotected = (context: Context<Env>): boolean => {
  const { secure, host } = context.get('client');
  return !secure && !isLoopbackHost(host);
};

/** Sessions in Redis. */
export function redisSessions(ports: SessionPorts) {
  const { redis, prefix, tokens, accounts, loginThrottle, audit, clock } = ports;
  const store = redisSessionStore(redis, prefix);
  const restMs = ({ began, seen }: StoredSession): number =>
    Math.min(began + SESSION_LIFETIME_MS, seen + SESSION_IDLE_TIMEOUT_MS) - clock.now();

  /** The principal of a stored session. Deletes the session if it has ended for good. */
  const restorePrincipal = async (
    id: string,
    kept: StoredSession,
    account: string | undefined,
  ): Promise<Principal | 'unconfirmed' | undefined> => {
    if ('mark' in kept) {
      const verdict = await tokens.verifyRef(kept.mark);
      if (verdict.accepted) return verdict.principal;
      await store.delete(id);
      return undefined;
    }
    if (accounts === undefined || account === undefined) return undefined;
    const state = await accounts.resume(id, account, restMs(kept));
    if (state.state === 'active') return state.principal;
    if (state.state === 'unconfirmed') return 'unconfirmed';
    await store.delete(id);
    if (state.who !== undefined) await audit.record({ event: 'session.closed', who: state.who, why: state.why });
    return undefined;
  };

  const inspect = async (context: Context<Env>): Promise<SessionState> => {
    const id = readSessionId(context);
    if (id === undefined) return { state: 'none' };
    const texts = await store.get(id);
    // An unreadable session does not count: the user signs in again.
    const kept = parseStored(storedSessionSchema, texts.session);
    if (kept === undefined || restMs(kept) <= 0) return { state: 'none' };
    const principal = await restorePrincipal(id, kept, texts.account);
    if (principal === undefined) return { state: 'none' };
    if (principal === 'unconfirmed') return { state: 'unconfirmed' };
    const now = clock.now();
    if (now - kept.seen >= LAST_SEEN_INTERVAL_MS && isUserInitiated(context)) {
      const seen = { ...kept, seen: now };
      await store.replace(id, { session: JSON.stringify(seen) }, restMs(seen));
    }
    return { state: 'active', session: createSession(context, id, principal) };
  };
  const read = async (context: Context<Env>): Promise<Session | undefined> => {
    const found = await inspect(context);
    return found.state === 'active' ? found.session : undefined;
  };

  /** @param texts what to store under the new id */
  const begin = async (
    context: Context<Env>,
    principal: Principal,
    texts: (id: string, now: number) => { readonly session: StoredSession; readonly account?: string },
  ): Promise<Session> => {
    const { address, secure } = context.get('client');
    const before = readSessionId(context);
    if (before !== undefined) await store.delete(before);
    const id = randomBytes(32).toString('base64url');
    const { session, ...others } = texts(id, clock.now());
    await store.create(id, { session: JSON.stringify(session), ...others }, restMs(session));
    setCookie(context, sessionCookie(secure), id, cookieAttributes(secure));
    await audit.record({ event: 'session.opened', who: principal.name, from: address, ...toAccountField(principal) });
    return createSession(context, id, principal);
  };

  return {
    /** The session of a request. Undefined if it has none, or if the session, its token or its account has ended. */
    read,
    /** The session, or the reason why there is none. */
    inspect,
    /** Starts a session with a new id and ends the browser's previous one. Only for POST. */
    signIn: async (context: Context<Env>, token: string): Promise<SignInResult> => {
      if (!isSameOrigin(context)) return { signedIn: false, why: 'cross_site' };
      if (isUnprotected(context)) return { signedIn: false, why: 'insecure' };
      const verdict = await tokens.verify(token.trim().slice(0, 512));
      if (!verdict.accepted) {
        const retryAfterS = loginThrottle.recordRefusal(context, verdict.why);
        return retryAfterS === undefined
          ? { signedIn: false, why: verdict.why }
          : { signedIn: false, why: 'throttled', retryAfterS };
      }
      const session = await begin(context, verdict.principal, (_, now) => ({
        session: { mark: verdict.mark, began: now, seen: now },
      }));
      return { signedIn: true, session };
    },
    /**
     * Starts a session of an account, with a new id. The caller has checked that the provider confirmed the account and
     * that this browser began the sign-in. Undefined if the connection is not encrypted.
     *
     * @param stored returns what to store about the account, given the id of the session
     */
    begin: async (
      context: Context<Env>,
      principal: Principal,
      stored: (id: string) => string,
    ): Promise<Session | undefined> => {
      if (isUnprotected(context)) return undefined;
      return begin(context, principal, (id, now) => ({
        session: { kind: 'account', began: now, seen: now },
        account: stored(id),
      }));
    },
    /** @returns the session that has ended, if there was one */
    signOut: async (context: Context<Env>): Promise<Session | undefined> => {
      const { address, secure } = context.get('client');
      const id = readSessionId(context);
      const session = await read(context);
      const { account } = id === undefined ? { account: undefined } : await store.get(id);
      if (id !== undefined) await store.delete(id);
      deleteCookie(context, sessionCookie(secure), cookieAttributes(secure));
      if (session === undefined) return undefined;
      const { principal } = session;
      await audit.record({ event: 'session.closed', who: principal.name, from: address, ...toAccountField(principal) });
      if (id !== undefined && account !== undefined) await accounts?.end(id, account);
      return session;
    },
  };
}

/** The account for the audit log; nothing for a token. */
const toAccountField = ({ kind, subject }: Principal): { readonly account?: string } =>
  kind === 'account' ? { account: subject } : {};

const cookieAttributes = (secure: boolean) =>
  ({ path: '/', httpOnly: true, sameSite: 'Strict', secure, maxAge: SESSION_LIFETIME_MS / 1_000 }) as const;

/** Whether the user caused the request. Polling by an open page must not extend the session. */
function isUserInitiated(context: Context<Env>): boolean {
  const mode = context.req.header('sec-fetch-mode');
  return !isSafe(context.req.method) || mode === undefined || mode === 'navigate';
}

const createSession = (context: Context<Env>, id: string, principal: Principal): Session =>
  Object.freeze({
    principal: Object.freeze({ ...principal, from: context.get('client').address }),
    csrf: deriveCsrfToken(id),
  });

// The prefix `__Host-` ties a cookie to this host over TLS. It is not available over HTTP.
export const hostCookie = (name: string, secure: boolean): string => (secure ? `__Host-${name}` : name);

const SESSION_COOKIE = 'docket';
const SESSION_ID = /^[\w-]{43}$/;

const sessionCookie = (secure: boolean): string => hostCookie(SESSION_COOKIE, secure);

/** The session id in the browser's cookie, if any. */
function readSessionId(context: Context<Env>): string | undefined {
  const id = getCookie(context, sessionCookie(context.get('client').secure));
  return id !== undefined && SESSION_ID.test(id) ? id : undefined;
}
