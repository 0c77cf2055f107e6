import type { buildConnector } from 'undici';
import { portOf } from '../../base/net/host.ts';
import { type FindProxy, NO_PROXIES, ProxyError } from '../../base/net/proxies.ts';
import { createRedactor, type Redact, redactUntrusted } from '../../base/secrets/redactor.ts';
import { oneLine } from '../../base/text/bidi.ts';
import {
  type AddressPolicy,
  addressRefusal,
  assertAllowedBehindProxy,
  ForbiddenAddress,
  guardedLookup,
  literalRefusal,
} from '../internal/address-guard.ts';
import { type Fence, NotConfirmedError, noFence } from '../internal/fence.ts';

/** The result of one POST. */
export type PostResult =
  | {
      readonly kind: 'answered';
      readonly status: number;
      /** The beginning of the response body, redacted. */
      readonly text: string;
      /** The whole response body, possibly with secrets that the receiver repeats. Parse it, but never show it. */
      readonly raw: string;
      /** The `Retry-After` header. */
      readonly retryAfter?: string | undefined;
      /** The `Date` header. */
      readonly date?: string | undefined;
    }
  /** Not connected. `forbidden`: the address is refused. */
  | { readonly kind: 'unsent'; readonly reason: string; readonly forbidden: boolean }
  /** Connected, but the fence did not confirm the send: no byte was written. */
  | { readonly kind: 'withheld'; readonly reason: string }
  /** Connected, but without a complete response: the request may have been processed. */
  | { readonly kind: 'lost'; readonly reason: string };

export interface PostOptions {
  readonly allowPrivate: boolean;
  readonly findProxy?: FindProxy;
  /** Removes secrets from the receiver's responses. */
  readonly redact?: Redact;
  readonly signal: AbortSignal;
  /** Must confirm on the open connection, right before the request is written. */
  readonly fence?: Fence | undefined;
  /** CA certificates (PEM) instead of the system's, for tests. */
  readonly ca?: string;
  /** Limits in ms for the connection and for the whole response. Default: 5 and 30 seconds. */
  readonly timeouts?: { readonly connect: number; readonly answer: number };
  /** A longer response counts as lost. Default: 64 KiB. */
  readonly maxResponseBytes?: number;
}

const CONNECT_TIMEOUT_MS = 5_000;
const RESPONSE_TIMEOUT_MS = 30_000;
const MAX_RESPONSE_BYTES = 64 * 1024;
const MAX_DETAIL_LENGTH = 200;

/** Loaded on first use: most commands send nothing. */
const loadUndici = () => import('undici');

/** A connector that refuses forbidden addresses, whether they are literal or belong to a host name. */
async function guardedConnector(options: PostOptions, onConnected: () => void): Promise<buildConnector.connector> {
  const { proxiedConnector } = await import('../../base/net/proxied-connector.ts');
  const { allowPrivate, ca, timeouts, fence = noFence, findProxy = NO_PROXIES } = options;
  const policy: AddressPolicy = { allowPrivate };
  const connectorOptions = {
    timeout: timeouts?.connect ?? CONNECT_TIMEOUT_MS,
    ...(ca === undefined ? {} : { ca }),
    lookup: guardedLookup(policy),
  };
  const connect = proxiedConnector(findProxy, connectorOptions, (host) => assertAllowedBehindProxy(host, policy));
  return (target, callback) => {
    const host = target.hostname.replace(/^\[|\]$/g, '');
    const refused = literalRefusal(host, policy);
    if (refused !== undefined) return callback(refused, null);
    connect(target, (...result) => {
      const [error, socket] = result;
      if (error !== null) return callback(error, null);
      const isProxied = findProxy(new URL(`${target.protocol}//${target.host ?? target.hostname}`)) !== undefined;
      // With a proxy, the peer is the proxy itself.
      const addressRefused = isProxied ? undefined : addressRefusal(host, socket.remoteAddress ?? '', policy);
      if (addressRefused !== undefined) {
        socket.destroy();
        return callback(addressRefused, null);
      }
      // undici writes the whole request in the same tick in which it gets the connection.
      fence.confirm().then(
        () => {
          onConnected();
          callback(null, socket);
        },
        (withheld: Error) => {
          socket.destroy();
          callback(withheld, null);
        },
      );
    });
  };
}

