// One process with many keys. bench/keys.mjs forks a new one for each number of keys.
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { redisStats } from './redis-stats.mjs';
import { LONGEST_MS } from './service.mjs';

async function measure({ client, redisUrl, keys, calls, limit, windowMs }) {
  const { open } = await import(`./many-keys/${client}.mjs`);
  const redis = new Redis(redisUrl);
  const opened = await open({ redisUrl, limit, windowMs, calls });
  await opened.call('warm', 'warm', () => sleep(1));
  gc();
  const before = { heap: process.memoryUsage().heapUsed, own: process.cpuUsage(), ...(await redisStats(redis)) };
  const most = { rss: 0, bytes: before.bytes };
  let over = false;
  const watching = (async () => {
    while (!over) {
      most.rss = Math.max(most.rss, process.memoryUsage().rss);
      most.bytes = Math.max(most.bytes, (await redisStats(redis)).bytes);
      await sleep(100);
    }
  })();
  // By then all keys have started, the first half of their calls is over, and the other half waits or is about to.
  const heap = sleep(windowMs).then(() => {
    gc();
    return process.memoryUsage().heapUsed;
  });
  const from = Date.now();
  await Promise.all(
    Array.from({ length: keys }, (_, key) => key).flatMap((key) =>
      Array.from({ length: calls }, async (_, call) => {
        await sleep((key / keys) * windowMs);
        await opened.call(`key-${key}`, `${key}-${call}`, () => sleep(20 + Math.random() * (LONGEST_MS - 20)));
      }),
    ),
  );
  const ms = Date.now() - from;
  over = true;
  await watching;
  const after = await redisStats(redis);
  const { user, system } = process.cpuUsage(before.own);
  await opened.close();
  redis.disconnect();
  return {
    commands: after.commands - before.commands,
    redis_cpu_ms: after.cpuMs - before.cpuMs,
    own_cpu_ms: (user + system) / 1000,
    redis_bytes: most.bytes - before.bytes,
    heap_bytes: (await heap) - before.heap,
    rss_mb: most.rss / 1_048_576,
    ms,
    asked_again: opened.askedAgain?.() ?? 0,
  };
}

// The benchmark has ended.
process.once('disconnect', () => process.exit());
process.once('message', async (order) => {
  process.send(await measure(/** @type {Parameters<typeof measure>[0]} */ (order)));
  process.exit();
});
