// A process of its own, as `docket start` is one: it runs the built queue with a fake executor, and is killed by tests.
// Arguments: the Redis URL, the prefix, what it does, and until which file is there. It tells its parent by messages.

import { existsSync } from 'node:fs';
import { systemClock } from '../../dist-modules/base/clock.js';
import { silentLog } from '../../dist-modules/base/log.js';
import { done } from '../../dist-modules/base/outcome.js';
import { attempt } from '../../dist-modules/deliver/attempt.js';
import { deliveryId } from '../../dist-modules/deliver/ledger/ledger.js';
import { redisLedger } from '../../dist-modules/deliver/ledger/redis-ledger.js';
import { runQueue } from '../../dist-modules/queue/jobs/run-queue.js';
import { startWorker } from '../../dist-modules/queue/jobs/worker.js';
import { redisRunStore } from '../../dist-modules/queue/runs/run-store.js';
import { openDueSlots } from '../../dist-modules/queue/schedules/open-due-slots.js';
import { redisScheduleCursors } from '../../dist-modules/queue/schedules/schedule-cursors.js';
import { openRedis } from '../../dist-modules/redis/connection.js';
import { triggerRun } from '../../dist-modules/services/runs/trigger-run.js';

const [url, prefix, role, until] = process.argv.slice(2);
const producer = await openRedis(url, 'producer', silentLog);
const runs = redisRunStore(producer, { prefix, keepDays: 40 });
const tell = (message) => process.send(message);

if (role === 'opens') {
  const queue = runQueue(producer, { prefix });
  process.on('message', async ({ now, reports }) => {
    const clock = { ...systemClock, now: () => now };
    const ports = { runs, queue, clock, log: silentLog };
    const due = await openDueSlots(reports, {
      cursors: redisScheduleCursors(producer, { prefix }),
      trigger: (request) => triggerRun(request, ports),
      runs,
      clock,
      log: silentLog,
    });
    tell(due);
  });
  tell('ready');
} else {
  const result = { state: 'done', folder: '', files: [], calls: [], incomplete: [], receipts: [] };
  const blocking = await openRedis(url, 'worker', silentLog);
  const ledger = redisLedger(blocking, { prefix: `${prefix}:`, ttlDays: 30 });
  const heard = (message) => new Promise((resolve) => process.send(message, resolve));
  // A run may be there before the worker is ready: what it does could keep the process from ever saying so.
  let begin;
  const begun = new Promise((resolve) => {
    begin = resolve;
  });
  // What a try does, by the role of its process.
  const tries = {
    works: async () => {},
    hangs: (_, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    // For a token that does not come.
    waits: (order, context) => {
      context.observe({ type: 'waiting', call: 'c1', until: Date.now() + 60_000 });
      return tries.hangs(order, context);
    },
    // Only the report that is called poison: the heap of this process is small.
    devours: async ({ report }) => {
      const eaten = [];
      while (report === 'poison') eaten.push(Array.from({ length: 100_000 }, (_, n) => ({ n })));
    },
    // As a renderer on the main thread would: nothing turns and no lock is renewed until the file is there.
    blocks: async (order, context) => {
      const still = new Int32Array(new SharedArrayBuffer(4));
      while (!existsSync(until)) Atomics.wait(still, 0, 0, 20);
      await tries.delivers(order, context);
    },
    delivers: async ({ id, org, report }, { signal }) => {
      const row = { id: deliveryId(id, '0-email', 'a@acme.example'), run: id, org, report };
      const opened = await ledger.open({ ...row, target: '0-email', recipient: 'a@acme.example' }, Date.now());
      if (opened.state !== 'pending') return;
      const leave = async () => {
        await blocking.rpush(`${prefix}:sent`, process.pid);
        return { state: 'sent', detail: '250 OK' };
      };
      await attempt(row, async () => leave, { ledger, clock: systemClock, signal });
    },
    // Three calls, each kept when it is answered: what a run has, it does not ask again.
    steps: async ({ id }, { signal }) => {
      for (const step of ['1', '2', '3']) {
        if (await blocking.sismember(`${prefix}:answers:${id}`, step)) continue;
        await systemClock.sleep(20, signal);
        await blocking.multi().incr(`${prefix}:calls`).sadd(`${prefix}:answers:${id}`, step).exec();
      }
    },
  };
  const worker = startWorker({
    connection: blocking,
    prefix,
    store: runs,
    execute: async (order, context) => {
      await context.marked;
      await begun;
      context.observe({ type: 'planned', calls: 3, sections: 1 });
      await heard({ started: order.id, attempt: context.attempt });
      await tries[role](order, context);
      return done(result);
    },
    onTerminal: async (order, error) => tell({ failed: order.id, code: error.code }),
    clock: systemClock,
    log: silentLog,
    concurrency: 2,
    maxCrashes: 2,
    lock: { durationMs: 600, stalledIntervalMs: 300 },
  });
  let stopping = false;
  process.once('disconnect', () => {
    // A parent that has gone leaves nobody behind.
    if (!stopping) process.exit(1);
  });
  process.once('SIGTERM', async () => {
    stopping = true;
    await worker.close(0);
    // Nothing may keep the process alive now.
    producer.disconnect();
    blocking.disconnect();
    process.disconnect();
  });
  await worker.ready();
  tell('ready');
  begin();
}
