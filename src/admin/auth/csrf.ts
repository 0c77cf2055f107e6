import { createHmac } from 'node:crypto';
import type { Context } from 'hono';
import type { Env } from '../env.ts';
import { sameBytes } from './tokens.ts';

/** The name of the field in which a form of the page shows the session's token, and of the header for a script. */
export const CSRF_FIELD = 'csrf';
export const CSRF_HEADER = 'x-csrf-token';

/** Methods that change nothing. */
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
/** Whether a request of this method changes nothing. */
export const isSafe = (method: string): boolean => SAFE.has(method);

/** The token of a session: only whoever has the cookie's id, which no script can read, can make it. */
export const csrfOf = (id: string): string => createHmac('sha256', id).update('csrf').digest('base64url');

/** Whether the shown token is the session's, in constant time. */
export const isCsrf = (expected: string, shown: unknown): boolean =>
  typeof shown === 'string' && sameBytes(Buffer.from(expected), Buffer.from(shown));

/**
 * Whether a page of ours sent the request, as the browser says: by `Sec-Fetch-Site`, or `Origin` of one that does not send
 * it. No other site can forge either. hono/csrf looks at forms alone and compares the scheme, which is not the browser's
 * behind a proxy.
 */
export function isSameOrigin(context: Context<Env>): boolean {
  const site = context.req.header('sec-fetch-site');
  if (site !== undefined) return site === 'same-origin';
  const origin = context.req.header('origin') ?? '';
  return URL.canParse(origin) && new URL(origin).host === hostOf(context);
}

/** Whether a browser asks for a page or file of ours by itself: from our own page, or from its address line. */
export function isOwnNavigation(context: Context<Env>): boolean {
  const site = context.req.header('sec-fetch-site');
  return site === undefined || site === 'same-origin' || site === 'none';
}

// `URL` leaves out the port that the scheme implies; so may the Host header.
const hostOf = (context: Context<Env>): string => {
  const { host, secure } = context.get('client');
  return host.replace(secure ? /:443$/ : /:80$/, '');
};
