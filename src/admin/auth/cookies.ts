import type { Context } from 'hono';
import { getCookie } from 'hono/cookie';
import type { Env } from '../hono-env.ts';

// The prefix `__Host-` restricts a cookie to this host over TLS; it is not available over HTTP.
export const hostCookie = (name: string, secure: boolean): string => (secure ? `__Host-${name}` : name);

const SESSION_COOKIE = 'docket';
const SESSION_ID = /^[\w-]{43}$/;

export const sessionCookie = (secure: boolean): string => hostCookie(SESSION_COOKIE, secure);

/** The id in the browser's cookie; undefined without one. */
export function readSessionId(context: Context<Env>): string | undefined {
  const id = getCookie(context, sessionCookie(context.get('client').secure));
  return id !== undefined && SESSION_ID.test(id) ? id : undefined;
}
