import { setTimeout as sleep } from 'node:timers/promises';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { retryAfterMs } from '../retry-after.mjs';

/** The limiter that all processes share. Its duration is in whole seconds. */
export const limiterOf = ({ redis, prefix, limit, windowMs }) =>
  new RateLimiterRedis({ storeClient: redis, keyPrefix: prefix, points: limit, duration: windowMs / 1000 });

/** Makes a call as soon as `enter` allows it. After a 429, waits as long as the service says and enters again. */
export async function throttled(enter, { call }) {
  for (;;) {
    await enter();
    try {
      return await call();
    } catch (error) {
      const wait = retryAfterMs(error);
      if (wait === undefined) throw error;
      await sleep(wait);
    }
  }
}

/** Calls `consume`, and again when the limiter says that the next window starts. */
export async function make(work) {
  const limiter = limiterOf(work);
  const enter = async () => {
    for (;;) {
      try {
        return await limiter.consume(work.key, 1);
      } catch (refused) {
        if (refused instanceof Error) throw refused;
        await sleep(refused.msBeforeNext);
      }
    }
  };
  await Promise.all(
    work.ids.map(async (id) => {
      await throttled(enter, work);
      await work.keep(id);
    }),
  );
}
