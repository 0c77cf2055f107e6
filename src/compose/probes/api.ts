import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { Agent, request } from 'undici';
import type { Clock } from '../../base/clock.ts';
import { certificateFault } from '../../base/net/certificate-error.ts';
import { isLoopback } from '../../base/net/host.ts';
import { proxiedConnector } from '../../base/net/proxied-connector.ts';
import { type FindProxy, type HttpProxy, NO_PROXIES, ProxyError } from '../../base/net/proxies.ts';
import { PATHS } from '../../contract/organization.ts';
import { type CheckResult, type Finding, fail, ok, warn } from '../../services/deployment/probe.ts';
import { evaluateCertificate, readCertificateExpiry } from './certificates.ts';
import { API_CLOCK, evaluateClockSkew } from './clock.ts';

const API_PROBE_TIMEOUT_MS = 10_000;

/**
 * Recognizes the Compliance Service: it answers an unauthenticated request with 401 and a code `auth.…`, which hardly
 * any other server does.
 */
export function evaluateReply(
  { status, code, ms }: { readonly status: number; readonly code: string | undefined; readonly ms: number },
  url: URL,
  proxy?: Pick<HttpProxy, 'name'>,
): CheckResult {
  const where = `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
  if (status === 401 && code?.startsWith('auth.')) {
    const detail = `${where} answers${proxy === undefined ? '' : ` through the proxy ${proxy.name}`}`;
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

/** Explains a failed connection, with a remedy for each kind. */
export function evaluateConnectionError(error: unknown, url: URL): CheckResult {
  if (error instanceof ProxyError) return fail(error.message, error.next);
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
    const fault = codes.map(certificateFault).find((found) => found !== undefined);
    return fail(
      `The certificate of ${url.host} ${fault?.what ?? 'is rejected'} (${code})`,
      fault?.next ?? 'Correct the host in COMPLIANCE_API_URL, or its TLS.',
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

/** Codes of an error and its causes, innermost first. */
function errorCodes(error: unknown): string[] {
  const codes: string[] = [];
  for (let at = error; at instanceof Error; at = at.cause) {
    if ('code' in at && typeof at.code === 'string') codes.unshift(at.code);
    if (at instanceof AggregateError) codes.unshift(...at.errors.flatMap(errorCodes));
  }
  return codes;
}

/** Makes an unauthenticated request, which uses no call of any key. Throws only the reason of `stopped`. */
export async function checkApi(
  base: string | undefined,
  clock: Clock,
  stopped: AbortSignal,
  findProxy: FindProxy = NO_PROXIES,
): Promise<Finding[]> {
  if (base === undefined) {
    const remedy = 'Set COMPLIANCE_API_URL to the base URL of the Compliance Service.';
    return [{ what: 'API', ...fail('COMPLIANCE_API_URL is not set', remedy) }];
  }
  const url = new URL(base);
  const proxy = findProxy(url);
  const dispatcher = new Agent({ connect: proxiedConnector(findProxy, { timeout: API_PROBE_TIMEOUT_MS }) });
  try {
    if (proxy === undefined && isIP(bareHost(url)) === 0) await lookup(url.hostname);
    const before = clock.now();
    const { statusCode, headers, body } = await request(
      `${url.origin}${url.pathname.replace(/\/+$/, '')}${PATHS.organizations}`,
      {
        dispatcher,
        headersTimeout: API_PROBE_TIMEOUT_MS,
        bodyTimeout: API_PROBE_TIMEOUT_MS,
        signal: AbortSignal.any([stopped, AbortSignal.timeout(API_PROBE_TIMEOUT_MS * 2)]),
      },
    );
    const after = clock.now();
    const text = await body.text();
    const findings: Finding[] = [
      {
        what: 'API',
        ...evaluateReply({ status: statusCode, code: problemCode(text), ms: after - before }, url, proxy),
      },
    ];
    const date = Date.parse(typeof headers.date === 'string' ? headers.date : '');
    // The header has whole seconds, so half a second is added.
    if (Number.isFinite(date)) {
      findings.push({
        what: 'API clock',
        ...evaluateClockSkew(date + 500 - (before + after) / 2, API_CLOCK),
      });
    }
    if (url.protocol === 'https:') {
      const until = await readCertificateExpiry(url, findProxy);
      if (until !== undefined) findings.push({ what: 'API certificate', ...evaluateCertificate(until, clock.now()) });
    }
    return findings;
  } catch (error) {
    stopped.throwIfAborted();
    return [{ what: 'API', ...evaluateConnectionError(error, url) }];
  } finally {
    await dispatcher.destroy();
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

const bareHost = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '');
