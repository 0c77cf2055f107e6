import { createHash, randomBytes } from 'node:crypto';
import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import { epochMsSchema } from '../../base/time.ts';
import type { RedisClient } from '../../redis/client.ts';
import { withRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';
import type { AuditLog } from '../../services/audit-log.ts';
import type { Env, Session } from '../hono-env.ts';
import { isLoopbackHost } from './client.ts';
import { csrfOf, isSafe, isSameOrigin } from './csrf.ts';
import type { LoginThrottle } from './login-throttle.ts';
import type { Principal, TokenVerifier } from './tokens.ts';

/** A session ends this long after the last request of the user, and this long after the sign-in. */
const SESSION_IDLE_TIMEOUT_MS = 2 * 3_600_000;
const SESSION_LIFETIME_MS = 12 * 3_600_000;
/** Precision of the time of the last request, ms: otherwise each request would write. */
const LAST_SEEN_INTERVAL_MS = 60_000;

export type SignInResult =
  | { readonly signedIn: true; readonly session: Session }
  | {
      readonly signedIn: false;
      /**
       * - `unknown`, `expired`: the token;
       * - `throttled`: too many rejected tokens of this address; `retryAfterS` is the wait;
       * - `insecure`: neither TLS nor a loopback name, so the cookie would be sent in clear;
       * - `cross_site`: the form is of another site.
       */
      readonly why: 'unknown' | 'expired' | 'throttled' | 'insecure' | 'cross_site';
      readonly retryAfterS?: number;
    };

/**
 * Sessions of the page. The browser has a random id in a cookie (HttpOnly, SameSite=Strict; `__Host-` and Secure behind TLS).
 * Redis has its hash and a reference to the token: all admin processes share sessions, and reading Redis gives access to
 * none. Each request verifies the token again, so that a revocation takes effect within seconds.
 *
 * Each method throws `redis.unreachable`.
 */
export interface Sessions {
  /** The session of a request; undefined without one, and if it or its token has expired. */
  read(context: Context<Env>): Promise<Session | undefined>;
  /** Starts a session with a new id and ends the previous one of the browser. Only for POST. */
  signIn(context: Context<Env>, token: string): Promise<SignInResult>;
  signOut(context: Context<Env>): Promise<void>;
}

const storedSessionSchema = z.object({ mark: z.string(), began: epochMsSchema, seen: epochMsSchema });
type StoredSession = z.infer<typeof storedSessionSchema>;

/** Undefined for an unreadable session: the user signs in again. */
function parseStoredSession(text: string): StoredSession | undefined {
  try {
    return storedSessionSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

export interface SessionPorts {
  readonly redis: RedisClient;
  readonly prefix: string;
  readonly tokens: TokenVerifier;
  readonly loginThrottle: LoginThrottle;
  readonly audit: Pick<AuditLog, 'record'>;
  readonly clock: Clock;
}

/** Sessions in Redis. */
export function redisSessions({ redis, prefix, tokens, loginThrottle, audit, clock }: SessionPorts): Sessions {
  const keys = redisKeys(prefix);
  const keyOf = (id: string) => keys.session(createHash('sha256').update(id).digest('hex'));

  const restMs = ({ began, seen }: StoredSession): number =>
    Math.min(began + SESSION_LIFETIME_MS, seen + SESSION_IDLE_TIMEOUT_MS) - clock.now();
  const keep = (id: string, kept: StoredSession, only: 'NX' | 'XX') => {
    const [key, text, ms] = [keyOf(id), JSON.stringify(kept), restMs(kept)];
    // XX: a running request must not restore a session that was signed out meanwhile.
    return withRedisErrors(redis, () =>
      only === 'XX' ? redis.set(key, text, 'PX', ms, 'XX') : redis.set(key, text, 'PX', ms, 'NX'),
    );
  };
  const forget = (id: string) => withRedisErrors(redis, () => redis.del(keyOf(id)));

  const read = async (context: Context<Env>): Promise<Session | undefined> => {
    const id = readSessionId(context);
    if (id === undefined) return undefined;
    const text = await withRedisErrors(redis, () => redis.get(keyOf(id)));
    if (text === null) return undefined;
    const kept = parseStoredSession(text);
    if (kept === undefined || restMs(kept) <= 0) return undefined;
    const verdict = await tokens.verifyRef(kept.mark);
    if (!verdict.accepted) {
      await forget(id);
      return undefined;
    }
    const now = clock.now();
    if (now - kept.seen >= LAST_SEEN_INTERVAL_MS && isUserInitiated(context))
      await keep(id, { ...kept, seen: now }, 'XX');
    return createSession(context, id, verdict.principal);
  };

  return {
    read,
    signIn: async (context, token) => {
      const { address, secure, host } = context.get('client');
      if (!isSameOrigin(context)) return { signedIn: false, why: 'cross_site' };
      if (!secure && !isLoopbackHost(host)) return { signedIn: false, why: 'insecure' };
      const verdict = await tokens.verify(token.trim().slice(0, 512));
      if (!verdict.accepted) {
        const retryAfterS = loginThrottle.recordRefusal(context, verdict.why);
        return retryAfterS === undefined
          ? { signedIn: false, why: verdict.why }
          : { signedIn: false, why: 'throttled', retryAfterS };
      }
      const before = readSessionId(context);
      if (before !== undefined) await forget(before);
      const id = randomBytes(32).toString('base64url');
      const now = clock.now();
      await keep(id, { mark: verdict.mark, began: now, seen: now }, 'NX');
      setCookie(context, cookieName(secure), id, cookieAttributes(secure));
      const session = createSession(context, id, verdict.principal);
      await audit.record({ event: 'session.opened', who: session.principal.name, from: address });
      return { signedIn: true, session };
    },
    signOut: async (context) => {
      const { address, secure } = context.get('client');
      const id = readSessionId(context);
      const session = await read(context);
      if (id !== undefined) await forget(id);
      deleteCookie(context, cookieName(secure), cookieAttributes(secure));
      if (session !== undefined)
        await audit.record({ event: 'session.closed', who: session.principal.name, from: address });
    },
  };
}

// The prefix `__Host-` restricts the cookie to this host over TLS; it is not available over HTTP.
const cookieName = (secure: boolean): string => (secure ? '__Host-docket' : 'docket');

const cookieAttributes = (secure: boolean) =>
  ({ path: '/', httpOnly: true, sameSite: 'Strict', secure, maxAge: SESSION_LIFETIME_MS / 1_000 }) as const;

function readSessionId(context: Context<Env>): string | undefined {
  const id = getCookie(context, cookieName(context.get('client').secure));
  return id !== undefined && /^[\w-]{43}$/.test(id) ? id : undefined;
}

/** Whether the user caused the request: polling by an open page must not extend the session. */
function isUserInitiated(context: Context<Env>): boolean {
  const mode = context.req.header('sec-fetch-mode');
  return !isSafe(context.req.method) || mode === undefined || mode === 'navigate';
}

const createSession = (context: Context<Env>, id: string, principal: Principal): Session =>
  Object.freeze({
    principal: Object.freeze({ ...principal, from: context.get('client').address }),
    csrf: csrfOf(id),
  });
