import { createHmac } from 'node:crypto';
import type { Context } from 'hono';
import type { Env } from '../hono-env.ts';
import { equalBytes } from './tokens.ts';

/** Form field and header of the CSRF token. */
export const CSRF_FIELD = 'csrf';
export const CSRF_HEADER = 'x-csrf-token';

/** HTTP methods that change nothing. */
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
/** Whether a request of this method changes nothing. */
export const isSafe = (method: string): boolean => SAFE.has(method);

/** The CSRF token of a session, derived from the id in the cookie, which no script can read. */
export const deriveCsrfToken = (id: string): string => createHmac('sha256', id).update('csrf').digest('base64url');

/** Compares CSRF tokens in constant time. */
export const isCsrf = (expected: string, presented: unknown): boolean =>
  typeof presented === 'string' && equalBytes(Buffer.from(expected), Buffer.from(presented));

/**
 * Whether a page of this site sent the request: `Sec-Fetch-Site` says so or, if absent, `Origin`. No other site can
 * forge these. hono/csrf checks forms only, and compares the scheme, which differs behind a proxy.
 */
export function isSameOrigin(context: Context<Env>): boolean {
  const site = context.req.header('sec-fetch-site');
  if (site !== undefined) return site === 'same-origin';
  const origin = context.req.header('origin') ?? '';
  return URL.canParse(origin) && new URL(origin).host === readRequestHost(context);
}

/** Whether the request comes from a page of this site or from the address bar. */
export function isOwnNavigation(context: Context<Env>): boolean {
  const site = context.req.header('sec-fetch-site');
  return site === undefined || site === 'same-origin' || site === 'none';
}

// `URL` omits the default port of the scheme. The Host header may omit it too.
const readRequestHost = (context: Context<Env>): string => {
  const { host, secure } = context.get('client');
  return host.replace(secure ? /:443$/ : /:80$/, '');
};