const errorDetail = (error: unknown, redact: Redact): string => {
  const advice = error instanceof ProxyError ? ` ${error.next}` : '';
  const message = error instanceof Error ? `${error.message || error.name}${advice}` : String(error);
  // If all addresses of a host fail, the message is empty and `errors` has the reasons.
  const inner = error instanceof AggregateError ? error.errors.map((each) => errorDetail(each, redact)).join('; ') : '';
  return oneLine(redactUntrusted(inner === '' ? message : inner, redact));
};

/**
 * Makes one POST over a new connection, without redirects and retries, to any host that `allowPrivate` permits. The
 * address is checked at the moment of connecting. Never throws.
 */
export async function guardedPost(
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: string | Uint8Array,
  options: PostOptions,
): Promise<PostResult> {
  const { redact = createRedactor().redact } = options;
  const { Client } = await loadUndici();
  let connected = false;
  const client = new Client(url.origin, {
    connect: await guardedConnector(options, () => {
      connected = true;
    }),
    pipelining: 1,
    maxResponseSize: options.maxResponseBytes ?? MAX_RESPONSE_BYTES,
  });
  const limit = AbortSignal.timeout(options.timeouts?.answer ?? RESPONSE_TIMEOUT_MS);
  // Once connected, the response is awaited: aborting would make the result `unknown`.
  const ended = new AbortController();
  const stopped = abortableUntil(() => connected, options.signal, ended.signal);
  try {
    const answer = await client.request({
      method: 'POST',
      path: url.pathname + url.search,
      headers: { ...headers },
      body,
      signal: AbortSignal.any([limit, stopped]),
    });
    const raw = await answer.body.text().catch(() => '');
    const { 'retry-after': retryAfter, date } = answer.headers;
    return {
      kind: 'answered',
      status: answer.statusCode,
      text: oneLine(redactUntrusted(raw, redact), MAX_DETAIL_LENGTH),
      raw,
      retryAfter: [retryAfter].flat()[0],
      date: [date].flat()[0],
    };
  } catch (error) {
    if (error instanceof NotConfirmedError) return { kind: 'withheld', reason: error.message };
    const reason = limit.aborted ? 'no answer in time' : errorDetail(error, redact);
    // If it was aborted while connecting, it may be connected by now, but nothing was written.
    const written = connected && !stopped.aborted;
    return written
      ? { kind: 'lost', reason }
      : { kind: 'unsent', reason, forbidden: error instanceof ForbiddenAddress };
  } finally {
    ended.abort();
    await client.destroy().catch(() => {});
  }
}

/** A signal that follows `signal` until `passed` returns true, or `ended` aborts. */
function abortableUntil(passed: () => boolean, signal: AbortSignal, ended: AbortSignal): AbortSignal {
  const controller = new AbortController();
  const stop = (): void => {
    if (!passed()) controller.abort(signal.reason);
  };
  if (signal.aborted) stop();
  else signal.addEventListener('abort', stop, { once: true, signal: ended });
  return controller.signal;
}

/** Connects as a POST would, TLS included, and sends nothing. Throws an `Error` with a redacted message. */
export async function probeConnection(url: URL, options: Omit<PostOptions, 'signal'>): Promise<void> {
  const { redact = createRedactor().redact } = options;
  const connect = await guardedConnector({ ...options, signal: new AbortController().signal }, () => {});
  await new Promise<void>((resolve, reject) => {
    const { protocol, hostname, host } = url;
    connect({ protocol, hostname, host, port: `${portOf(url)}` }, (error, socket) => {
      if (error !== null) return reject(new Error(errorDetail(error, redact)));
      socket.destroy();
      resolve();
    });
  });
}
