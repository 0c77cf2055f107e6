import { localRedis } from '../../dist-modules/demo/local-redis.js';

// The server ends with this process, but only where the process ends by itself.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));

/** A Redis that nobody else talks to, whatever REDIS_URL says: benches count its commands and its memory. */
export const privateRedis = () => localRedis({ ...process.env, REDIS_URL: undefined });
