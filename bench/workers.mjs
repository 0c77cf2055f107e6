// More and more worker processes on one key: together they must make as many calls as the key has tokens, no more and no
// fewer, and a call must cost Redis no more because there are more of them.
//
//   npm run build && npm run build:modules && node bench/workers.mjs [--quick] [--calls 90] [--window 10000] [--most 8]
import { Redis } from 'ioredis';
import { costOf } from './support/cost.mjs';
import { readOptions } from './support/options.mjs';
import { privateRedis } from './support/redis.mjs';
import { reportGrowth, reportOf, rounded } from './support/report.mjs';
import { makeCalls } from './support/shared-key.mjs';

const { calls, window, most } = readOptions({ calls: 90, window: 10_000, most: 8 }, { calls: 60, window: 5_000 });
const WORKERS = [1, 2, 4, 8].filter((workers) => workers <= most);
// As in bench/budget.mjs; of fewer windows the replies of one are more.
const LIMIT = { throttled: 0, ratio: window < 10_000 ? 1.1 : 1.03, missing: 0, kept_twice: 0 };

const report = reportOf('workers');
const redis = await privateRedis();
const client = new Redis(redis.url);
try {
  for (const who of ['docket', 'bullmq']) {
    const points = [];
    for (const workers of WORKERS) {
      let figures;
      const { commands, cpuMs } = await costOf(async () => {
        const order = { client: who, limiter: 'sliding', redisUrl: redis.url, calls, windowMs: window, workers };
        figures = await makeCalls(order);
      }, client);
      points.push({ n: workers, cost: commands });
      const cost = { commands_per_call: rounded(commands / calls, 1), cpu_ms_per_call: rounded(cpuMs / calls, 2) };
      report({ name: workers === 1 ? '1 worker' : `${workers} workers`, who, ...figures, ...cost, limit: LIMIT });
    }
    // The calls are as many for one worker as for eight.
    reportGrowth(report, {
      name: `${calls} calls on one key`,
      who,
      by: 'workers',
      unit: 'commands',
      points,
      most: 0.2,
    });
  }
} finally {
  client.disconnect();
  await redis.close();
}
