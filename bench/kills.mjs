// The calls of bench/budget.mjs while workers are killed without warning (SIGKILL) and restarted. Every call must still
// be answered and stored once, and no 429 may occur, although it is unknown which calls the killed workers had sent.
// The peer is BullMQ, the only one that takes over the work of a killed process.
//
//   npm run build && node build/modules.mjs && node bench/kills.mjs [--quick] [--calls 150] [--window 10000] [--workers 4] [--kills 8]
import { readOptions } from './support/options.mjs';
import { privateRedis } from './support/redis.mjs';
import { reportOf } from './support/report.mjs';
import { LIMITERS, makeCalls } from './support/shared-key.mjs';

const { calls, window, workers, kills } = readOptions(
  { calls: 150, window: 10_000, workers: 4, kills: 8 },
  { calls: 60, window: 5_000, kills: 3 },
);

const report = reportOf('kills');
const redis = await privateRedis();
try {
  for (const client of ['docket', 'bullmq']) {
    await Promise.all(
      LIMITERS.map(async (limiter) => {
        const figures = await makeCalls({
          client,
          limiter,
          redisUrl: redis.url,
          calls,
          windowMs: window,
          workers,
          kills,
        });
        report({ name: limiter, who: client, ...figures, limit: { throttled: 0, missing: 0, kept_twice: 0 } });
      }),
    );
  }
} finally {
  await redis.close();
}
