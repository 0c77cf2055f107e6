import { isIP } from 'node:net';
import type { Context, MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { AddressList } from '../../base/address-list.ts';
import type { Env } from '../env.ts';
import { problem } from '../problem.ts';

/** Who is at the other end, as far as proxies that are trusted say. */
export interface Client {
  /** IP address; `unknown` where there is no connection. */
  readonly address: string;
  /** Whether it speaks TLS, to the proxy in front of us. */
  readonly secure: boolean;
  /** Host and port as it names us, lower case; empty when it does not. */
  readonly host: string;
}

/** What a request says of where it came from. */
export interface Origins {
  /** Of the connection. */
  readonly remote: string | undefined;
  readonly header: (name: string) => string | undefined;
}

/**
 * The client of a request. Forwarded headers are believed of a trusted proxy alone, and only what that proxy itself
 * added: `X-Forwarded-For` is read from the right up to the first address that is not a trusted proxy's, of
 * `X-Forwarded-Proto` and `X-Forwarded-Host` the last entry. Whatever stands further left, anybody may have written.
 */
export function clientOf({ remote, header }: Origins, proxies: AddressList): Client {
  const direct = addressOf(remote);
  const host = (header('host') ?? '').toLowerCase();
  if (!proxies.has(direct)) return Object.freeze({ address: direct, secure: false, host });
  const hops = (header('x-forwarded-for') ?? '').split(',').map((hop) => readAddress(hop.trim()));
  let address = direct;
  while (proxies.has(address)) {
    const before = hops.pop();
    if (before === undefined) break;
    address = before;
  }
  return Object.freeze({
    address,
    secure: last(header('x-forwarded-proto'))?.toLowerCase() === 'https',
    host: last(header('x-forwarded-host'))?.toLowerCase() ?? host,
  });
}

const last = (list: string | undefined): string | undefined => list?.split(',').pop()?.trim() || undefined;

/** An address without port, brackets and zone; of an IPv4 one inside IPv6, the IPv4 one. Undefined for what is none. */
function readAddress(text: string): string | undefined {
  const bare = /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  const address = bare.replace(/%.*$/, '').replace(/^::ffff:(?=\d+\.)/i, '');
  return isIP(address) === 0 ? undefined : address.toLowerCase();
}

/** The address of a connection; `unknown` for what is none. */
export const addressOf = (remote: string | undefined): string => readAddress(remote ?? '') ?? 'unknown';

/** What counts as one sender: an IPv4 address, or the network of 64 bits that one subscriber of IPv6 has. */
export function senderOf(address: string): string {
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

/** Whether a host, with or without port, is this machine to whoever names it so. */
export function isLoopbackHost(host: string): boolean {
  const name = withoutPort(host);
  return name === 'localhost' || name.endsWith('.localhost') || name === '::1' || /^127(\.\d+){3}$/.test(name);
}

const withoutPort = (host: string): string => /^\[([^\]]*)\]/.exec(host)?.[1] ?? host.replace(/:\d*$/, '');

/** Bytes of a form. What the API takes, each of its routes says itself, once the sender is known. */
const MOST_FORM = 64 * 1024;

/** Refuses a larger body outside of the API before anything reads it: anybody may send the sign-in form. */
export const limitForms = (): MiddlewareHandler<Env> => {
  const limit = bodyLimit({
    maxSize: MOST_FORM,
    onError: () => problem('request.too_large', { expected: `at most ${MOST_FORM} bytes` }, { Connection: 'close' }),
  });
  return (context, next) => (context.req.path.startsWith('/api/') ? next() : limit(context, next));
};

/**
 * Finds out who asks, and refuses whoever asks for a name that is not ours: a page whose name was rebound to our address
 * would otherwise be one origin with us. An address cannot be rebound. Probes and bearers of a token pass under whatever
 * name they know us by: the first are told nothing, and such a page has no token.
 *
 * @param names further names of ours, lower case, without port
 */
export function knowClient({ proxies, names }: { readonly proxies: AddressList; readonly names: readonly string[] }) {
  return async (context: Context<Env>, next: () => Promise<void>): Promise<Response | undefined> => {
    const client = clientOf(
      {
        remote: context.env?.incoming?.socket.remoteAddress,
        header: (name) => context.req.header(name),
      },
      proxies,
    );
    context.set('client', client);
    const name = withoutPort(client.host);
    const ours = name === '' || isIP(name) !== 0 || isLoopbackHost(name) || names.includes(name);
    const harmless = /^\/(healthz|readyz)$/.test(context.req.path) || context.req.header('authorization') !== undefined;
    if (!ours && !harmless) {
      return problem('request.misdirected', {
        expected: 'an address, localhost, DOCKET_ADMIN_HOST or one of DOCKET_ADMIN_NAMES',
        got: name.slice(0, 100),
        next: 'Add the name to DOCKET_ADMIN_NAMES, if it is ours.',
      });
    }
    await next();
    return undefined;
  };
}
