import { isIP } from 'node:net';
import type { Context, MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { AddressList } from '../../base/net/address-list.ts';
import { isLoopback } from '../../base/net/host.ts';
import type { Client, Env } from '../hono-env.ts';
import { problem } from '../problem.ts';

/** The connection and headers of a request. */
export interface RequestOrigin {
  /** Address of the connection. */
  readonly remote: string | undefined;
  readonly header: (name: string) => string | undefined;
}

/**
 * The client of a request. Forwarded headers count only if a trusted proxy sent them, and only their entries that it
 * added itself: `X-Forwarded-For` from the right up to the first address that is no trusted proxy, and the last entry
 * of `X-Forwarded-Proto` and `X-Forwarded-Host`. Any client can write the entries to the left.
 */
export function identifyClient({ remote, header }: RequestOrigin, proxies: AddressList): Client {
  const direct = toClientAddress(remote);
  const host = (header('host') ?? '').toLowerCase();
  if (!proxies.has(direct)) return Object.freeze({ address: direct, secure: false, host });
  const hops = (header('x-forwarded-for') ?? '').split(',').map((hop) => parseAddress(hop.trim()));
  let address = direct;
  while (proxies.has(address)) {
    const before = hops.pop();
    if (before === undefined) break;
    address = before;
  }
  return Object.freeze({
    address,
    secure: lastEntry(header('x-forwarded-proto'))?.toLowerCase() === 'https',
    host: lastEntry(header('x-forwarded-host'))?.toLowerCase() ?? host,
  });
}

const lastEntry = (list: string | undefined): string | undefined => list?.split(',').pop()?.trim() || undefined;

/** The address without port, brackets and zone. IPv4-mapped IPv6 becomes IPv4. Undefined if it is invalid. */
function parseAddress(text: string): string | undefined {
  const bare = /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  const address = bare.replace(/%.*$/, '').replace(/^::ffff:(?=\d+\.)/i, '');
  return isIP(address) === 0 ? undefined : address.toLowerCase();
}

/** The address of a connection; `unknown` if there is none. */
export const toClientAddress = (remote: string | undefined): string => parseAddress(remote ?? '') ?? 'unknown';

/** The unit of rate limits: an IPv4 address, or the /64 network of an IPv6 subscriber. */
export function addressBlock(address: string): string {
  if (isIP(address) !== 6) return address;
  const [front = '', back] = address.split('::');
  const groups = front === '' ? [] : front.split(':');
  const tail = back === undefined || back === '' ? [] : back.split(':');
  const missing = back === undefined ? 0 : 8 - groups.length - tail.length;
  return [...groups, ...Array<string>(Math.max(0, missing)).fill('0'), ...tail]
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':');
}

/** Whether a host name, with or without port, is a loopback name. */
export const isLoopbackHost = (host: string): boolean => isLoopback(withoutPort(host));

const withoutPort = (host: string): string => /^\[([^\]]*)\]/.exec(host)?.[1] ?? host.replace(/:\d*$/, '');

/** Maximum size of a form. API routes have their own limits, after authentication. */
const MAX_FORM_BYTES = 64 * 1024;

/**
 * Rejects larger bodies before reading them. Outside the API only, because the sign-in form needs no authentication.
 */
export const limitFormSize = (): MiddlewareHandler<Env> => {
  const limit = bodyLimit({
    maxSize: MAX_FORM_BYTES,
    onError: () =>
      problem('request.too_large', { expected: `at most ${MAX_FORM_BYTES} bytes` }, { Connection: 'close' }),
  });
  return (context, next) => (context.req.path.startsWith('/api/') ? next() : limit(context, next));
};

/**
 * Determines the client, and rejects unknown host names as protection against DNS rebinding. IP addresses need no such
 * protection. Probes and requests with a token may use any name: probes reveal nothing, and a rebound page has no
 * token.
 *
 * @param names configured host names, lower case, without port
 */
export function resolveClient({
  proxies,
  names,
}: {
  readonly proxies: AddressList;
  readonly names: readonly string[];
}) {
  return async (context: Context<Env>, next: () => Promise<void>): Promise<Response | undefined> => {
    const client = identifyClient(
      {
        remote: context.env?.incoming?.socket.remoteAddress,
        header: (name) => context.req.header(name),
      },
      proxies,
    );
    context.set('client', client);
    const name = withoutPort(client.host);
    const isKnown = name === '' || isIP(name) !== 0 || isLoopbackHost(name) || names.includes(name);
    const harmless = /^\/(healthz|readyz)$/.test(context.req.path) || context.req.header('authorization') !== undefined;
    if (!isKnown && !harmless) {
      return problem('request.misdirected', {
        expected: 'an address, localhost, DOCKET_ADMIN_HOST or one of DOCKET_ADMIN_NAMES',
        got: name.slice(0, 100),
        next: 'If the name is right, add it to DOCKET_ADMIN_NAMES.',
      });
    }
    await next();
    return undefined;
  };
}
