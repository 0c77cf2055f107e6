// Measures what the sandbox costs its clients, over HTTP on the built code. There is no limit and no peer.
//
//   npm run build && node build/modules.mjs && node bench/sandbox.mjs [--quick] [--each 4000]
import { performance } from 'node:perf_hooks';
import { Agent, request } from 'undici';
import { startSandbox } from '../dist-modules/sandbox/sandbox.js';
import { readOptions } from './support/options.mjs';
import { percentile, reportOf, rounded } from './support/report.mjs';

const NOW = Date.parse('2026-04-08T08:30:00Z');
const keepAlive = new Agent({ connections: 1, pipelining: 1 });

/** How long each request is repeated, ms. */
const { each } = readOptions({ each: 4_000 }, { each: 500 });
const report = reportOf('sandbox');
const memory = () => Math.round(process.memoryUsage().rss / 1_048_576);

async function start(cacheSeconds) {
  const sandbox = await startSandbox({ now: NOW, windowMs: 1, cacheSeconds });
  const key = sandbox.keys[0]?.key ?? '';
  const headers = { Authorization: `Api-Key ${key}`, 'Content-Type': 'application/json' };
  const send = async (path, body) => {
    const { statusCode, body: answer } = await request(sandbox.url + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers,
      dispatcher: keepAlive,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const bytes = await answer.arrayBuffer();
    if (statusCode !== 200) throw new Error(`${statusCode} ${Buffer.from(bytes).toString()}`);
    return bytes;
  };
  return { sandbox, send };
}

const before = memory();
const startedAt = performance.now();
const since = () => Math.round(performance.now() - startedAt);
const { sandbox, send } = await start(0);
report({ name: 'start', ms: since() });
const catalog = JSON.parse(Buffer.from(await send('/api/orgs/101/analytics/metrics/')).toString());
report({ name: 'start and the catalog', ms: since() });
await send('/api/orgs/101/profiles/');
report({ name: 'start and a first page of profiles (30 months of Acme Payments generated)', ms: since() });
for (const org of [102, 103, 104]) await send(`/api/orgs/${org}/profiles/`);
report({
  name: 'start and the histories of all organizations',
  ms: since(),
  rss_mb: memory(),
  rss_mb_before: before,
});

const accepting = (...dimensions) =>
  catalog.metrics
    .filter((metric) => metric.granularities.length > 0 && dimensions.every((id) => metric.dimensions.includes(id)))
    .map(({ id }) => id)
    .slice(0, 20);
const time = { from: '2025-04-01', to: '2026-04-01', granularity: 'day', timezone: 'Europe/Zurich' };
const QUESTIONS = [
  ['1 metric, 366 days, no dimension', { metrics: ['profiles.created'], time }],
  [
    '1 metric, 366 days, 2 dimensions (8 groups)',
    { metrics: ['profiles.created'], dimensions: ['profile.type', 'profile.risk'], time },
  ],
  [
    '18 metrics, 366 days, 2 dimensions (8 groups, 2928 rows)',
    { metrics: accepting('profile.type', 'profile.risk'), dimensions: ['profile.type', 'profile.risk'], time },
  ],
  [
    '20 metrics, 366 days, 2 dimensions (16 groups, cut at 5000 rows)',
    { metrics: accepting('profile.group', 'profile.risk'), dimensions: ['profile.group', 'profile.risk'], time },
  ],
];

async function measure(name, ask) {
  let bytes = 0;
  for (let warm = 0; warm < 10; warm++) bytes = (await ask()).byteLength;
  const took = [];
  for (const until = performance.now() + each; performance.now() < until; ) {
    const from = performance.now();
    await ask();
    took.push(performance.now() - from);
  }
  const rate = (1000 * took.length) / took.reduce((sum, one) => sum + one, 0);
  report({
    name,
    p50_ms: rounded(percentile(took, 0.5), 1),
    p99_ms: rounded(percentile(took, 0.99), 1),
    per_second: Math.round(rate),
    kb: Math.round(bytes / 1024),
  });
}

for (const [what, question] of QUESTIONS) {
  await measure(`uncached: ${what}`, () => send('/api/orgs/101/analytics/report/', question));
}
await measure('a page of profiles', () => send('/api/orgs/101/profiles/?page=7'));
await measure('a page of profiles, searched and ordered', () =>
  send('/api/orgs/101/profiles/?search=ke&ordering=name'),
);
await sandbox.close();

const held = await start(3600);
for (const [what, question] of QUESTIONS) {
  await measure(`cached: ${what}`, () => held.send('/api/orgs/101/analytics/report/', question));
}
report({ name: 'memory at the end', rss_mb: memory() });
await held.sandbox.close();
await keepAlive.close();
