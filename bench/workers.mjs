// More and more worker processes share one key. Together they must make exactly as many calls as the key has tokens.
// The Redis cost per call (including commands inside of scripts) has a limit, for a few waiting calls and for 2,000.
// With more workers, each has fewer calls to request together, so a call costs more, up to the cost of single requests.
//
//   npm run build && node build/modules.mjs && node bench/workers.mjs [--quick] [--calls 90] [--window 10000] [--most 8] [--waiting 2000]
import { Redis } from 'ioredis';
import { costOf } from './support/cost.mjs';
import { readOptions } from './support/options.mjs';
import { privateRedis } from './support/redis.mjs';
import { reportGrowth, reportOf, rounded } from './support/report.mjs';
import { makeCalls } from './support/shared-key.mjs';

const { calls, window, most, waiting } = readOptions(
  { calls: 90, window: 10_000, most: 8, waiting: 2_000 },
  { calls: 60, window: 5_000, waiting: 300 },
);
/**
 * The window for many waiting calls. Response times are up to a twelfth of it, so they affect the ratio more than in a
 * minute.
 */
const WAITING_WINDOW_MS = 1_000;
const WORKERS = [1, 2, 4, 8].filter((workers) => workers <= most);
// As in bench/budget.mjs. With fewer windows, the response times of one weigh more.
const LIMIT = {
  throttled: 0,
  ratio: window < 10_000 ? 1.1 : 1.03,
  missing: 0,
  kept_twice: 0,
  commands_per_call: 30,
};

const report = reportOf('workers');
const redis = await privateRedis();
const client = new Redis(redis.url);

async function measure(who, name, { limit = LIMIT, calls, windowMs, workers }) {
  let figures;
  const { commands, cpuMs } = await costOf(async () => {
    const order = { client: who, limiter: 'sliding', redisUrl: redis.url, calls, windowMs, workers };
    figures = await makeCalls(order);
  }, client);
  const per = (cost, digits) => rounded(cost / calls, digits);
  const cost = { commands_per_call: per(commands, 1), cpu_ms_per_call: per(cpuMs, 2) };
  report({ name, who, ...figures, ...cost, limit });
  return commands;
}

try {
  for (const who of ['docket', 'bullmq']) {
    const points = [];
    for (const workers of WORKERS) {
      const name = workers === 1 ? '1 worker' : `${workers} workers`;
      points.push({ n: workers, cost: await measure(who, name, { calls, windowMs: window, workers }) });
    }
    // The number of calls is the same for one worker as for eight.
    reportGrowth(report, {
      name: `${calls} calls on one key`,
      who,
      by: 'workers',
      unit: 'commands',
      points,
      most: 0.5,
    });
  }
  const work = { calls: waiting, windowMs: WAITING_WINDOW_MS, workers: 4 };
  // In such a short window, response times are a twelfth.
  await measure('docket', `${waiting} calls wait, 4 workers`, { ...work, limit: { ...LIMIT, ratio: 1.15 } });
} finally {
  client.disconnect();
  await redis.close();
}
