// Measures the cost of the queue per run, apart from the API, rendering and mail: processor time and Redis commands of
// a worker whose runs only send their events, compared with bare BullMQ jobs in the same process. Then, how fast runs
// are listed with many on record. Limits: 5 ms and 15 commands per run, 50 ms for any page of a listing.
//
//   npm run build && node build/modules.mjs && node bench/queue.mjs [--quick] [--runs 1000] [--orgs 50] [--concurrency 8] [--records 100000] [--times 5]
import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { systemClock } from '../dist-modules/base/clock.js';
import { silentLog } from '../dist-modules/base/log.js';
import { done } from '../dist-modules/base/outcome.js';
import { runQueue } from '../dist-modules/queue/jobs/run-queue.js';
import { startWorker } from '../dist-modules/queue/jobs/worker.js';
import { redisRunStore } from '../dist-modules/queue/runs/run-store.js';
import { openRedis } from '../dist-modules/redis/connection.js';
import { listRunPage, parseRunCursor } from '../dist-modules/run/run-page.js';
import { readOptions } from './support/options.mjs';
import { privateRedis } from './support/redis.mjs';
import { percentile, reportOf, rounded } from './support/report.mjs';

const { runs, orgs, concurrency, records, times } = readOptions(
  { runs: 1_000, orgs: 50, concurrency: 8, records: 100_000, times: 5 },
  { runs: 200, orgs: 20, records: 5_000, times: 3 },
);
const PREFIX = '{bench}';
const CALLS = 5;
/** @type {import('../dist-modules/run/run-record.js').Stage[]} */
const STAGES = ['plan', 'fetch', 'render', 'seal', 'deliver'];
const report = reportOf('queue');

// Counts every command that this process sends, on any of its connections. Commands inside of scripts do not count.
let sent = 0;
const { sendCommand } = Redis.prototype;
Redis.prototype.sendCommand = function (...args) {
  sent += 1;
  return sendCommand.apply(this, args);
};

const idOf = () => randomBytes(16).toString('hex');
/** @type {(n: number, change?: Partial<import('../dist-modules/run/run-record.js').RunOrder>) => import('../dist-modules/run/run-record.js').RunOrder} */
const orderOf = (n, change = {}) => ({
  id: idOf(),
  org: `org-${n % orgs}`,
  report: `report-${n % 7}`,
  slot: '2026-11-16T07:00:00.000Z',
  trigger: 'schedule',
  priority: 'scheduled',
  period: { from: '2026-11-09', to: '2026-11-15', timezone: 'Europe/Zurich', label: '2026-W46' },
  digest: 'd'.repeat(64),
  deliver: true,
  createdAt: Date.now(),
  deadlineMs: 86_400_000,
  ...change,
});

/**
 * Sends the events of a run with five calls and one e-mail.
 *
 * @type {import('../dist-modules/queue/jobs/process-job.js').Execute}
 */
async function execute(_, { observe }) {
  observe({ type: 'planned', calls: CALLS, sections: 2 });
  for (let n = 1; n <= CALLS; n += 1) {
    observe({ type: 'fetched', call: `c${n}`, done: n, of: CALLS, saved: false, tokens: 9, finish: 0 });
  }
  for (const stage of STAGES) observe({ type: 'timed', stage, ms: 1 });
  observe({ type: 'delivered', target: '0-email', recipient: 'a@acme.example', state: 'sent', detail: '250 OK' });
  return done({ state: 'done', folder: '', files: [], calls: [], incomplete: [], receipts: [] });
}

/** Measures `work`, which resolves when all `runs` have ended. */
async function measured(work) {
  const before = { sent, cpu: process.cpuUsage(), at: performance.now() };
  await work();
  const { user, system } = process.cpuUsage(before.cpu);
  const ms = performance.now() - before.at;
  return {
    ms_per_run: rounded(ms / runs, 2),
    cpu_ms_per_run: rounded((user + system) / 1000 / runs, 2),
    commands_per_run: rounded((sent - before.sent) / runs, 1),
    runs_per_second: Math.round((runs / ms) * 1000),
  };
}

async function ourQueue(url) {
  const producer = await openRedis(url, 'producer', silentLog);
  const patient = await openRedis(url, 'worker', silentLog);
  const store = redisRunStore(producer, { prefix: PREFIX, keepDays: 40 });
  const queue = runQueue(producer, { prefix: PREFIX });
  const opening = await measured(async () => {
    for (let n = 0; n < runs; n += 1) {
      const order = orderOf(n);
      await store.open(order);
      await queue.enqueue(order);
    }
  });
  let left = runs;
  let worker;
  const working = await measured(
    () =>
      new Promise((resolve) => {
        worker = startWorker({
          connection: patient,
          prefix: PREFIX,
          store: redisRunStore(patient, { prefix: PREFIX, keepDays: 40 }),
          execute,
          observe: (_, { type }) => {
            if (type !== 'finished') return;
            left -= 1;
            if (left === 0) resolve(undefined);
          },
          clock: systemClock,
          log: silentLog,
          concurrency,
        });
      }),
  );
  await worker.close(1_000);
  await queue.close();
  producer.disconnect();
  patient.disconnect();
  return { opening, working };
}

