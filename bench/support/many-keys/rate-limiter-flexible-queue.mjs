import { Redis } from 'ioredis';
import { RateLimiterQueue, RateLimiterRedis } from 'rate-limiter-flexible';

export async function open({ redisUrl, limit, windowMs }) {
  const redis = new Redis(redisUrl);
  const queue = new RateLimiterQueue(
    new RateLimiterRedis({ storeClient: redis, keyPrefix: 'bench', points: limit, duration: windowMs / 1000 }),
  );
  return {
    call: async (key, _id, attempt) => {
      await queue.removeTokens(1, key);
      await attempt();
    },
    close: () => redis.disconnect(),
  };
}
