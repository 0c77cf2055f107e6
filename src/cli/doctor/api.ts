import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { connect } from 'node:tls';
import { request } from 'undici';
import type { Clock } from '../../base/clock.ts';
import { DAY_MS } from '../../base/time.ts';
import { PATHS } from '../../contract/organization.ts';
import { API_SKEW_LIMITS, evaluateClockSkew } from './clock.ts';
import { type CheckResult, type Finding, fail, ok, warn } from './finding.ts';

const API_PROBE_TIMEOUT_MS = 10_000;

/** The response to an unauthenticated request. */
export interface UnauthenticatedReply {
  readonly status: number;
  /** The `code` of the error body (specification §7); undefined without one. */
  readonly code: string | undefined;
  readonly ms: number;
}

/** The Compliance Service answers an unauthenticated request with 401 and a code `auth.…`; hardly any other server does. */
export function evaluateReply({ status, code, ms }: UnauthenticatedReply, url: URL): CheckResult {
  const where = `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
  if (status === 401 && code?.startsWith('auth.')) {
    const detail = `${where} answers`;
    if (ms > 5_000)
      return warn(
        `${detail}, after ${Math.round(ms / 1000)} s`,
        'Ask the operator of the service: each call of a run takes that long.',
      );
    if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
      return warn(
        `${detail} without TLS: API keys cross the network in the clear`,
        'Use https:// in COMPLIANCE_API_URL.',
      );
    }
    return ok(detail);
  }
  if (status >= 500 || status === 429) {
    return warn(
      `${where} answers with HTTP ${status}`,
      'Try again later; if it persists, ask the operator of the service.',
    );
  }
  return fail(
    `${where} answers with HTTP ${status}, which is not how the Compliance Service answers without a key`,
    'Correct COMPLIANCE_API_URL: it is the base URL, in front of /api/orgs/.',
  );
}

const isLoopback = (host: string): boolean => /^(localhost|127(\.\d+){3}|\[?::1\]?)$/.test(host);

/** The kinds of failed connections, each with its remedy. */
export function evaluateConnectionError(error: unknown, url: URL): CheckResult {
  const codes = errorCodes(error);
  const code = codes[0] ?? (error instanceof Error ? error.message : String(error));
  const has = (pattern: RegExp) => codes.some((one) => pattern.test(one));
  if (has(/^(ENOTFOUND|EAI_AGAIN|EAI_NODATA)$/)) {
    return fail(
      `${url.hostname} is not known to DNS (${code})`,
      'Correct the host in COMPLIANCE_API_URL, or the resolver of this machine.',
    );
  }
  if (has(/CERT|SELF_SIGNED|UNABLE_TO|ALTNAME|TLS|SSL/)) {
    return fail(
      `The certificate of ${url.host} is rejected (${code})`,
      'Correct the host; for a certificate authority of your own, set NODE_EXTRA_CA_CERTS to its file.',
    );
  }
  if (has(/^UND_ERR_(HEADERS|BODY)_TIMEOUT$/)) {
    return fail(
      `${url.host} accepts the connection, but does not respond within ${API_PROBE_TIMEOUT_MS / 1_000} s`,
      'Check the service, and proxies and firewalls in front of it.',
    );
  }
  return fail(
    `${url.host} cannot be reached (${code})`,
    'Correct COMPLIANCE_API_URL, or allow the connection (firewall, proxy); `docket sandbox` is a substitute for trials.',
  );
}

/** Codes of an error and of what caused it, the innermost first. */
function errorCodes(error: unknown): string[] {
  const codes: string[] = [];
  for (let at = error; at instanceof Error; at = at.cause) {
    if ('code' in at && typeof at.code === 'string') codes.unshift(at.code);
    if (at instanceof AggregateError) codes.unshift(...at.errors.flatMap(errorCodes));
  }
  return codes;
}

/** @param until epoch ms at which it expires */
export function evaluateCertificate(until: number, now: number): CheckResult {
  const days = Math.floor((until - now) / DAY_MS);
  const detail = `valid until ${new Date(until).toISOString().slice(0, 10)}`;
  const remedy = 'The operator of the service has to renew it: after that day every call fails.';
  if (days < 0) return fail(`expired on ${new Date(until).toISOString().slice(0, 10)}`, remedy);
  return days < 14 ? warn(`${detail}, in ${days} days`, remedy) : ok(detail);
}

/** Makes an unauthenticated request, which costs no key a call. Throws only the reason of `stopped`. */
export async function checkApi(base: string, clock: Clock, stopped: AbortSignal): Promise<Finding[]> {
  const url = new URL(base);
  try {
    if (isIP(url.hostname.replace(/^\[|\]$/g, '')) === 0) await lookup(url.hostname);
    const before = clock.now();
    const { statusCode, headers, body } = await request(
      `${url.origin}${url.pathname.replace(/\/+$/, '')}${PATHS.organizations}`,
      {
        headersTimeout: API_PROBE_TIMEOUT_MS,
        bodyTimeout: API_PROBE_TIMEOUT_MS,
        signal: AbortSignal.any([stopped, AbortSignal.timeout(API_PROBE_TIMEOUT_MS * 2)]),
      },
    );
    const after = clock.now();
    const text = await body.text();
    const findings: Finding[] = [
      { what: 'API', ...evaluateReply({ status: statusCode, code: problemCode(text), ms: after - before }, url) },
    ];
    const date = Date.parse(typeof headers.date === 'string' ? headers.date : '');
    // The header has no fraction of a second.
    if (Number.isFinite(date)) {
      findings.push({
        what: 'API clock',
        ...evaluateClockSkew(date + 500 - (before + after) / 2, 'The API', API_SKEW_LIMITS),
      });
    }
    if (url.protocol === 'https:') {
      const until = await readCertificateExpiry(url);
      if (until !== undefined) findings.push({ what: 'API certificate', ...evaluateCertificate(until, clock.now()) });
    }
    return findings;
  } catch (error) {
    stopped.throwIfAborted();
    return [{ what: 'API', ...evaluateConnectionError(error, url) }];
  }
}

function problemCode(text: string): string | undefined {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null && 'code' in body ? String(body.code) : undefined;
  } catch {
    return undefined;
  }
}

const readCertificateExpiry = (url: URL): Promise<number | undefined> =>
  new Promise((resolve) => {
    const host = url.hostname.replace(/^\[|\]$/g, '');
    const socket = connect(
      {
        host,
        port: Number(url.port || 443),
        timeout: API_PROBE_TIMEOUT_MS,
        ...(isIP(host) === 0 ? { servername: host } : {}),
      },
      () => {
        const end = Date.parse(socket.getPeerCertificate().valid_to);
        socket.destroy();
        resolve(Number.isFinite(end) ? end : undefined);
      },
    );
    const stop = () => {
      socket.destroy();
      resolve(undefined);
    };
    socket.once('error', stop);
    socket.once('timeout', stop);
  });
