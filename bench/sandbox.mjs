/**
 * What the sandbox costs whoever waits for it, measured over HTTP on the built code.
 *
 *   npm run build && node bench/sandbox.mjs
 */
import { performance } from 'node:perf_hooks';
import { Agent, request } from 'undici';
import { startSandbox } from '../dist/sandbox/sandbox.js';

const NOW = Date.parse('2026-04-08T08:30:00Z');
const keepAlive = new Agent({ connections: 1, pipelining: 1 });

const memory = () => Math.round(process.memoryUsage().rss / 1_048_576);
const percentile = (sorted, share) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
const print = (what, figure) => process.stdout.write(`${what.padEnd(62)} ${figure}\n`);

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
const { sandbox, send } = await start(0);
print('start', `${(performance.now() - startedAt).toFixed(0)} ms`);
const catalog = JSON.parse(Buffer.from(await send('/api/orgs/101/analytics/metrics/')).toString());
print(
  'start and first answer (30 months of Acme Payments generated)',
  `${(performance.now() - startedAt).toFixed(0)} ms`,
);
for (const org of [102, 103, 104]) await send(`/api/orgs/${org}/analytics/metrics/`);
print('start and the histories of all organizations', `${(performance.now() - startedAt).toFixed(0)} ms`);
print('memory before, and with all histories', `${before} MB, ${memory()} MB`);

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

async function measure(what, ask) {
  let bytes = 0;
  for (let warm = 0; warm < 10; warm++) bytes = (await ask()).byteLength;
  const took = [];
  for (const until = performance.now() + 4000; performance.now() < until; ) {
    const from = performance.now();
    await ask();
    took.push(performance.now() - from);
  }
  const sorted = [...took].sort((a, b) => a - b);
  const rate = (1000 * took.length) / took.reduce((sum, one) => sum + one, 0);
  print(
    what,
    `p50 ${percentile(sorted, 0.5).toFixed(1)} ms, p99 ${percentile(sorted, 0.99).toFixed(1)} ms, ` +
      `${rate.toFixed(0)}/s, ${Math.round(bytes / 1024)} KB`,
  );
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
print('memory at the end', `${memory()} MB`);
await held.sandbox.close();
await keepAlive.close();
