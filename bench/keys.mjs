// Measures many keys in one process: Redis commands per call and memory per key, for 10 to 10,000 keys (peers up to
// 1,000, because one of them opens connections per key). Each key makes twice as many calls as a window allows, so half
// of them wait. The keys start one after the other within a window. The calls are pauses of 20 to 80 ms, because only
// the cost of the budget matters here, not of HTTP.
//
//   npm run build && node build/modules.mjs && node bench/keys.mjs [--quick] [--calls 6] [--window 5000] [--most 10000] [--peers 1000]
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { readOptions } from './support/options.mjs';
import { privateRedis } from './support/redis.mjs';
import { reportGrowth, reportOf, rounded, sizesTo } from './support/report.mjs';

const { calls, window, most, peers } = readOptions(
  { calls: 6, window: 5_000, most: 10_000, peers: 1_000 },
  { most: 1_000, peers: 100 },
);
const CLIENTS = ['docket', 'bullmq', 'bottleneck', 'rate-limiter-flexible-queue'];
const CHILD = fileURLToPath(new URL('./support/many-keys-child.mjs', import.meta.url));
/** Maximum memory of a key with six waiting calls, in Redis and in the process. */
const REDIS_BYTES = 4_096;
const HEAP_BYTES = 32_768;
/** Ms per key: makes the window long enough for one process to make all its calls. */
const ROOM_MS = 8;

async function measure(order) {
  const redis = await privateRedis();
  try {
    const child = fork(CHILD, { execArgv: ['--expose-gc'] });
    const figures = await new Promise((resolve, reject) => {
      child.once('message', resolve);
      child.once('exit', (code) => reject(new Error(`the process ended with ${code}`)));
      child.send({ ...order, redisUrl: redis.url });
    });
    return figures;
  } finally {
    await redis.close();
  }
}

const report = reportOf('keys');
for (const client of CLIENTS) {
  const measured = [];
  for (const keys of sizesTo(client === 'docket' ? most : Math.min(most, peers))) {
    const windowMs = Math.max(window, ROOM_MS * keys);
    const figures = await measure({ client, keys, calls, limit: calls / 2, windowMs });
    measured.push({ n: keys, ...figures });
    const each = (figure) => figures[figure] / (keys * calls);
    report({
      name: `${keys} keys`,
      who: client,
      commands_per_call: rounded(each('commands'), 1),
      redis_us_per_call: Math.round(each('redis_cpu_ms') * 1000),
      own_us_per_call: Math.round(each('own_cpu_ms') * 1000),
      redis_bytes_per_key: Math.round(figures.redis_bytes / keys),
      heap_bytes_per_key: Math.round(figures.heap_bytes / keys),
      rss_mb: Math.round(figures.rss_mb),
      ms: figures.ms,
      asked_again: figures.asked_again,
      limit: {
        commands_per_call: null,
        // With few keys, costs that do not depend on their number dominate, so there is no limit.
        ...(keys < 100 ? {} : { redis_bytes_per_key: REDIS_BYTES, heap_bytes_per_key: HEAP_BYTES }),
      },
    });
  }
  for (const { name, unit, costIn } of [
    { name: 'commands of the budget', unit: 'commands', costIn: ({ commands }) => commands },
    {
      name: 'time of the budget',
      unit: 'ms of processor, ours and Redis',
      costIn: ({ redis_cpu_ms, own_cpu_ms }) => redis_cpu_ms + own_cpu_ms,
    },
    { name: 'Redis of the budget', unit: 'bytes', costIn: ({ redis_bytes }) => redis_bytes },
  ]) {
    const points = measured.map((figures) => ({ n: figures.n, cost: costIn(figures) }));
    reportGrowth(report, { name, who: client, by: 'keys', unit, points });
  }
}
