import { type FindProxy, NO_PROXIES } from '../../base/net/proxies.ts';
import { MINUTE_MS } from '../../base/time.ts';

/** Of one request to the provider: a person waits for the page. */
const REQUEST_TIMEOUT_MS = 5_000;
/** Key sets and ID tokens with many groups are far smaller. */
const MAX_RESPONSE_BYTES = 1024 * 1024;

/** As the global one, as far as the OpenID client uses it. */
export type Fetch = (url: string, options: FetchOptions) => Promise<Response>;

interface FetchOptions {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: RequestInit['body'];
  readonly redirect: 'manual';
  readonly signal?: AbortSignal | undefined;
}

/** Fetches with bounds of time and size, and without following redirects: the provider may be broken or lie. */
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

/** Node's own fetch; through a proxy that of undici, whose connections can be made by us. */
async function fetchThrough(findProxy: FindProxy, url: string): Promise<typeof fetch> {
  if (findProxy(new URL(url)) === undefined) return fetch;
  const [undici, { proxiedConnector }] = await Promise.all([
    import('undici'),
    import('../../base/net/proxied-connector.ts'),
  ]);
  const connect = proxiedConnector(findProxy, { timeout: REQUEST_TIMEOUT_MS });
  // The types of both fetches differ; the values are the same.
  return ((input: string, init: object) =>
    undici.fetch(input, { ...init, dispatcher: new undici.Agent({ connect, keepAliveTimeout: 1 }) })) as typeof fetch;
}
