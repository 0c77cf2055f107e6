// More and more worker processes on one key: together they must make as many calls as the key has tokens, no more and no
// fewer. What a call costs Redis (commands inside of scripts count) has a limit: of a few calls that wait, and of 2,000.
// More workers have fewer calls to ask for at once, so that a call costs more, until each is requested alone.
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
/** A window of many calls that wait: replies are up to a twelfth of it, which moves what was expected more than a minute's does. */
const WAITING_WINDOW_MS = 1_000;
const WORKERS = [1, 2, 4, 8].filter((workers) => workers <= most);
// As in bench/budget.mjs; of fewer windows the replies of one are more.
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
    // The calls are as many for one worker as for eight.
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
  // Of so short a window the replies are a twelfth.
  await measure('docket', `${waiting} calls wait, 4 workers`, { ...work, limit: { ...LIMIT, ratio: 1.15 } });
} finally {
  client.disconnect();
  await redis.close();
}
