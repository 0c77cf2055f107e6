// A separate process like `docket start`: it runs the built queue with a fake executor, and tests kill it. Arguments: the
// Redis URL, the prefix, the role, and a file to wait for. It sends messages to its parent.

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
  // A run may exist before the worker is ready, and its work could keep the process from reporting that.
  let begin;
  const begun = new Promise((resolve) => {
    begin = resolve;
  });
  // The work of an attempt, by the role of the process.
  const tries = {
    works: async () => {},
    hangs: (_, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    // Waits for a token that never comes.
    waits: (order, context) => {
      context.observe({ type: 'waiting', call: 'c1', until: Date.now() + 60_000 });
      return tries.hangs(order, context);
    },
    // Uses up the small heap of this process, for the report named poison only.
    devours: async ({ report }) => {
      const eaten = [];
      while (report === 'poison') eaten.push(Array.from({ length: 100_000 }, (_, n) => ({ n })));
    },
    // Blocks like a renderer on the main thread: no lock is renewed until the file exists.
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
    // Makes three calls and stores each response. Stored responses are not requested again.
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
    // Do not stay behind when the parent is gone.
    if (!stopping) process.exit(1);
  });
  process.once('SIGTERM', async () => {
    stopping = true;
    await worker.close(0);
    // Close everything that would keep the process alive.
    producer.disconnect();
    blocking.disconnect();
    process.disconnect();
  });
  await worker.ready();
  tell('ready');
  begin();
}
