import { RateLimiterQueue } from 'rate-limiter-flexible';
import { limiterOf, throttled } from './rate-limiter-flexible.mjs';

/** The library's own queue in front of the same limiter. */
export async function make(work) {
  const queue = new RateLimiterQueue(limiterOf(work));
  const enter = () => queue.removeTokens(1);
  await Promise.all(
    work.ids.map(async (id) => {
      await throttled(enter, work);
      await work.keep(id);
    }),
  );
}
