import Bottleneck from 'bottleneck';
import { Redis } from 'ioredis';
import { retryAfterMs } from '../retry-after.mjs';

/**
 * bottleneck in clustering mode (its README, "Clustering"). Every job has an expiration, and is retried after a 429 by
 * the `failed` event ("Retries").
 *
 * @param settings of the limiter that all processes share
 */
export async function schedule(settings, { redisUrl, prefix, ids, call, keep }) {
  const { hostname: host, port } = new URL(redisUrl);
  const limiter = new Bottleneck({
    id: prefix,
    datastore: 'ioredis',
    clientOptions: { host, port: Number(port) },
    Redis,
    ...settings,
  });
  limiter.on('error', () => {});
  limiter.on('failed', (error) => retryAfterMs(error));
  await limiter.ready();
  await Promise.all(
    ids.map(async (id) => {
      await limiter.schedule({ id, expiration: 120_000 }, call);
      await keep(id);
    }),
  );
  await limiter.disconnect();
}
