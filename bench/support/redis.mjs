import { localRedis } from '../../dist/demo/redis.js';

/** A Redis that nobody else talks to, whatever REDIS_URL says: benches count its commands and its memory. */
export async function privateRedis() {
  // Its server ends with this process, but only when the process ends by itself.
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));
  return localRedis({ ...process.env, REDIS_URL: undefined });
}
