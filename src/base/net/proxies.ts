import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP, type Socket } from 'node:net';
import type { SecretRef, SecretSource } from '../secrets/secret.ts';
import { parseAddressList } from './address-list.ts';
import { isLoopback, portOf } from './host.ts';
import { normalizeHost } from './private-address.ts';

/*
 * HTTP proxies of a company network, used in the same way for every outgoing connection of Docket. Docket always
 * requests a tunnel (CONNECT, RFC 9110 §9.3.6), even for http://, so that the proxy cannot return cached figures. Only
 * https:// hides the figures from it.
 */

/** The lower-case names take precedence, as in curl. HTTP_PROXY is only for http:// addresses. */
export const PROXY_VARIABLES = ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY'] as const;
type ProxyUrls = { readonly [Name in (typeof PROXY_VARIABLES)[number]]?: string | undefined };
export interface ProxySettings extends ProxyUrls {
  /** `user:password`, used instead of those in the URLs. */
  readonly DOCKET_PROXY_CREDENTIALS?: SecretRef | undefined;
}

/** Finds the proxy for connections to a URL's origin; undefined: connect directly. */
export type FindProxy = (target: URL) => HttpProxy | undefined;

/** Throws, before a proxy is used, if a connection to this host is not allowed. */
export type CheckHost = (host: string) => Promise<void>;

export interface HttpProxy {
  /** The proxy's URL without credentials: `http://proxy.example.com:3128`. */
  readonly name: string;
  /** Opens a tunnel. Sends nothing of the request before. Throws `ProxyError`, `config.secret_missing`. */
  readonly tunnel: (host: string, port: number, signal: AbortSignal) => Promise<Socket>;
}

export const NO_PROXIES: FindProxy = () => undefined;

/** The proxy did not open a tunnel, so the target has received nothing. */
export class ProxyError extends Error {
  override readonly name = 'ProxyError';
  readonly code: 'PROXY_REFUSED' | 'PROXY_UNREACHABLE';
  /** What the operator must do. */
  readonly next: string;

  /** @param status status of the reply to CONNECT; undefined if none arrived */
  constructor(proxy: string, authority: string, got: string, status?: number, cause?: unknown) {
    super(`The proxy ${proxy} opened no tunnel to ${authority}: ${got}.`, { cause });
    this.code = status === undefined ? 'PROXY_UNREACHABLE' : 'PROXY_REFUSED';
    this.next =
      status === 407
        ? 'Correct the user and password: DOCKET_PROXY_CREDENTIALS, or those in the URL of the proxy.'
        : status === undefined
          ? 'Check HTTPS_PROXY and HTTP_PROXY, and whether the proxy runs.'
          : 'Allow this host and port in the proxy, or name the host in NO_PROXY to connect to it directly.';
  }
}

const DEFAULT_PORTS = { 'http:': 80, 'https:': 443 } as const;

const normalizeUrlHost = ({ hostname }: URL): string => normalizeHost(hostname.replace(/^\[|\]$/g, ''));

/** User and password of a URL; undefined if their percent-encoding is invalid. */
function credentialsOf({ username, password }: URL): string | undefined {
  try {
    return decodeURIComponent(`${username}:${password}`);
  } catch {
    return undefined;
  }
}

/** Parses a proxy's URL. As in curl, `proxy.example.com:3128` means `http://proxy.example.com:3128`. */
function parseProxyUrl(text: string): URL | undefined {
  const full = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  const url = URL.canParse(full) ? new URL(full) : undefined;
  if (url === undefined || !(url.protocol in DEFAULT_PORTS) || url.hostname === '') return undefined;
  return credentialsOf(url) === undefined ? undefined : url;
}

type Exception = (host: string, port: number) => boolean;

/**
 * Parses an entry of NO_PROXY: `*`, a host with its subdomains, an address, or a network. All but `*` may have a port.
 */
function parseException(entry: string): Exception | undefined {
  if (entry === '*') return () => true;
  // An IPv6 address contains colons itself.
  const [, name = '', digits] =
    'has' in parseAddressList(entry) ? [entry, entry] : (/^\[?(.*?)\]?(?::(\d{1,5}))?$/.exec(entry) ?? []);
  const fitsPort = (port: number): boolean => digits === undefined || port === Number(digits);
  const addresses = parseAddressList(name);
  if ('has' in addresses) return (host, port) => fitsPort(port) && addresses.has(host);
  const suffix = normalizeHost(name.replace(/^\*?\./, ''));
  if (!/^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/.test(suffix) || isIP(suffix) !== 0) return undefined;
  return (host, port) => fitsPort(port) && (host === suffix || host.endsWith(`.${suffix}`));
}

