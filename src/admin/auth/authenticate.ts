import { isDeepStrictEqual } from 'node:util';
import type { Context, MiddlewareHandler } from 'hono';
import type { Env } from '../env.ts';
import { problem } from '../problem.ts';
import { CSRF_FIELD, CSRF_HEADER, isCsrf, isOwnNavigation, isSafe, isSameOrigin } from './csrf.ts';
import type { Guesses } from './guesses.ts';
import type { RateLimit } from './rate-limit.ts';
import type { Session, Sessions } from './sessions.ts';
import type { Principal, Tokens } from './tokens.ts';

const CHALLENGE = { 'WWW-Authenticate': 'Bearer realm="docket"' };

/** What lets requests in. */
export interface DoorPorts {
  readonly tokens: Tokens;
  /** Absent where there is no page. */
  readonly sessions?: Sessions | undefined;
  readonly guesses: Guesses;
  readonly limit: RateLimit;
}

/**
 * Lets nobody pass without a token that is accepted: for the API. The page's session does as well – for what changes
 * something only with its token in the header `X-CSRF-Token`, and only from a page of ours. Sets `principal`, `session`
 * and `stillAccepted`. Expects `knowClient` before it.
 */
export function authenticated({ tokens, sessions, guesses, limit }: DoorPorts): MiddlewareHandler<Env> {
  return async (context, next) => {
    const header = context.req.header('authorization');
    if (header === undefined && sessions !== undefined) {
      const session = isOwnNavigation(context) ? await sessions.read(context) : undefined;
      if (session !== undefined) {
        const shown = context.req.header(CSRF_HEADER);
        if (!isSafe(context.req.method) && !(isSameOrigin(context) && isCsrf(session.csrf, shown))) return crossSite();
        return enter(context, next, { sessions, limit, session });
      }
    }
    const token = /^Bearer +([\x21-\x7e]{1,512})$/i.exec(header ?? '')?.[1];
    if (token === undefined) {
      return (
        limit.address(context) ??
        problem(
          'auth.missing',
          { next: 'Send Authorization: Bearer <token>; `docket tokens create` makes one.' },
          CHALLENGE,
        )
      );
    }
    const verdict = await tokens.verify(token);
    if (!verdict.accepted) {
      const retryAfterS = guesses.refused(context, verdict.why);
      if (retryAfterS !== undefined) return problem('auth.throttled', {}, { 'Retry-After': String(retryAfterS) });
      return problem(verdict.why === 'expired' ? 'auth.expired' : 'auth.invalid', {}, CHALLENGE);
    }
    const principal = Object.freeze({ ...verdict.principal, from: context.get('client').address });
    const refusal = limit.principal(context, principal);
    if (refusal !== undefined) return refusal;
    context.set('principal', principal);
    context.set('session', undefined);
    context.set('stillAccepted', async () => {
      const now = await tokens.verifyMark(verdict.mark);
      return now.accepted && isAsBefore(verdict.principal, now.principal);
    });
    await next();
    return undefined;
  };
}

/**
 * Lets nobody pass who is not signed in: for the page. An action (any method but GET and HEAD) has to come from a page
 * of ours with the session's token, in the field `csrf` of its form or the header `X-CSRF-Token`. Sets `principal`,
 * `session` (whose `csrf` goes into each form) and `stillAccepted`. Expects `knowClient` before it.
 *
 * @param missing the answer to whoever is not signed in, e.g. a way to the sign-in form
 */
export function signedIn(
  { sessions, limit }: { readonly sessions: Sessions; readonly limit: RateLimit },
  missing: (context: Context<Env>) => Response | Promise<Response>,
): MiddlewareHandler<Env> {
  return async (context, next) => {
    const session = await sessions.read(context);
    if (session === undefined) return limit.address(context) ?? missing(context);
    if (!isSafe(context.req.method)) {
      const shown = context.req.header(CSRF_HEADER) ?? (await fieldOf(context));
      if (!isSameOrigin(context) || !isCsrf(session.csrf, shown)) return crossSite();
    }
    return enter(context, next, { sessions, limit, session });
  };
}

async function enter(
  context: Context<Env>,
  next: () => Promise<void>,
  { sessions, limit, session }: { readonly sessions: Sessions; readonly limit: RateLimit; readonly session: Session },
): Promise<Response | undefined> {
  const refusal = limit.principal(context, session.principal);
  if (refusal !== undefined) return refusal;
  context.set('principal', session.principal);
  context.set('session', session);
  context.set('stillAccepted', async () => {
    const now = await sessions.read(context);
    return now !== undefined && isAsBefore(session.principal, now.principal);
  });
  await next();
  return undefined;
}

/** Whether a token may what it might: its entry may have been narrowed since. */
const isAsBefore = (before: Principal, now: Principal): boolean =>
  before.role === now.role && isDeepStrictEqual(before.orgs, now.orgs);

/** Of a form; Hono keeps the body for the handler. */
async function fieldOf(context: Context<Env>): Promise<unknown> {
  const type = context.req.header('content-type') ?? '';
  if (!/^(application\/x-www-form-urlencoded|multipart\/form-data)\b/i.test(type)) return undefined;
  const { [CSRF_FIELD]: field } = await context.req.parseBody();
  return field;
}

const crossSite = (): Response =>
  problem('auth.cross_site', {
    expected: `a request of a page of this site, with its token in ${CSRF_FIELD} or ${CSRF_HEADER}`,
    next: 'Load the page anew and try again; a script of your own sends Authorization: Bearer <token>.',
  });
