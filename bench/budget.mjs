// Measures the budget against a server that enforces it: 150 calls by four worker processes that share one key through
// Redis, for each kind of limiter that a service may have, compared with peers on the same work.
//
//   npm run build && node build/modules.mjs && node bench/budget.mjs [--quick] [--calls 150] [--window 10000] [--workers 4] [--times 1] [--peers 1]
//
// The three limiters run on three servers and are measured at the same time, the clients one after the other.
import { readOptions } from './support/options.mjs';
import { privateRedis } from './support/redis.mjs';
import { reportOf } from './support/report.mjs';
import { LIMITERS, makeCalls } from './support/shared-key.mjs';

// bottleneck's clusters refresh a reservoir every 5 s, or multiples of it.
const { calls, window, workers, times, peers } = readOptions(
  { calls: 150, window: 10_000, workers: 4, times: 1, peers: 1 },
  { calls: 60, window: 5_000 },
);
const CLIENTS = [
  'docket',
  'bullmq',
  'bottleneck-reservoir',
  'bottleneck-spacing',
  'rate-limiter-flexible',
  'rate-limiter-flexible-queue',
];
// In a shorter window, responses take as long and so have more effect. A quick run therefore has a looser limit.
const LIMIT = { throttled: 0, ratio: window < 10_000 ? 1.1 : 1.02, missing: 0, kept_twice: 0 };

const report = reportOf('budget');
const redis = await privateRedis();
try {
  for (const client of Array.from({ length: times }, () => (peers > 0 ? CLIENTS : ['docket'])).flat()) {
    await Promise.all(
      LIMITERS.map(async (limiter) => {
        const figures = await makeCalls({ client, limiter, redisUrl: redis.url, calls, windowMs: window, workers });
        report({ name: limiter, who: client, ...figures, limit: LIMIT });
      }),
    );
  }
} finally {
  await redis.close();
}
