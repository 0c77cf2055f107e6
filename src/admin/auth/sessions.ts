import { createHash, randomBytes } from 'node:crypto';
import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import { instantSchema } from '../../base/instant.ts';
import type { RedisClient } from '../../base/redis-client.ts';
import { asking } from '../../queue/connection.ts';
import { keysOf } from '../../queue/keys.ts';
import type { Env } from '../env.ts';
import type { Audit } from './audit.ts';
import { isLoopbackHost } from './client.ts';
import { csrfOf, isSafe, isSameOrigin } from './csrf.ts';
import type { Guesses } from './guesses.ts';
import type { Principal, Tokens } from './tokens.ts';

/** A session ends so long after the last request that a person made, and so long after its sign-in, ms. */
const IDLE_MS = 2 * 3_600_000;
const ABSOLUTE_MS = 12 * 3_600_000;
/** How exact the time of the last request is kept, ms: otherwise each request would write. */
const EXACT_MS = 60_000;

/** Somebody who is signed in to the page. */
export interface Session {
  readonly principal: Principal;
  /** What each action of the page has to show: a form in the field `csrf`, a script in the header `X-CSRF-Token`. */
  readonly csrf: string;
}

/** What became of a sign-in. */
export type SignIn =
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
  signIn(context: Context<Env>, token: string): Promise<SignIn>;
  signOut(context: Context<Env>): Promise<void>;
}

const keptSchema = z.object({ mark: z.string(), began: instantSchema, seen: instantSchema });
type Kept = z.infer<typeof keptSchema>;

/** A session that nobody can read is none: its bearer signs in again. */
function readKept(text: string): Kept | undefined {
  try {
    return keptSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** What sessions stand on. */
export interface SessionPorts {
  readonly redis: RedisClient;
  readonly prefix: string;
  readonly tokens: Tokens;
  readonly guesses: Guesses;
  readonly audit: Pick<Audit, 'tell'>;
  readonly clock: Clock;
}

/** Sessions in Redis. */
export function redisSessions({ redis, prefix, tokens, guesses, audit, clock }: SessionPorts): Sessions {
  const keys = keysOf(prefix);
  const keyOf = (id: string) => keys.session(createHash('sha256').update(id).digest('hex'));

  const restMs = ({ began, seen }: Kept): number => Math.min(began + ABSOLUTE_MS, seen + IDLE_MS) - clock.now();
  const keep = (id: string, kept: Kept, only: 'NX' | 'XX') => {
    const [key, text, ms] = [keyOf(id), JSON.stringify(kept), restMs(kept)];
    // Only what is still there is kept on: a request in hand must not bring back what was signed out meanwhile.
    return asking(redis, () =>
      only === 'XX' ? redis.set(key, text, 'PX', ms, 'XX') : redis.set(key, text, 'PX', ms, 'NX'),
    );
  };
  const forget = (id: string) => asking(redis, () => redis.del(keyOf(id)));

  const read = async (context: Context<Env>): Promise<Session | undefined> => {
    const id = idOf(context);
    if (id === undefined) return undefined;
    const text = await asking(redis, () => redis.get(keyOf(id)));
    if (text === null) return undefined;
    const kept = readKept(text);
    if (kept === undefined || restMs(kept) <= 0) return undefined;
    const verdict = await tokens.verifyMark(kept.mark);
    if (!verdict.accepted) {
      await forget(id);
      return undefined;
    }
    const now = clock.now();
    if (now - kept.seen >= EXACT_MS && isPersons(context)) await keep(id, { ...kept, seen: now }, 'XX');
    return sessionOf(context, id, verdict.principal);
  };

  return {
    read,
    signIn: async (context, token) => {
      const { address, secure, host } = context.get('client');
      if (!isSameOrigin(context)) return { signedIn: false, why: 'cross_site' };
      if (!secure && !isLoopbackHost(host)) return { signedIn: false, why: 'insecure' };
      const verdict = await tokens.verify(token.trim().slice(0, 512));
      if (!verdict.accepted) {
        const retryAfterS = guesses.refused(context, verdict.why);
        return retryAfterS === undefined
          ? { signedIn: false, why: verdict.why }
          : { signedIn: false, why: 'throttled', retryAfterS };
      }
      const before = idOf(context);
      if (before !== undefined) await forget(before);
      const id = randomBytes(32).toString('base64url');
      const now = clock.now();
      await keep(id, { mark: verdict.mark, began: now, seen: now }, 'NX');
      setCookie(context, nameOf(secure), id, attributes(secure));
      const session = sessionOf(context, id, verdict.principal);
      await audit.tell({ event: 'session.opened', who: session.principal.name, from: address });
      return { signedIn: true, session };
    },
    signOut: async (context) => {
      const { address, secure } = context.get('client');
      const id = idOf(context);
      const session = await read(context);
      if (id !== undefined) await forget(id);
      deleteCookie(context, nameOf(secure), attributes(secure));
      if (session !== undefined)
        await audit.tell({ event: 'session.closed', who: session.principal.name, from: address });
    },
  };
}

// The prefix makes the browser refuse it from anything but this very host over TLS; plain HTTP cannot have it.
const nameOf = (secure: boolean): string => (secure ? '__Host-docket' : 'docket');

const attributes = (secure: boolean) =>
  ({ path: '/', httpOnly: true, sameSite: 'Strict', secure, maxAge: ABSOLUTE_MS / 1_000 }) as const;

function idOf(context: Context<Env>): string | undefined {
  const id = getCookie(context, nameOf(context.get('client').secure));
  return id !== undefined && /^[\w-]{43}$/.test(id) ? id : undefined;
}

/** Whether a person asked: what an open page asks by itself, for its live figures, would keep it signed in for nobody. */
function isPersons(context: Context<Env>): boolean {
  const mode = context.req.header('sec-fetch-mode');
  return !isSafe(context.req.method) || mode === undefined || mode === 'navigate';
}

const sessionOf = (context: Context<Env>, id: string, principal: Principal): Session =>
  Object.freeze({
    principal: Object.freeze({ ...principal, from: context.get('client').address }),
    csrf: csrfOf(id),
  });
