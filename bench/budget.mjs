// The budget against a server that enforces it: 150 calls by four worker processes that share one key through Redis,
// under each of the limiters a service may have. Prints one JSON line a limiter; exits 1 when a 429 was earned or a call
// was not answered once.
//
//   npm run build && node bench/budget.mjs [--calls 150] [--window 10000] [--workers 4] [--kills 0]
//
// With --kills, so many times a worker is killed without warning (SIGKILL) and started again: every call must still be
// answered and kept once, and no 429 be earned, although nobody knows which calls the dead had sent.
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
  // A dead worker's token is out for as long as its call could have been answered.
  const client = createClient({ baseUrl: url, key: secret, timeouts: { total: 2_000 } });
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
  const make = async (id) => {
    if ((await redis.hexists(`${prefix}answers`, id)) === 1) return;
    const outcome = await paidCall(line, {
      id,
      attempt: () => client.report('current', REQUEST, signal),
      waiting: () => {},
      signal,
    });
    if (outcome.kind !== 'done') throw new Error(JSON.stringify(outcome));
    const first = await redis.hsetnx(`${prefix}answers`, id, JSON.stringify(outcome.value.value));
    if (first === 0) await redis.incr(`${prefix}twice`);
  };
  await Promise.all(ids.map(make));
  await client.close();
  await redis.quit();
}

/** Runs one worker to its end, again and again if it is killed. */
function employ(order, workers) {
  return new Promise((resolve, reject) => {
    const start = () => {
      const child = fork(fileURLToPath(import.meta.url), ['--work']);
      workers.add(child);
      let done = false;
      child.on('message', (message) => {
        if (message === 'ready') child.send(order);
        else done = true;
      });
      child.once('exit', (code, signal) => {
        workers.delete(child);
        if (done) resolve();
        else if (signal === 'SIGKILL') start();
        else reject(new Error(`a worker ended with ${code ?? signal}`));
      });
    };
    start();
  });
}

async function measure(limiter, { redisUrl, calls, windowMs, workers, kills }) {
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
  const alive = new Set();
  const over = Promise.all(
    Array.from({ length: workers }, (_, index) => {
      const ids = Array.from({ length: calls }, (_, call) => call)
        .filter((call) => call % workers === index)
        .map((call) => `call-${call}`);
      return employ({ redisUrl, prefix, url: sandbox.url, key, windowMs, name: `worker-${index}`, ids }, alive);
    }),
  );
  let killed = 0;
  let working = true;
  over.finally(() => {
    working = false;
  });
  while (working && killed < kills) {
    await Promise.race([over, systemClock.sleep((Math.random() * windowMs) / 2)]);
    const [victim] = [...alive].sort(() => Math.random() - 0.5);
    if (victim?.kill('SIGKILL')) killed += 1;
  }
  await over;
  const ended = Date.now();
  const requests = sandbox.requests().slice(before);
  // From the first call at the server: how long a process takes to start is not the budget's.
  const ms = ended - requests[0].at;
  await sandbox.close();
  const redis = new Redis(redisUrl);
  const twice = Number(await redis.get(`${prefix}twice`));
  const answered = await redis.hlen(`${prefix}answers`);
  await redis.quit();
  const bound =
    limiter === 'token-bucket' ? ((calls - LIMIT) * windowMs) / LIMIT : (Math.ceil(calls / LIMIT) - 1) * windowMs;
  return {
    bench: 'budget',
    limiter,
    calls,
    window_ms: windowMs,
    workers,
    killed,
    answered,
    answered_twice: twice,
    requests: requests.length,
    throttled: requests.filter(({ status }) => status === 429).length,
    ms: Math.round(ms),
    bound_ms: bound,
    ratio: Number((ms / bound).toFixed(3)),
  };
}

if (process.argv[2] === '--work') {
  process.once('message', async (order) => {
    await work(order);
    process.send('done');
    process.disconnect();
  });
  process.send('ready');
} else {
  const { values } = parseArgs({
    options: {
      calls: { type: 'string', default: '150' },
      window: { type: 'string', default: '10000' },
      workers: { type: 'string', default: '4' },
      kills: { type: 'string', default: '0' },
    },
  });
  const redis = await localRedis(process.env);
  let faults = 0;
  try {
    for (const limiter of ['sliding', 'fixed', 'token-bucket']) {
      const line = await measure(limiter, {
        redisUrl: redis.url,
        calls: Number(values.calls),
        windowMs: Number(values.window),
        workers: Number(values.workers),
        kills: Number(values.kills),
      });
      faults += line.throttled + (line.calls - line.answered) + line.answered_twice;
      console.log(JSON.stringify(line));
    }
  } finally {
    await redis.close();
  }
  process.exitCode = faults === 0 ? 0 : 1;
}
