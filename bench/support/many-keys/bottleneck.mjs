import Bottleneck from 'bottleneck';
import { Redis } from 'ioredis';

/** A group: one limiter per key, all over the same two connections. */
export async function open({ redisUrl, limit, windowMs }) {
  const { hostname: host, port } = new URL(redisUrl);
  const group = new Bottleneck.Group({
    id: 'bench',
    datastore: 'ioredis',
    clientOptions: { host, port: Number(port) },
    Redis,
    reservoir: limit,
    reservoirRefreshAmount: limit,
    reservoirRefreshInterval: windowMs,
    maxConcurrent: limit,
  });
  group.on('error', () => {});
  return {
    call: (key, id, attempt) => group.key(key).schedule({ id, expiration: 120_000 }, attempt),
    close: () => group.disconnect(false),
  };
}
