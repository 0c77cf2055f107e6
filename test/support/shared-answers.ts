import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import type { Clock } from '../../src/base/clock.ts';
import { redisResponseCache, responseCacheScript } from '../../src/fetch/cache/redis-response-cache.ts';
import { memoryResponseCache, type ResponseCache } from '../../src/fetch/cache/response-cache.ts';
import { luaScript } from '../../src/redis/script.ts';

export interface SharedAnswersHarness {
  /** A separate store with the time of `clock`. In Redis, real time decides when the call of a dead holder becomes free. */
  open(clock: Clock): ResponseCache;
  close(): Promise<void>;
}

export const memorySharedAnswers = async (): Promise<SharedAnswersHarness> => ({
  open: (clock) => memoryResponseCache(clock),
  close: async () => {},
});

/** The production script, except for the line that reads Redis's clock: here it reads a key that the test sets. */
export const redisSharedAnswers = async (url: string): Promise<SharedAnswersHarness> => {
  const redis = new Redis(url);
  const prefix = `shared-test:${randomUUID()}:`;
  return {
    open: (clock) => {
      const own = `${prefix}${randomUUID()}:`;
      const { lua } = responseCacheScript();
      const moved = lua.replace("redis.call('TIME')", `redis.call('HMGET', '${own}clock', 's', 'us')`);
      if (moved === lua) throw new Error('the script no longer reads its clock in one place');
      const shared = redisResponseCache(redis, { prefix: own, script: luaScript(moved) });
      const after =
        <Args extends unknown[], Result>(method: (...args: Args) => Promise<Result>) =>
        async (...args: Args) => {
          const now = clock.now();
          await redis.hset(`${own}clock`, { s: Math.floor(now / 1000), us: (now % 1000) * 1000 });
          return method(...args);
        };
      return {
        lookup: after(shared.lookup),
        claim: after(shared.claim),
        put: after(shared.put),
        discard: after(shared.discard),
        release: after(shared.release),
      };
    },
    close: async () => {
      const keys = await redis.keys(`${prefix}*`);
      if (keys.length > 0) await redis.del(...keys);
      await redis.quit();
    },
  };
};