async function bareBullMq(url) {
  const connection = new Redis(url, { maxRetriesPerRequest: null });
  const queue = new Queue('bare', { connection, prefix: '{bare}' });
  const options = { removeOnComplete: { count: 1_000 }, removeOnFail: { count: 1_000 } };
  const opening = await measured(async () => {
    for (let n = 0; n < runs; n += 1)
      await queue.add('run', { run: idOf() }, { ...options, jobId: idOf(), priority: 2 });
  });
  let left = runs;
  let worker;
  const working = await measured(
    () =>
      new Promise((resolve) => {
        worker = new Worker('bare', async () => {}, { connection, prefix: '{bare}', concurrency });
        worker.on('completed', () => {
          left -= 1;
          if (left === 0) resolve(undefined);
        });
      }),
  );
  await worker.close();
  await queue.close();
  connection.disconnect();
  return { opening, working };
}

/** One in a thousand has failed, one in fifty is held. The last fifty are queued, all others done. */
const stateOf = (n) => (n >= records - 50 ? 'queued' : n % 1_000 === 7 ? 'failed' : n % 50 === 3 ? 'held' : 'done');

async function listings(url) {
  // Not a producer's client, which allows a busy machine only two seconds.
  const redis = await openRedis(url, 'worker', silentLog);
  const prefix = '{list}';
  const store = redisRunStore(redis, { prefix, keepDays: 40 });
  const memory = async () => Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
  const before = await memory();
  const start = Date.now() - records * 10;
  for (let from = 0; from < records; from += 500) {
    const orders = Array.from({ length: Math.min(500, records - from) }, (_, n) =>
      orderOf(from + n, { createdAt: start + (from + n) * 10 }),
    );
    await Promise.all(orders.map((order) => store.open(order)));
    await Promise.all(
      orders.map(({ id }, n) => {
        const state = stateOf(from + n);
        return state === 'queued' ? undefined : store.update(id, { state, finishedAt: start });
      }),
    );
  }
  const bytes = (await memory()) - before;
  let cursor;
  for (let page = 0; page < 100; page += 1) {
    const { next } = await listRunPage(store, {
      limit: 20,
      ...(cursor === undefined ? {} : { after: parseRunCursor(cursor) }),
    });
    cursor = next ?? cursor;
  }
  /** @type {Record<string, Omit<import('../dist-modules/run/run-record.js').RunFilter, 'limit'>>} */
  const filters = {
    'the newest': {},
    'all that failed': { states: ['failed'] },
    'failed or held, of one organization': { org: 'org-7', states: ['failed', 'held'] },
    'failed, of one report': { org: 'org-7', report: 'report-0', states: ['failed'] },
    'of one report, in all organizations': { report: 'report-3' },
    'under way (there is none)': { states: ['running', 'waiting'] },
    'an hour of long ago': { since: start, until: start + 3_600_000 },
    'the hundredth page': { after: parseRunCursor(cursor) },
  };
  for (const [name, filter] of Object.entries(filters)) {
    const took = [];
    let rows = 0;
    for (let n = 0; n < times; n += 1) {
      const at = performance.now();
      ({ length: rows } = (await listRunPage(store, { ...filter, limit: 20 })).runs);
      took.push(performance.now() - at);
    }
    report({ name: `20 of ${records}: ${name}`, ms: rounded(percentile(took, 0.5), 1), rows, limit: { ms: 50 } });
  }
  report({ name: `${records} on record`, bytes_per_run: Math.round(bytes / records) });
  redis.disconnect();
}

const redis = await privateRedis();
try {
  const ours = await ourQueue(redis.url);
  const bare = await bareBullMq(redis.url);
  report({ name: 'opening a run', ...ours.opening, limit: { cpu_ms_per_run: null, commands_per_run: null } });
  report({ name: 'opening a run', who: 'bullmq', ...bare.opening });
  report({ name: 'a run', ...ours.working, limit: { cpu_ms_per_run: 5, commands_per_run: 15 } });
  report({ name: 'a run', who: 'bullmq', ...bare.working });
  await listings(redis.url);
} finally {
  await redis.close();
}
