import { setMaxListeners } from 'node:events';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { Secret } from '../../dist-modules/base/secrets/secret.js';
import { createClient } from '../../dist-modules/fetch/client/compliance-client.js';
import { retryAfterMs } from './retry-after.mjs';
import { REQUEST } from './service.mjs';

const PRIORITY = { on_demand: 1, scheduled: 2 };

/**
 * The same as key-queue.mjs with BullMQ: a queue with priorities behind its limiter. An `answer` is a job that arrived
 * or started.
 */
export function bullmqLineOf({ redisUrl, service, limit, windowMs }) {
  const connection = new Redis(redisUrl, { maxRetriesPerRequest: null });
  const api = createClient({ baseUrl: service.url, key: new Secret(service.key) });
  const closing = new AbortController();
  // All calls share one signal, and each adds a listener to it.
  setMaxListeners(0, closing.signal);
  const answers = [];
  const resolves = new Map();
  const queue = new Queue('line', { connection });
  const worker = new Worker(
    'line',
    async ({ id, data: { org } }) => {
      answers.push({ id, org, granted: true, tokens: 0, at: Date.now() });
      try {
        await api.report('current', REQUEST, closing.signal);
      } catch (error) {
        const wait = retryAfterMs(error);
        if (wait === undefined) throw error;
        await queue.rateLimit(wait);
        throw Worker.RateLimitError();
      }
      resolves.get(id)();
    },
    { connection, limiter: { max: limit, duration: windowMs }, concurrency: limit },
  );
  worker.on('error', () => {});
  return {
    answers,
    call: async ({ id, org, priority }) => {
      const made = new Promise((resolve) => resolves.set(id, resolve));
      await queue.add('call', { org }, { jobId: id, priority: PRIORITY[priority] });
      answers.push({ id, org, granted: false, tokens: 0, at: Date.now() });
      await made;
    },
    waiting: () => queue.getPrioritizedCount(),
    close: async () => {
      closing.abort(new Error('the bench is over'));
      await worker.close(true);
      await queue.obliterate({ force: true });
      await queue.close();
      await api.close();
      connection.disconnect();
    },
  };
}
