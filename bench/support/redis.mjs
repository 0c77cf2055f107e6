import { localRedis } from '../../dist-modules/demo/local-redis.js';

// The server stops when this process exits, but not when a signal kills it. So signals cause an exit.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));

/** A Redis that nothing else uses, whatever REDIS_URL says, because benchmarks count its commands and memory. */
export const privateRedis = () => localRedis({ ...process.env, REDIS_URL: undefined });
