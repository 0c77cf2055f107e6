import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import type { Clock } from '../../src/base/clock.ts';
import { luaScript } from '../../src/base/lua.ts';
import { memoryShared } from '../../src/fetch/memory-shared.ts';
import { redisShared, sharedScript } from '../../src/fetch/redis-shared.ts';
import type { SharedAnswers } from '../../src/fetch/shared-answers.ts';

export interface SharedBench {
  /** A store of its own, told by `clock`; but a call whose holder has died is free by real time in Redis. */
  open(clock: Clock): SharedAnswers;
  close(): Promise<void>;
}

export const memoryBench = async (): Promise<SharedBench> => ({
  open: (clock) => memoryShared(clock),
  close: async () => {},
});

/** The production script but for the one line that reads Redis's clock: here it reads a key that the test sets. */
export const redisBench = async (url: string): Promise<SharedBench> => {
  const redis = new Redis(url);
  const prefix = `shared-test:${randomUUID()}:`;
  return {
    open: (clock) => {
      const own = `${prefix}${randomUUID()}:`;
      const { lua } = sharedScript();
      const moved = lua.replace("redis.call('TIME')", `redis.call('HMGET', '${own}clock', 's', 'us')`);
      if (moved === lua) throw new Error('the script no longer reads its clock in one place');
      const shared = redisShared(redis, { prefix: own, script: luaScript(moved) });
      const after =
        <Args extends unknown[], Result>(method: (...args: Args) => Promise<Result>) =>
        async (...args: Args) => {
          const now = clock.now();
          await redis.hset(`${own}clock`, { s: Math.floor(now / 1000), us: (now % 1000) * 1000 });
          return method(...args);
        };
      return {
        look: after(shared.look),
        claim: after(shared.claim),
        land: after(shared.land),
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
