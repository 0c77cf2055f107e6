// One organization with 2,000 calls and twenty with two each, on one shared key: the small ones must be done within two
// windows, whenever they come.
//
//   npm run build && node build/modules.mjs && node bench/fairness.mjs [--quick] [--calls 2000] [--window 5000] [--times 3]
//
// Two windows bring 60 tokens, of which 40 are theirs and so at most 20 the big one's. A token is out for its window and
// for its call's reply: two windows of time are two windows and the replies in them.
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

/** Two windows, with the two hundredths that bench/budget.mjs allows, and the replies: each token's own and the last call's. */
const IN_TIME_MS = 1.02 * 2 * window + 3 * LONGEST_MS;

async function measure(redisUrl, lineBy, arrival) {
  const service = await startService({ windowMs: window });
  const line = lineBy({ redisUrl, service, limit: LIMIT, windowMs: window });
  try {
    const priority = 'scheduled';
    for (let index = 0; index < calls; index++) line.call({ id: `big-${index}`, org: 'big', priority });
    // Every one of the 2,000 has asked once, and the first window's tokens are gone.
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
      // Of the big one, while the small ones were at it.
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
