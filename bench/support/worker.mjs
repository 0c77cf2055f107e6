// One of the processes that share a key: makes its part of the calls with the given client. Forked by fleet.mjs.
import { setMaxListeners } from 'node:events';
import { Redis } from 'ioredis';
import { Secret } from '../../dist-modules/base/secrets/secret.js';
import { createClient } from '../../dist-modules/fetch/client/compliance-client.js';
import { answersOf } from './answers.mjs';
import { REQUEST } from './service.mjs';

async function work(order) {
  const { make } = await import(`./clients/${order.client}.mjs`);
  const redis = new Redis(order.redisUrl);
  const answers = answersOf(redis, order.prefix);
  const api = createClient({ baseUrl: order.url, key: new Secret(order.key), timeouts: { total: order.timeoutMs } });
  const { signal } = new AbortController();
  // All calls of this process share one signal, and each adds a listener to it. In a worker, only the four calls of a
  // run share one.
  setMaxListeners(0, signal);
  const had = await answers.ids();
  await make({
    ...order,
    redis,
    api,
    signal,
    ids: order.ids.filter((id) => !had.has(id)),
    call: () => api.report('current', REQUEST, signal),
    keep: answers.keep,
    answered: answers.count,
  });
  await api.close();
  await redis.quit();
}

// The benchmark has ended, or knows that this process is done.
process.once('disconnect', () => process.exit());
process.once('message', async (order) => {
  await work(order);
  process.send('done');
  process.disconnect();
});
process.send('ready');
