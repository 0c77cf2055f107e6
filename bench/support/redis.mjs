import { localRedis } from '../../dist/demo/redis.js';

/** A Redis that nobody else talks to, whatever REDIS_URL says: benches count its commands and its memory. */
export const privateRedis = () => localRedis({ ...process.env, REDIS_URL: undefined });
