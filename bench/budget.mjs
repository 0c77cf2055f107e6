// The budget against a server that enforces it: 150 calls by four worker processes that share one key through Redis,
// under each of the limiters a service may have. Prints one JSON line a limiter; exits 1 when a 429 was earned.
//
//   npm run build && node bench/budget.mjs [--calls 150] [--window 10000] [--workers 4]
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { systemClock } from '../dist/base/clock.js';
import { Secret } from '../dist/base/secret.js';
import { localRedis } from '../dist/demo/redis.js';
import { createClient } from '../dist/fetch/client.js';
import { paidCall } from '../dist/fetch/paid-call.js';
import { redisBudget } from '../dist/fetch/redis-budget.js';
import { startSandbox } from '../dist/sandbox/sandbox.js';

const LIMIT = 30;
const REQUEST = { metrics: ['profiles.created'], time: { from: '2026-01-01', to: '2026-01-31' } };

async function work({ redisUrl, prefix, url, key, windowMs, name, ids }) {
  const redis = new Redis(redisUrl);
  const secret = new Secret(key);
  const client = createClient({ baseUrl: url, key: secret });
  const budget = redisBudget(redis, { prefix, calls: LIMIT, windowMs });
  const line = {
    budget,
    clock: systemClock,
    key: secret.fingerprint(),
    org: name,
    priority: 'scheduled',
    patienceMs: Number.POSITIVE_INFINITY,
    deadlineMs: client.deadlineMs,
  };
  const { signal } = new AbortController();
  const outcomes = await Promise.all(
    ids.map((id) =>
      paidCall(line, {
        id,
        attempt: () => client.report('current', REQUEST, signal),
        waiting: () => {},
        signal,
      }),
    ),
  );
  await client.close();
  await redis.quit();
  return outcomes.filter(({ kind }) => kind === 'done').length;
}

async function measure(limiter, { redisUrl, calls, windowMs, workers }) {
  const sandbox = await startSandbox({
    limiter,
    windowMs,
    // 20 to 80 ms, in steps.
    faults: [
      { kind: 'latency', value: 20 },
      { kind: 'latency', value: 20, probability: 0.5 },
      { kind: 'latency', value: 40, probability: 0.5 },
    ],
  });
  const key = sandbox.keys.find(({ label }) => label === 'acme').key;
  // The organization's history is made on the first question, which takes longer than any call after it.
  const warm = createClient({
    baseUrl: sandbox.url,
    key: new Secret(sandbox.keys.find(({ label }) => label === 'metrics').key),
  });
  await warm.report('current', REQUEST, new AbortController().signal);
  await warm.close();
  // A fixed window whose phase we know would flatter us.
  await systemClock.sleep(Math.random() * windowMs);
  const prefix = `bench:${process.pid}:${limiter}:`;
  const before = sandbox.requests().length;
  const children = Array.from({ length: workers }, () => fork(fileURLToPath(import.meta.url), ['--work']));
  await Promise.all(children.map((child) => new Promise((resolve) => child.once('message', resolve))));
  const started = performance.now();
  const done = await Promise.all(
    children.map((child, index) => {
      const ids = Array.from({ length: calls }, (_, call) => call)
        .filter((call) => call % workers === index)
        .map((call) => `call-${call}`);
      child.send({ redisUrl, prefix, url: sandbox.url, key, windowMs, name: `worker-${index}`, ids });
      return new Promise((resolve) => child.once('message', resolve));
    }),
  );
  const ms = performance.now() - started;
  const requests = sandbox.requests().slice(before);
  await sandbox.close();
  const bound =
    limiter === 'token-bucket' ? ((calls - LIMIT) * windowMs) / LIMIT : (Math.ceil(calls / LIMIT) - 1) * windowMs;
  return {
    bench: 'budget',
    limiter,
    calls,
    window_ms: windowMs,
    workers,
    answered: done.reduce((sum, count) => sum + count, 0),
    requests: requests.length,
    throttled: requests.filter(({ status }) => status === 429).length,
    ms: Math.round(ms),
    bound_ms: bound,
    ratio: Number((ms / bound).toFixed(3)),
  };
}

if (process.argv[2] === '--work') {
  process.once('message', async (order) => {
    process.send(await work(order));
    process.disconnect();
  });
  process.send('ready');
} else {
  const { values } = parseArgs({
    options: {
      calls: { type: 'string', default: '150' },
      window: { type: 'string', default: '10000' },
      workers: { type: 'string', default: '4' },
    },
  });
  const redis = await localRedis(process.env);
  let throttled = 0;
  try {
    for (const limiter of ['sliding', 'fixed', 'token-bucket']) {
      const line = await measure(limiter, {
        redisUrl: redis.url,
        calls: Number(values.calls),
        windowMs: Number(values.window),
        workers: Number(values.workers),
      });
      throttled += line.throttled;
      console.log(JSON.stringify(line));
    }
  } finally {
    await redis.close();
  }
  process.exitCode = throttled === 0 ? 0 : 1;
}
