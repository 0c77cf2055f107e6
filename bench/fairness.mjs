// One organization with 2,000 calls and twenty with two each share a key. The calls of the small organizations must be
// done within two windows, whenever they arrive.
//
//   npm run build && node build/modules.mjs && node bench/fairness.mjs [--quick] [--calls 2000] [--window 5000] [--times 3]
//
// Two windows have 60 tokens. The small organizations need 40, so the big one may get at most 20. A token returns after
// its window plus the response time of its call, so the measured time is two windows plus those response times.
import { setTimeout as sleep } from 'node:timers/promises';
import { bullmqLineOf } from './support/bullmq-key-queue.mjs';
import { lineOf } from './support/key-queue.mjs';
import { readOptions } from './support/options.mjs';
import { privateRedis } from './support/redis.mjs';
import { reportOf, rounded } from './support/report.mjs';
import { LONGEST_MS, startService } from './support/service.mjs';

const { calls, window, times } = readOptions({ calls: 2_000, window: 5_000, times: 3 }, { window: 2_000, times: 1 });
const LIMIT = 30;
const SMALL = 20;
const MOST_OF_BIG = 2 * LIMIT - 2 * SMALL;

/**
 * Two windows, the two percent that bench/budget.mjs allows, and response times: of each token, and of the last call.
 */
const IN_TIME_MS = 1.02 * 2 * window + 3 * LONGEST_MS;

async function measure(redisUrl, lineBy, arrival) {
  const service = await startService({ windowMs: window });
  const line = lineBy({ redisUrl, service, limit: LIMIT, windowMs: window });
  try {
    const priority = 'scheduled';
    for (let index = 0; index < calls; index++) line.call({ id: `big-${index}`, org: 'big', priority });
    // Waits until each of the 2,000 calls has requested a token once, and the tokens of the first window are used.
    while (line.answers.length < calls) await sleep(1);
    await sleep(arrival * window);
    const came = Date.now();
    const before = line.answers.length;
    const done = [];
    const all = Promise.all(
      Array.from({ length: 2 * SMALL }, async (_, index) => {
        await line.call({ id: `small-${index}`, org: `small-${index % SMALL}`, priority });
        done.push(Date.now() - came);
      }),
    );
    await Promise.race([all, sleep(IN_TIME_MS + window)]);
    const grants = line.answers.slice(before).filter(({ granted }) => granted);
    const last = grants.findLastIndex(({ org }) => org !== 'big');
    return {
      late: 2 * SMALL - done.filter((ms) => ms <= IN_TIME_MS).length,
      ms: done.length < 2 * SMALL ? null : Math.max(...done),
      windows: done.length < 2 * SMALL ? null : rounded(Math.max(...done) / window),
      // Tokens granted to the big organization until the small ones were done.
      big_grants: grants.slice(0, last === -1 ? undefined : last).filter(({ org }) => org === 'big').length,
      throttled: service.requests().filter(({ status }) => status === 429).length,
    };
  } finally {
    await line.close();
    await service.close();
  }
}

const report = reportOf('fairness');
const redis = await privateRedis();
try {
  for (const [name, arrival] of [
    ['coming just after the big one', 0],
    ['coming half a window later', 0.5],
  ]) {
    const limit = { late: 0, big_grants: MOST_OF_BIG, throttled: 0 };
    for (let time = 0; time < times; time++) {
      report({ name, ...(await measure(redis.url, lineOf, arrival)), limit });
    }
    report({ name, who: 'bullmq', ...(await measure(redis.url, bullmqLineOf, arrival)), limit });
  }
} finally {
  await redis.close();
}
