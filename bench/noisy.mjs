// One organization has 2,000 waiting runs, and another one adds a single run. Before that run is taken, each other
// organization may get at most one more run. The order comes from BullMQ's event stream, which is the order in Redis: a
// run that a worker has already taken but not started did not overtake anybody. The peer is bare BullMQ, which goes by
// arrival.
//
//   npm run build && node build/modules.mjs && node bench/noisy.mjs [--quick] [--runs 2000] [--times 10] [--others 20]
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { systemClock } from '../dist-modules/base/clock.js';
import { silentLog } from '../dist-modules/base/log.js';
import { done } from '../dist-modules/base/outcome.js';
import { runQueue } from '../dist-modules/queue/jobs/run-queue.js';
import { startWorker } from '../dist-modules/queue/jobs/worker.js';
import { redisRunStore } from '../dist-modules/queue/runs/run-store.js';
import { openRedis } from '../dist-modules/redis/connection.js';
import { redisKeys } from '../dist-modules/redis/keys.js';
import { readOptions } from './support/options.mjs';
import { privateRedis } from './support/redis.mjs';
import { reportOf } from './support/report.mjs';

const { runs, times, others } = readOptions({ runs: 2_000, times: 10, others: 20 }, { runs: 300, times: 3 });
const PREFIX = '{bench}';
const CONCURRENCY = 4;
/** Duration of a run. Longer runs would give the same result and take more time. */
const RUN_MS = 20;
const idOf = () => randomBytes(16).toString('hex');

/** @returns {import('../dist-modules/run/run-record.js').RunOrder} */
const orderOf = (org) => ({
  id: idOf(),
  org,
  report: 'weekly',
  slot: '2026-11-16T07:00:00.000Z',
  trigger: 'schedule',
  priority: 'scheduled',
  period: { from: '2026-11-09', to: '2026-11-15', timezone: 'Europe/Zurich', label: '2026-W46' },
  digest: 'd'.repeat(64),
  deliver: true,
  createdAt: Date.now(),
  deadlineMs: 86_400_000,
});

async function ours(url, began) {
  const producer = await openRedis(url, 'producer', silentLog);
  const patient = await openRedis(url, 'worker', silentLog);
  const store = redisRunStore(producer, { prefix: PREFIX, keepDays: 40 });
  const queue = runQueue(producer, { prefix: PREFIX });
  let worker;
  return {
    enqueue: async (org) => {
      const order = orderOf(org);
      await store.open(order);
      await queue.enqueue(order);
      return order.id;
    },
    events: `${redisKeys(PREFIX).bull}:runs:events`,
    start: () => {
      worker = startWorker({
        connection: patient,
        prefix: PREFIX,
        store: redisRunStore(patient, { prefix: PREFIX, keepDays: 40 }),
        execute: async ({ org }) => {
          began(org);
          await sleep(RUN_MS);
          return done({ state: 'done', folder: '', files: [], calls: [], incomplete: [], receipts: [] });
        },
        observe: () => {},
        clock: systemClock,
        log: silentLog,
        concurrency: CONCURRENCY,
      });
    },
    close: async () => {
      await worker.close(1_000);
      await queue.close();
      producer.disconnect();
      patient.disconnect();
    },
  };
}

async function bare(url, began) {
  const connection = new Redis(url, { maxRetriesPerRequest: null });
  const queue = new Queue('bare', { connection, prefix: '{bare}' });
  let worker;
  return {
    enqueue: async (org) => (await queue.add('run', { org })).id,
    events: '{bare}:bare:events',
    start: () => {
      const work = async ({ data }) => {
        began(data.org);
        await sleep(RUN_MS);
      };
      worker = new Worker('bare', work, { connection, prefix: '{bare}', concurrency: CONCURRENCY });
    },
    close: async () => {
      await worker.close(true);
      await queue.close();
      connection.disconnect();
    },
  };
}

/** Number of runs that were taken and kept after this run was added and before it was taken, in the order of Redis. */
function takenBefore(events, id) {
  const added = events.findIndex(({ event, jobId }) => event === 'added' && jobId === id);
  if (added === -1) throw new Error(`Run ${id} was added too long ago to be in the event stream`);
  const after = events.slice(added);
  // A run that its worker gives back in favour of another organization is delayed, so it does not count.
  const kept = after.filter(
    ({ event, jobId }, index) =>
      event === 'active' &&
      after.slice(index + 1).find((later) => later.jobId === jobId && later.event !== 'waiting')?.event !== 'delayed',
  );
  const own = kept.findIndex(({ jobId }) => jobId === id);
  return own === -1 ? kept.length : own;
}

/** All events of a BullMQ queue. */
async function eventsOf(url, key) {
  const redis = new Redis(url);
  try {
    const entries = await redis.xrange(key, '-', '+');
    return entries.map(([, fields]) => {
      const at = (name) => fields[fields.indexOf(name) + 1];
      return { event: at('event'), jobId: at('jobId') };
    });
  } finally {
    redis.disconnect();
  }
}

const report = reportOf('noisy');
for (const others_ of [0, others]) {
  for (const [who, open] of Object.entries({ docket: ours, bullmq: bare })) {
    const redis = await privateRedis();
    const order = [];
    const system = await open(redis.url, (org) => void order.push(org));
    try {
      const names = Array.from({ length: others_ }, (_, index) => `other-${index}`);
      for (let run = 0; run < runs; run += 1) await system.enqueue('noisy');
      // The other organizations have enough waiting runs to still have some at each arrival.
      for (let run = 0; run < (others_ === 0 ? 0 : 2 * times); run += 1)
        for (const name of names) await system.enqueue(name);
      system.start();
      while (order.length < CONCURRENCY) await sleep(1);
      const waits = [];
      for (let time = 0; time < (who === 'docket' ? times : 1); time += 1) {
        const small = `small-${time}`;
        const id = await system.enqueue(small);
        const from = Date.now();
        while (!order.includes(small) && order.length < runs) await sleep(1);
        waits.push({ id, ms: Date.now() - from });
      }
      const events = await eventsOf(redis.url, system.events);
      report({
        name: others_ === 0 ? `${runs} runs of one organization` : `and ${others_} others with queued runs`,
        who,
        taken_before: Math.max(...waits.map(({ id }) => takenBefore(events, id))),
        wait_ms_most: Math.max(...waits.map(({ ms }) => ms)),
        // A round: one run of each organization that waits.
        limit: { taken_before: 1 + others_ },
      });
    } finally {
      await system.close();
      await redis.close();
    }
  }
}
