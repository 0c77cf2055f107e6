// Measures the limit of a single Redis: its processor time for a call through the budget of a key, and for a run
// through the queue. This gives the rates per second that one core of Redis can serve. Uses as many loops as the
// machine can run; also shows the reached rate and how busy Redis was. Calls: each key has free tokens; a call that
// waits costs about twice as much (bench/workers.mjs).
//
//   npm run build && node build/modules.mjs && node bench/one-redis.mjs [--quick] [--calls 30000] [--runs 3000] [--loops 200]
import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { systemClock } from '../dist-modules/base/clock.js';
import { silentLog } from '../dist-modules/base/log.js';
import { done } from '../dist-modules/base/outcome.js';
import { redisBudget } from '../dist-modules/fetch/rate-limit/redis-budget.js';
import { runQueue } from '../dist-modules/queue/jobs/run-queue.js';
import { startWorker } from '../dist-modules/queue/jobs/worker.js';
import { redisRunStore } from '../dist-modules/queue/runs/run-store.js';
import { openRedis } from '../dist-modules/redis/connection.js';
import { readOptions } from './support/options.mjs';
import { privateRedis } from './support/redis.mjs';
import { redisStats } from './support/redis-stats.mjs';
import { reportOf, rounded } from './support/report.mjs';

const { calls, runs, loops } = readOptions(
  { calls: 30_000, runs: 3_000, loops: 200 },
  { calls: 5_000, runs: 500, loops: 100 },
);
const PREFIX = '{bench}';
const report = reportOf('one-redis');
const server = await privateRedis();
const client = new Redis(server.url);

/** Measures `work`, which does `count` operations. */
async function measure(name, count, work) {
  const before = { at: performance.now(), ...(await redisStats(client)) };
  await work();
  const after = await redisStats(client);
  const [ms, cpuMs] = [performance.now() - before.at, after.cpuMs - before.cpuMs];
  report({
    name,
    redis_us_each: Math.round((cpuMs * 1000) / count),
    commands_each: rounded((after.commands - before.commands) / count, 1),
    a_second_of_one_core: Math.round((count / cpuMs) * 1000),
    a_second_reached: Math.round((count / ms) * 1000),
    redis_busy: rounded(cpuMs / ms, 2),
  });
}

/** Makes `count` calls in all loops together. Each loop uses its own keys. */
async function makeCalls(count) {
  const redis = new Redis(server.url);
  const budget = redisBudget(redis, { prefix: 'bench:', calls: 30, windowMs: 1_000 });
  let left = count;
  const loop = async (_, index) => {
    for (let call = 0; left > 0; call += 1) {
      left -= 1;
      // A key has 30 tokens per window, so each loop changes its key after 30 calls.
      const key = `key-${index}-${Math.floor(call / 30)}`;
      const request = { key, id: `${call}`, org: 'acme', priority: /** @type {const} */ ('scheduled'), holdMs: 30_000 };
      const answer = await budget.acquire(request);
      if (!answer.granted) throw new Error(`no token of ${key}`);
      await budget.complete(key, answer.token);
    }
  };
  await Promise.all(Array.from({ length: loops }, loop));
  redis.disconnect();
}

/** Opens runs that do nothing, and works them off. */
async function makeRuns(count) {
  const producer = await openRedis(server.url, 'producer', silentLog);
  const patient = await openRedis(server.url, 'worker', silentLog);
  const store = redisRunStore(producer, { prefix: PREFIX, keepDays: 40 });
  const queue = runQueue(producer, { prefix: PREFIX });
  for (let run = 0; run < count; run += 1) {
    /** @type {import('../dist-modules/run/run-record.js').RunOrder} */
    const order = {
      id: randomBytes(16).toString('hex'),
      org: `org-${run % 50}`,
      report: `report-${run % 7}`,
      slot: '2026-11-16T07:00:00.000Z',
      trigger: 'schedule',
      priority: 'scheduled',
      period: { from: '2026-11-09', to: '2026-11-15', timezone: 'Europe/Zurich', label: '2026-W46' },
      digest: 'd'.repeat(64),
      deliver: true,
      createdAt: Date.now(),
      deadlineMs: 86_400_000,
    };
    await store.open(order);
    await queue.enqueue(order);
  }
  let left = count;
  let worker;
  await new Promise((resolve) => {
    worker = startWorker({
      connection: patient,
      prefix: PREFIX,
      store: redisRunStore(patient, { prefix: PREFIX, keepDays: 40 }),
      execute: async () => done({ state: 'done', folder: '', files: [], calls: [], incomplete: [], receipts: [] }),
      observe: (_, { type }) => {
        left -= type === 'finished' ? 1 : 0;
        if (left === 0) resolve(undefined);
      },
      clock: systemClock,
      log: silentLog,
      concurrency: 8,
    });
  });
  await worker.close(1_000);
  await queue.close();
  producer.disconnect();
  patient.disconnect();
}

try {
  await measure('a call of a key with free tokens', calls, () => makeCalls(calls));
  await measure('a run through the queue', runs, () => makeRuns(runs));
} finally {
  client.disconnect();
  await server.close();
}
