// Many keys from one process: commands that Redis runs a call and memory a key, at 10 to 10,000 keys (the peers at up to
// 1,000: one of them takes connections for each key). Each key makes twice the calls that a window lets through, so that
// half of them wait; the keys come one after the other within a window. The calls are pauses of 20 to 80 ms: what
// the budget costs is asked here, not what HTTP does.
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
/** What a key with six calls in line may take: of Redis, and of the process. */
const REDIS_BYTES = 4_096;
const HEAP_BYTES = 32_768;
/** A window is so long that one process can make all its calls: ms a key. */
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
        // Of a few keys what costs the same for any number is the most.
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
