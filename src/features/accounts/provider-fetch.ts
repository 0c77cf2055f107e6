import { type FindProxy, NO_PROXIES } from '../../base/net/proxies.ts';
import { MINUTE_MS } from '../../base/time.ts';

/** Timeout of a request to the provider: a person is waiting for the page. */
const REQUEST_TIMEOUT_MS = 5_000;
/** Key sets and ID tokens with many groups are far smaller. */
const MAX_RESPONSE_BYTES = 1024 * 1024;

/** The part of the global `fetch` that the OpenID client uses. */
export type Fetch = (url: string, options: FetchOptions) => Promise<Response>;

interface FetchOptions {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: RequestInit['body'];
  readonly redirect: 'manual';
  readonly signal?: AbortSignal | undefined;
}

/** Fetches with limits on time and size, and does not follow redirects: the provider may be broken or malicious. */
export const boundedFetch =
  (timeoutMs: number = REQUEST_TIMEOUT_MS, findProxy: FindProxy = NO_PROXIES): Fetch =>
  async (url, { method, headers, body, signal }) => {
    const timeout = AbortSignal.timeout(Math.min(timeoutMs, MINUTE_MS));
    const fetch = await fetchThrough(findProxy, url);
    const response = await fetch(url, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
      redirect: 'manual',
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of response.body ?? []) {
      const bytes: Uint8Array = chunk;
      size += bytes.length;
      if (size > MAX_RESPONSE_BYTES) throw new Error(`a response of more than ${MAX_RESPONSE_BYTES} bytes`);
      chunks.push(bytes);
    }
    const { status, statusText } = response;
    const hasBody = status !== 204 && status !== 205 && status !== 304;
    return new Response(hasBody ? Buffer.concat(chunks) : null, { status, statusText, headers: response.headers });
  };

/** Node's own fetch. Through a proxy it is undici's, which can use our own connections. */
async function fetchThrough(findProxy: FindProxy, url: string): Promise<typeof fetch> {
  if (findProxy(new URL(url)) === undefined) return fetch;
  const [undici, { proxiedConnector }] = await Promise.all([
    import('undici'),
    import('../../base/net/proxied-connector.ts'),
  ]);
  const connect = proxiedConnector(findProxy, { timeout: REQUEST_TIMEOUT_MS });
  // Only the types of the two fetches differ.
  return ((input: string, init: object) =>
    undici.fetch(input, { ...init, dispatcher: new undici.Agent({ connect, keepAliveTimeout: 1 }) })) as typeof fetch;
}
