// One organization with 2,000 calls and twenty with two each, on one shared key: the small ones must be done within two
// windows, whenever they come.
//
//   npm run build && node bench/fairness.mjs [--quick] [--calls 2000] [--window 2000]
//
// Two windows bring 60 tokens, of which 40 are theirs and so at most 20 the big one's. A token is out for its window and
// for its call's reply: two windows of time are two windows and the replies in them.
import { setTimeout as sleep } from 'node:timers/promises';
import { lineOf } from './support/line.mjs';
import { readOptions } from './support/options.mjs';
import { privateRedis } from './support/redis.mjs';
import { reportOf, rounded } from './support/report.mjs';
import { LONGEST_MS, startService } from './support/service.mjs';

const { calls, window, times } = readOptions({ calls: 2_000, window: 2_000, times: 3 }, { times: 1 });
const LIMIT = 30;
const SMALL = 20;
const MOST_OF_BIG = 2 * LIMIT - 2 * SMALL;

async function measure(redisUrl, arrival) {
  const service = await startService({ windowMs: window });
  const line = lineOf({ redisUrl, service, limit: LIMIT, windowMs: window });
  try {
    const priority = 'scheduled';
    for (let index = 0; index < calls; index++) line.call({ id: `big-${index}`, org: 'big', priority });
    // Every one of the 2,000 has asked once, and the first window's tokens are gone.
    while (line.answers.length < calls) await sleep(1);
    await sleep(arrival * window);
    const came = Date.now();
    const before = line.answers.length;
    const small = Array.from({ length: SMALL }, (_, index) => `small-${index}`);
    await Promise.all(
      small.flatMap((org) => [0, 1].map((index) => line.call({ id: `${org}-${index}`, org, priority }))),
    );
    const ms = Date.now() - came;
    const grants = line.answers.slice(before).filter(({ granted }) => granted);
    const last = grants.findLastIndex(({ org }) => org !== 'big');
    return {
      ms,
      windows: rounded(ms / window),
      most_ms: 2 * (window + LONGEST_MS) + LONGEST_MS,
      // Of the big one, while the small ones were at it.
      big_grants: grants.slice(0, last).filter(({ org }) => org === 'big').length,
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
    for (let time = 0; time < times; time++) {
      const { most_ms, ...figures } = await measure(redis.url, arrival);
      report({ name, ...figures, limit: { ms: most_ms, big_grants: MOST_OF_BIG, throttled: 0 } });
    }
  }
} finally {
  await redis.close();
}
