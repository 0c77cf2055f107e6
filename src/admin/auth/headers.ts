import type { MiddlewareHandler } from 'hono';
import { secureHeaders } from 'hono/secure-headers';
import type { Env } from '../env.ts';

/** What a page may load: files of this site, by address; no style or script inside it, nobody's frame around it. */
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

/** Of anything that is no page: should a browser show it as one after all, it may do nothing. */
export const DATA_POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/**
 * Of the preview of a mail in a frame of the page: whatever its template says, no script, form, link or file of elsewhere.
 * Mails carry their styles inside.
 */
export const PREVIEW_POLICY =
  "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'; base-uri 'none'; form-action 'none'";

/**
 * Of Bull Board, whose document has styles inside and names itself as its base. The fonts it asks of another host are
 * refused: the browser's own stand in.
 */
export const BOARD_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Half a year, as browsers want it; of this name alone, for we do not know what else the domain serves. */
const HSTS = 'max-age=15552000';

/**
 * Headers of every answer. A handler may set a policy of its own (`PREVIEW_POLICY`, `BOARD_POLICY`); otherwise a page has `PAGE_POLICY`
 * and anything else `DATA_POLICY`. No answer allows another origin to read it: there is no CORS. Expects `knowClient`
 * outside of it or inside; without a client there is no HSTS.
 */
export function securityHeaders(): MiddlewareHandler<Env> {
  const others = secureHeaders({
    strictTransportSecurity: false,
    xFrameOptions: false,
    // Superseded by the policy's frame-ancestors and default-src, which every browser of the page knows.
    xXssProtection: false,
    xDownloadOptions: false,
    xPermittedCrossDomainPolicies: false,
    // A mail's preview is sandboxed, so that no page shares its origin: of this header on it browsers only warn.
    originAgentCluster: false,
    // With none at all, browsers send our own forms with the origin `null`.
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
