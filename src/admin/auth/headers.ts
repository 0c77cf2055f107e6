import type { MiddlewareHandler } from 'hono';
import { secureHeaders } from 'hono/secure-headers';
import type { Env } from '../hono-env.ts';

/** Policy of a page: files of this site only, no inline styles or scripts, no framing. */
export const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "form-action 'self'",
  "frame-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

/** Policy of other responses: nothing is allowed if a browser renders one as a page. */
export const DATA_POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/** Policy of the preview of a mail: inline styles and images only; no scripts, forms, links or other hosts. */
export const PREVIEW_POLICY =
  "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'; base-uri 'none'; form-action 'none'";

/**
 * Policy of Bull Board, which has inline styles and a base element. Blocks the fonts that it loads from another host.
 */
export const BULL_BOARD_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** HSTS for half a year; without subdomains, which may not support TLS. */
const HSTS = 'max-age=15552000';

/**
 * Sets the security headers of all responses. A handler may set a policy (`PREVIEW_POLICY`, `BOARD_POLICY`); otherwise pages
 * get `PAGE_POLICY` and other responses `DATA_POLICY`. There is no CORS. HSTS requires `resolveClient`.
 */
export function securityHeaders(): MiddlewareHandler<Env> {
  const others = secureHeaders({
    strictTransportSecurity: false,
    xFrameOptions: false,
    // The policy's frame-ancestors and default-src replace these headers.
    xXssProtection: false,
    xDownloadOptions: false,
    xPermittedCrossDomainPolicies: false,
    // The preview of a mail is sandboxed and has no origin: browsers would only warn about this header.
    originAgentCluster: false,
    // With `no-referrer`, browsers send the origin `null` with forms of this site.
    referrerPolicy: 'same-origin',
    permissionsPolicy: { camera: [], geolocation: [], microphone: [], payment: [], usb: [] },
  });
  return async (context, next) => {
    await others(context, next);
    const { headers } = context.res;
    if (!headers.has('Cache-Control')) headers.set('Cache-Control', 'no-store');
    if (!headers.has('Content-Security-Policy')) {
      const page = headers.get('Content-Type')?.startsWith('text/html') ?? false;
      headers.set('Content-Security-Policy', page ? PAGE_POLICY : DATA_POLICY);
      headers.set('X-Frame-Options', 'DENY');
    }
    if (context.get('client')?.secure) headers.set('Strict-Transport-Security', HSTS);
  };
}
