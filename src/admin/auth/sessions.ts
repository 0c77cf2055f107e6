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

/** A session ends so long after the last request that a person made, and so long after its sign-in, ms. */
const SESSION_IDLE_TIMEOUT_MS = 2 * 3_600_000;
const SESSION_LIFETIME_MS = 12 * 3_600_000;
/** How exact the time of the last request is kept, ms: otherwise each request would write. */
const LAST_SEEN_INTERVAL_MS = 60_000;

/** What became of a sign-in. */
export type SignInResult =
  | { readonly signedIn: true; readonly session: Session }
  | {
      readonly signedIn: false;
      /**
       * - `unknown`, `expired`: the token;
       * - `throttled`: too many refused tokens of this address, `retryAfterS` says for how long;
       * - `insecure`: neither TLS nor this machine's own name, so the cookie would travel in clear;
       * - `cross_site`: the form was not ours.
       */
      readonly why: 'unknown' | 'expired' | 'throttled' | 'insecure' | 'cross_site';
      readonly retryAfterS?: number;
    };

/**
 * Sessions of the page. The browser holds an opaque id in a cookie (HttpOnly, SameSite=Strict; `__Host-` and Secure behind
 * TLS), Redis holds its hash with a mark of the token, so that every admin process knows it and a look into Redis opens
 * none. The token is judged again at each request: whoever is revoked is out within seconds.
 *
 * Each throws `redis.unreachable`.
 */
export interface Sessions {
  /** The session of a request; undefined without one, and when it or its token has ended. */
  read(context: Context<Env>): Promise<Session | undefined>;
  /** Begins a session under a new id and ends the one that the browser had. Call it for POST alone. */
  signIn(context: Context<Env>, token: string): Promise<SignInResult>;
  signOut(context: Context<Env>): Promise<void>;
}

const storedSessionSchema = z.object({ mark: z.string(), began: epochMsSchema, seen: epochMsSchema });
type StoredSession = z.infer<typeof storedSessionSchema>;

/** A session that nobody can read is none: its bearer signs in again. */
function parseStoredSession(text: string): StoredSession | undefined {
  try {
    return storedSessionSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** What sessions stand on. */
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
    // Only what is still there is kept on: a request in hand must not bring back what was signed out meanwhile.
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

// The prefix makes the browser refuse it from anything but this very host over TLS; plain HTTP cannot have it.
const cookieName = (secure: boolean): string => (secure ? '__Host-docket' : 'docket');

const cookieAttributes = (secure: boolean) =>
  ({ path: '/', httpOnly: true, sameSite: 'Strict', secure, maxAge: SESSION_LIFETIME_MS / 1_000 }) as const;

function readSessionId(context: Context<Env>): string | undefined {
  const id = getCookie(context, cookieName(context.get('client').secure));
  return id !== undefined && /^[\w-]{43}$/.test(id) ? id : undefined;
}

/** Whether a person asked: what an open page asks by itself, for its live figures, would keep it signed in for nobody. */
function isUserInitiated(context: Context<Env>): boolean {
  const mode = context.req.header('sec-fetch-mode');
  return !isSafe(context.req.method) || mode === undefined || mode === 'navigate';
}

const createSession = (context: Context<Env>, id: string, principal: Principal): Session =>
  Object.freeze({
    principal: Object.freeze({ ...principal, from: context.get('client').address }),
    csrf: csrfOf(id),
  });
