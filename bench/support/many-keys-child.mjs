// One process with so many keys in it; forked by bench/keys.mjs, so that each count starts with a process of its own.
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { LONGEST_MS } from './service.mjs';

const section = async (redis, name) =>
  Object.fromEntries(
    (await redis.info(name)).split('\r\n').flatMap((line) => (line.includes(':') ? [line.split(':', 2)] : [])),
  );

/** Commands that Redis has run, those inside of scripts too. */
const commandsOf = async (redis) =>
  Object.entries(await section(redis, 'commandstats'))
    .filter(([name]) => name !== 'cmdstat_info')
    .reduce((sum, [, stats]) => sum + Number(/calls=(\d+)/.exec(stats)[1]), 0);
/** Seconds of processor that Redis has used. */
const cpuOf = async (redis) => {
  const { used_cpu_sys, used_cpu_user } = await section(redis, 'cpu');
  return Number(used_cpu_sys) + Number(used_cpu_user);
};
const memoryOf = async (redis) => Number((await section(redis, 'memory')).used_memory);

async function measure({ client, redisUrl, keys, calls, limit, windowMs }) {
  const { open } = await import(`./many-keys/${client}.mjs`);
  const redis = new Redis(redisUrl);
  const opened = await open({ redisUrl, limit, windowMs, calls });
  await opened.call('warm', 'warm', () => sleep(1));
  gc();
  const before = {
    heap: process.memoryUsage().heapUsed,
    redis: await memoryOf(redis),
    commands: await commandsOf(redis),
    cpu: await cpuOf(redis),
  };
  const most = { rss: 0, redis: before.redis };
  let over = false;
  const watching = (async () => {
    while (!over) {
      most.rss = Math.max(most.rss, process.memoryUsage().rss);
      most.redis = Math.max(most.redis, await memoryOf(redis));
      await sleep(100);
    }
  })();
  // The first window's calls are over by then, and the other half waits.
  const heap = sleep(0.9 * windowMs).then(() => {
    gc();
    return process.memoryUsage().heapUsed;
  });
  const from = Date.now();
  await Promise.all(
    Array.from({ length: keys }, (_, key) => key).flatMap((key) =>
      Array.from({ length: calls }, (_, call) =>
        opened.call(`key-${key}`, `${key}-${call}`, () => sleep(20 + Math.random() * (LONGEST_MS - 20))),
      ),
    ),
  );
  const ms = Date.now() - from;
  over = true;
  await watching;
  const commands = (await commandsOf(redis)) - before.commands;
  const cpu = (await cpuOf(redis)) - before.cpu;
  await opened.close();
  redis.disconnect();
  return {
    commands_per_call: commands / (keys * calls),
    redis_us_per_call: (cpu * 1e6) / (keys * calls),
    redis_bytes_per_key: (most.redis - before.redis) / keys,
    heap_bytes_per_key: ((await heap) - before.heap) / keys,
    rss_mb: most.rss / 1_048_576,
    ms,
  };
}

process.once('message', async (order) => {
  process.send(await measure(order));
  process.exit();
});
