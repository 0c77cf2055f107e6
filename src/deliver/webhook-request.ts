import { buildConnector, Client } from 'undici';
import { createRedactor, foreignText, type Redact } from '../base/redactor.ts';
import { type Fence, NotConfirmed, noFence } from './fence.ts';
import {
  type AddressPolicy,
  addressRefusal,
  ForbiddenAddress,
  guardedLookup,
  literalRefusal,
} from './guarded-lookup.ts';
import { oneLine } from './one-line.ts';

/** What became of one POST. */
export type Posted =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly said: string;
      /** The headers `Retry-After` and `Date`, as they came. */
      readonly retryAfter?: string | undefined;
      readonly date?: string | undefined;
    }
  /** Nothing of the request left. `forbidden`: the address may not be connected to. */
  | { readonly kind: 'unsent'; readonly why: string; readonly forbidden: boolean }
  /** Connected, and nothing of the request left: it may not, or not yet. */
  | { readonly kind: 'withheld'; readonly why: string }
  /** A connection stood: the request may have been taken. */
  | { readonly kind: 'lost'; readonly why: string };

export interface PostOptions {
  readonly allowPrivate: boolean;
  /** Takes our secrets out of what the receiver says. */
  readonly redact?: Redact;
  readonly signal: AbortSignal;
  /** Passed when the connection stands, right before the request is written. */
  readonly fence?: Fence | undefined;
  /** CA certificates (PEM) instead of the system's, for tests. */
  readonly ca?: string;
  /** Ms for connecting, and for the whole answer; for tests. */
  readonly timeouts?: { readonly connect: number; readonly answer: number };
}

const CONNECT_MS = 5_000;
const ANSWER_MS = 30_000;
/** Nobody reads what a receiver answers beyond its first words. */
const MAX_ANSWER = 64 * 1024;
const MAX_SAID = 200;

/** A connector that refuses addresses, whether a name leads there or the URL has one; and says when it stood. */
function guarded(options: PostOptions, stood: () => void): buildConnector.connector {
  const { allowPrivate, ca, timeouts, fence = noFence } = options;
  const policy: AddressPolicy = { allowPrivate };
  const connect = buildConnector({
    timeout: timeouts?.connect ?? CONNECT_MS,
    ...(ca === undefined ? {} : { ca }),
    lookup: guardedLookup(policy),
  });
  return (target, callback) => {
    const host = target.hostname.replace(/^\[|\]$/g, '');
    const refused = literalRefusal(host, policy);
    if (refused !== undefined) return callback(refused, null);
    connect(target, (...result) => {
      const [error, socket] = result;
      if (error !== null) return callback(error, null);
      const wrong = addressRefusal(host, socket.remoteAddress ?? '', policy);
      if (wrong !== undefined) {
        socket.destroy();
        return callback(wrong, null);
      }
      // undici writes the whole request in the very turn in which it gets the connection.
      fence.confirm().then(
        () => {
          stood();
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

const messageOf = (error: unknown, redact: Redact): string => {
  const words = error instanceof Error ? error.message || error.name : String(error);
  // Several addresses that all failed come as one error without words.
  const inner = error instanceof AggregateError ? error.errors.map((each) => messageOf(each, redact)).join('; ') : '';
  return oneLine(foreignText(inner === '' ? words : inner, redact));
};

/** One POST over a connection of its own: no redirect is followed, nothing is repeated. Never throws. */
export async function post(
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: string,
  options: PostOptions,
): Promise<Posted> {
  const { redact = createRedactor().redact } = options;
  let connected = false;
  const client = new Client(url.origin, {
    connect: guarded(options, () => {
      connected = true;
    }),
    pipelining: 1,
    maxResponseSize: MAX_ANSWER,
  });
  const limit = AbortSignal.timeout(options.timeouts?.answer ?? ANSWER_MS);
  // A request that has left is waited for: giving it up would make it `unknown`.
  const stopped = stopUntil(() => connected, options.signal);
  try {
    const answer = await client.request({
      method: 'POST',
      path: url.pathname + url.search,
      headers: { ...headers },
      body,
      signal: AbortSignal.any([limit, stopped]),
    });
    const text = await answer.body.text().catch(() => '');
    const { 'retry-after': retryAfter, date } = answer.headers;
    return {
      kind: 'answered',
      status: answer.statusCode,
      said: oneLine(foreignText(text, redact), MAX_SAID),
      retryAfter: [retryAfter].flat()[0],
      date: [date].flat()[0],
    };
  } catch (error) {
    if (error instanceof NotConfirmed) return { kind: 'withheld', why: error.message };
    const why = limit.aborted ? 'no answer in time' : messageOf(error, redact);
    // Stopped while the connection was made: it may stand by now, and nothing was written on it.
    const left = connected && !stopped.aborted;
    return left ? { kind: 'lost', why } : { kind: 'unsent', why, forbidden: error instanceof ForbiddenAddress };
  } finally {
    await client.destroy().catch(() => {});
  }
}

/** The signal as long as `passed` is false. */
function stopUntil(passed: () => boolean, signal: AbortSignal): AbortSignal {
  const controller = new AbortController();
  const stop = (): void => {
    if (!passed()) controller.abort(signal.reason);
  };
  if (signal.aborted) stop();
  else signal.addEventListener('abort', stop, { once: true });
  return controller.signal;
}

/** Connects as a POST would, TLS included, and says nothing. Throws an `Error` whose message tells why it cannot. */
export async function reach(url: URL, options: Omit<PostOptions, 'signal'>): Promise<void> {
  const { redact = createRedactor().redact } = options;
  const connect = guarded({ ...options, signal: new AbortController().signal }, () => {});
  await new Promise<void>((resolve, reject) => {
    const { protocol, hostname, host, port } = url;
    connect({ protocol, hostname, host, port: port || (protocol === 'https:' ? '443' : '80') }, (error, socket) => {
      if (error !== null) return reject(new Error(messageOf(error, redact)));
      socket.destroy();
      resolve();
    });
  });
}
