// Many keys at once from one process: commands that Redis runs a call and memory a key, at 10, 100 and 1,000 keys. Each
// key makes twice the calls that a window lets through, so that half of them wait. The calls are pauses of 20 to 80 ms:
// what the budget costs is asked here, not what HTTP does.
//
//   npm run build && node bench/keys.mjs [--quick] [--calls 6] [--window 5000]
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { readOptions } from './support/options.mjs';
import { privateRedis } from './support/redis.mjs';
import { reportOf, rounded } from './support/report.mjs';

const { calls, window, most } = readOptions({ calls: 6, window: 5_000, most: 1_000 }, { most: 100 });
const COUNTS = [10, 100, 1_000].filter((count) => count <= most);
const CLIENTS = ['docket', 'bullmq', 'bottleneck', 'rate-limiter-flexible-queue'];
const CHILD = fileURLToPath(new URL('./support/many-keys-child.mjs', import.meta.url));
/** Of the commands a call at the fewest keys. */
const FLAT = 1.1;
/** What a key with six calls in line may take: of Redis, and of the process. */
const REDIS_BYTES = 4_096;
const HEAP_BYTES = 32_768;

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
  let fewest;
  for (const keys of COUNTS) {
    const figures = await measure({ client, keys, calls, limit: calls / 2, windowMs: window });
    fewest ??= figures.commands_per_call;
    report({
      name: `${keys} keys`,
      who: client,
      commands_per_call: rounded(figures.commands_per_call, 1),
      redis_us_per_call: Math.round(figures.redis_us_per_call),
      commands_to_fewest_keys: rounded(figures.commands_per_call / fewest),
      redis_bytes_per_key: Math.round(figures.redis_bytes_per_key),
      heap_bytes_per_key: Math.round(figures.heap_bytes_per_key),
      rss_mb: Math.round(figures.rss_mb),
      ms: figures.ms,
      limit:
        keys === COUNTS.at(-1)
          ? { commands_to_fewest_keys: FLAT, redis_bytes_per_key: REDIS_BYTES, heap_bytes_per_key: HEAP_BYTES }
          : {},
    });
  }
}
