import { createServer } from 'node:http';

/** @typedef {import('../../dist-modules/contract/catalog.js').Catalog} Catalog */

/** @type {Catalog['metrics'][number]} */
const metric = {
  id: 'profiles.created',
  label: 'Created',
  description: '',
  type: 'integer',
  unit: 'count',
  aggregation: 'count',
  time_field: 'created',
  granularities: ['day', 'week', 'month'],
  dimensions: [],
  additive_over_time: true,
  data_available: { from: '2024-01-01' },
  deprecated_at: null,
  replaced_by: null,
};
/** @type {Catalog} */
const catalog = {
  registry_version: 7,
  metrics: [metric],
  dimensions: [],
  limits: { max_range_days: 3660, max_dimensions: 2, max_rows: 5000 },
};

/**
 * A service with one metric that counts each key's calls in a sliding window, and refuses calls above the limit. Any
 * number of keys can be used, unlike in the sandbox.
 */
export async function tinyService({ calls, windowMs }) {
  const byKey = new Map();
  let made = 0;
  let throttled = 0;
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const piece of request) text += piece;
    const now = performance.now();
    const key = request.headers.authorization ?? '';
    const recent = (byKey.get(key) ?? []).filter((at) => at > now - windowMs);
    byKey.set(key, recent);
    response.setHeader('Content-Type', 'application/json');
    if (recent.length >= calls) {
      throttled += 1;
      response.writeHead(429, { 'Retry-After': String(Math.ceil(windowMs / 1000)) });
      response.end('{}');
      return;
    }
    recent.push(now);
    made += 1;
    if (request.method === 'GET') return response.end(JSON.stringify(catalog));
    const { time } = JSON.parse(text);
    response.end(
      JSON.stringify({
        columns: [{ name: metric.id, label: metric.label, kind: 'metric', type: 'integer', unit: 'count' }],
        rows: [{ [metric.id]: made }],
        meta: {
          as_of: new Date().toISOString(),
          cached: false,
          refresh_retry_after: null,
          timezone: time.timezone,
          range: { from: time.from, to: time.to },
          granularity: null,
          row_count: 1,
          truncated: false,
          registry_version: 7,
        },
      }),
    );
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    url: `http://127.0.0.1:${port}`,
    made: () => made,
    throttled: () => throttled,
    close: () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  };
}
