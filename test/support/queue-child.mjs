// A process of its own, as `docket start` is one: it runs the built queue with a fake executor, and is killed by tests.
// Arguments: the Redis URL, the prefix, and what it does. It tells its parent by messages.
import { systemClock } from '../../dist/base/clock.js';
import { silentLog } from '../../dist/base/log.js';
import { done } from '../../dist/base/outcome.js';
import { openRedis } from '../../dist/queue/connection.js';
import { redisCursors } from '../../dist/queue/cursors.js';
import { definitionStore } from '../../dist/queue/definition-store.js';
import { openDue } from '../../dist/queue/due.js';
import { runQueue } from '../../dist/queue/jobs.js';
import { redisRunStore } from '../../dist/queue/run-store.js';
import { trigger } from '../../dist/queue/trigger.js';
import { startWorker } from '../../dist/queue/worker.js';

const [url, prefix, role] = process.argv.slice(2);
const producer = await openRedis(url, 'producer', silentLog);
const runs = redisRunStore(producer, { prefix, keepDays: 30 });
const tell = (message) => process.send(message);

if (role === 'opens') {
  const definitions = definitionStore(producer, { prefix, keepDays: 30 });
  const queue = runQueue(producer, { prefix });
  process.on('message', async ({ now, reports }) => {
    const clock = { ...systemClock, now: () => now };
    const ports = { runs, definitions, queue, clock, log: silentLog };
    const due = await openDue(reports, {
      cursors: redisCursors(producer, { prefix }),
      trigger: (request) => trigger(request, ports),
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
  const worker = startWorker({
    connection: blocking,
    prefix,
    store: runs,
    execute: async (order, { signal, attempt, observe }) => {
      observe({ type: 'planned', calls: 3, sections: 1 });
      tell({ started: order.id, attempt });
      if (role === 'hangs') {
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      }
      return done(result);
    },
    onTerminal: async (order, error) => tell({ failed: order.id, code: error.code }),
    clock: systemClock,
    log: silentLog,
    concurrency: 2,
    maxLost: 2,
    lock: { durationMs: 600, checkMs: 300 },
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
}