const splitEntries = (text = ''): string[] => text.split(/[\s,]+/).filter((entry) => entry !== '');

/** Errors in the variables, formatted as by `readConfig`. NO_PROXY only counts if there is a proxy. */
export function proxyDiagnostics(values: ProxyUrls): string[] {
  const proxies = (['HTTPS_PROXY', 'HTTP_PROXY'] as const).filter((name) => values[name] !== undefined);
  const expected =
    'an http:// or https:// URL of a proxy, e.g. http://proxy.example.com:3128, with a % in its password written as %25';
  return [
    ...proxies
      .filter((name) => parseProxyUrl(values[name] ?? '') === undefined)
      .map((name) => `${name}: expected ${expected}, got a value that is not one (not shown: it may hold a password)`),
    ...splitEntries(proxies.length === 0 ? '' : values.NO_PROXY)
      .filter((entry) => parseException(entry) === undefined)
      .map((entry) => `NO_PROXY: expected hosts, addresses and CIDR networks with commas, or *, got "${entry}"`),
  ];
}

/**
 * Finds proxies by the environment's settings. Loopback addresses never use a proxy.
 * @param settings without errors, as checked by `proxyDiagnostics`
 */
export function findProxyBy(settings: ProxySettings, secrets: SecretSource): FindProxy {
  const exceptions = splitEntries(settings.NO_PROXY).flatMap((entry) => parseException(entry) ?? []);
  const reference = settings.DOCKET_PROXY_CREDENTIALS;
  const parseProxy = (text: string | undefined): HttpProxy | undefined => {
    const url = text === undefined ? undefined : parseProxyUrl(text);
    if (url === undefined) return undefined;
    const own = credentialsOf(url);
    if (url.password !== '') secrets.redactor.registerSecret(decodeURIComponent(url.password));
    const name = `${url.protocol}//${url.host}`;
    const credentials = async (): Promise<string | undefined> => {
      // Read for each connection, so that a new password needs no restart.
      const secret = reference === undefined ? undefined : await secrets(reference);
      const [, password = ''] = /:(.*)$/s.exec(secret?.reveal() ?? '') ?? [];
      secrets.redactor.registerSecret(password);
      return secret?.reveal() ?? (own === ':' ? undefined : own);
    };
    return {
      name,
      tunnel: async (host, port, signal) =>
        openTunnel({ url, name, credentials: await credentials() }, host, port, signal),
    };
  };
  const proxies = { 'https:': parseProxy(settings.HTTPS_PROXY), 'http:': parseProxy(settings.HTTP_PROXY) };
  return (target) => {
    const proxy = target.protocol === 'https:' || target.protocol === 'http:' ? proxies[target.protocol] : undefined;
    const [host, port] = [normalizeUrlHost(target), portOf(target)];
    return proxy === undefined || isLoopback(host) || exceptions.some((fits) => fits(host, port)) ? undefined : proxy;
  };
}

function openTunnel(
  proxy: { readonly url: URL; readonly name: string; readonly credentials: string | undefined },
  host: string,
  port: number,
  signal: AbortSignal,
): Promise<Socket> {
  const { url, name, credentials } = proxy;
  const bare = host.replace(/^\[|\]$/g, '');
  const authority = `${isIP(bare) === 6 ? `[${bare}]` : bare}:${port}`;
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'https:' ? requestHttps : requestHttp)({
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: portOf(url),
      method: 'CONNECT',
      path: authority,
      headers: {
        host: authority,
        ...(credentials === undefined
          ? {}
          : { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` }),
      },
      agent: false,
      signal,
    });
    request.once('connect', ({ statusCode: status = 0 }, socket, head) => {
      if (status < 200 || status > 299) {
        socket.destroy();
        return reject(new ProxyError(name, authority, `it answered ${status}`, status));
      }
      if (head.length > 0) socket.unshift(head);
      resolve(socket as Socket);
    });
    request.once('error', (cause: NodeJS.ErrnoException) => {
      const got = signal.aborted ? 'it did not answer in time' : (cause.code ?? cause.message);
      reject(new ProxyError(name, authority, got, undefined, cause));
    });
    request.end();
  });
}
