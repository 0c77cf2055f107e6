import { isDeepStrictEqual } from 'node:util';
import type { Context, MiddlewareHandler } from 'hono';
import type { AddressList } from '../../base/net/address-list.ts';
import type { Env, Session } from '../hono-env.ts';
import { problem } from '../problem.ts';
import type { AccountMethod } from './account-method.ts';
import { CSRF_FIELD, CSRF_HEADER, isCsrf, isOwnNavigation, isSafe, isSameOrigin } from './csrf.ts';
import type { LoginThrottle } from './login-throttle.ts';
import type { RateLimit } from './rate-limit.ts';
import type { Sessions } from './sessions.ts';
import type { Principal, TokenVerifier } from './tokens.ts';

const CHALLENGE = { 'WWW-Authenticate': 'Bearer realm="docket"' };

export interface AuthPorts {
  readonly tokens: TokenVerifier;
  /** Absent in a process without the page. */
  readonly sessions?: Sessions | undefined;
  readonly loginThrottle: LoginThrottle;
  readonly limit: RateLimit;
}

/**
 * Rejects API requests without a valid token. A session of the page is accepted as well; unsafe methods then need the header
 * `X-CSRF-Token` and the same origin. Sets `principal`, `session` and `stillAccepted`. Requires `resolveClient`.
 */
export function requireToken({ tokens, sessions, loginThrottle, limit }: AuthPorts): MiddlewareHandler<Env> {
  return async (context, next) => {
    const header = context.req.header('authorization');
    if (header === undefined && sessions !== undefined) {
      const session = isOwnNavigation(context) ? await sessions.read(context) : undefined;
      if (session !== undefined) {
        const presented = context.req.header(CSRF_HEADER);
        if (!isSafe(context.req.method) && !(isSameOrigin(context) && isCsrf(session.csrf, presented)))
          return crossSiteProblem();
        return admitSession(context, next, { sessions, limit, session });
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
      const retryAfterS = loginThrottle.recordRefusal(context, verdict.why);
      if (retryAfterS !== undefined) return problem('auth.throttled', {}, { 'Retry-After': String(retryAfterS) });
      return problem(verdict.why === 'expired' ? 'auth.expired' : 'auth.invalid', {}, CHALLENGE);
    }
    const principal = Object.freeze({ ...verdict.principal, from: context.get('client').address });
    const refusal = limit.principal(context, principal);
    if (refusal !== undefined) return refusal;
    context.set('principal', principal);
    context.set('session', undefined);
    context.set('stillAccepted', async () => {
      const now = await tokens.verifyRef(verdict.mark);
      return now.accepted && hasSameAccess(verdict.principal, now.principal);
    });
    await next();
    return undefined;
  };
}

/**
 * Rejects page requests without a session. Unsafe methods need the same origin and the session's CSRF token, in the form
 * field `csrf` or the header `X-CSRF-Token`. Sets `principal`, `session` and `stillAccepted`. Requires `resolveClient`.
 *
 * @param missing the response without a session, e.g. a redirect to the sign-in form
 */
export function requireSession(
  { sessions, limit }: { readonly sessions: Sessions; readonly limit: RateLimit },
  missing: (context: Context<Env>) => Response | Promise<Response>,
): MiddlewareHandler<Env> {
  return async (context, next) => {
    const session = await sessions.read(context);
    if (session === undefined) return limit.address(context) ?? missing(context);
    if (!isSafe(context.req.method)) {
      const presented = context.req.header(CSRF_HEADER) ?? (await readCsrfField(context));
      if (!isSameOrigin(context) || !isCsrf(session.csrf, presented)) return crossSiteProblem();
    }
    return admitSession(context, next, { sessions, limit, session });
  };
}

async function admitSession(
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
    return now !== undefined && hasSameAccess(session.principal, now.principal);
  });
  await next();
  return undefined;
}

/** Whether the permissions of a token are unchanged. */
const hasSameAccess = (before: Principal, now: Principal): boolean =>
  before.role === now.role && isDeepStrictEqual(before.orgs, now.orgs);

/** The CSRF field of a form. Hono caches the body for the handler. */
async function readCsrfField(context: Context<Env>): Promise<unknown> {
  const type = context.req.header('content-type') ?? '';
  if (!/^(application\/x-www-form-urlencoded|multipart\/form-data)\b/i.test(type)) return undefined;
  const { [CSRF_FIELD]: field } = await context.req.parseBody();
  return field;
}

const crossSiteProblem = (): Response =>
  problem('auth.cross_site', {
    expected: `a request of a page of this site, with its token in ${CSRF_FIELD} or ${CSRF_HEADER}`,
    next: 'Reload the page and try again; scripts send Authorization: Bearer <token>.',
  });

/** Authentication and authorization of a process. */
export interface Auth extends AuthPorts {
  /** Proxies whose forwarded headers are trusted. */
  readonly proxies: AddressList;
  /** Configured host names, besides addresses and localhost, in lower case and without port. */
  readonly names: readonly string[];
}

/** Authentication of a process with the page. */
export interface PageAuth extends Auth {
  readonly sessions: Sessions;
  /** Absent if accounts cannot sign in. */
  readonly accounts?: AccountMethod | undefined;
}
