// Measures a backlog: 10,000 slots of 1,000 keys that came due in the same minute. A scheduler process opens them; one
// worker process, and in a second round four, work them off against a service that refuses requests above the budget.
// No request may be refused and no run lost, the memory of a worker must stay flat, and what remains in Redis is
// limited: a record per run, and the definitions.
//
// The drain time has a lower limit from the budget (`floor_ms`: the time for the calls of one key) and from the
// workers' own time. `opened_ms` starts with a scheduler whose definitions are already active; `start_ms` is the part
// of it until the process says that it runs. The time limits apply to the full size: with fewer slots, most of the time
// is the start.
//
//   npm run build && node build/modules.mjs && node bench/backlog.mjs [--quick] [--runs 10000] [--keys 1000] [--calls 4] [--window 5000] [--workers 4]
import { Redis } from 'ioredis';
import { manyOrgs } from './support/many-orgs.mjs';
import { readOptions } from './support/options.mjs';
import { privateRedis } from './support/redis.mjs';
import { redisStats } from './support/redis-stats.mjs';
import { reportOf, rounded } from './support/report.mjs';
import { tinyService } from './support/tiny-service.mjs';

const { runs, keys, calls, window, workers } = readOptions(
  { runs: 10_000, keys: 1_000, calls: 4, window: 5_000, workers: 4 },
  { runs: 500, keys: 50 },
);
const EACH = runs / keys;
/** Limits for 10,000 slots: time to open them, and time to drain them by number of workers. */
const OPENED_MS = 10_000;
const DRAINED_MS = new Map([
  [1, 70_000],
  [4, 25_000],
]);
const report = reportOf('backlog');
for (const crowd of new Set([1, workers])) await backlog(crowd);

async function backlog(size) {
  const redis = await privateRedis();
  const client = new Redis(redis.url);
  const service = await tinyService({ calls, windowMs: window });
  const house = await manyOrgs({
    redisUrl: redis.url,
    apiUrl: service.url,
    orgs: keys,
    reports: EACH,
    budget: { calls, window: window / 1000 },
    report: { schedule: { cron: '0 0 * * *', timezone: 'UTC' } },
  });
  try {
    const before = await house.start('scheduler');
    await before.close();
    // Moves all cursors back to the day before yesterday, so that each report has one slot due, in the same minute.
    const midnight = new Date().setUTCHours(0, 0, 0, 0);
    const cursors = await client.hkeys('{docket}:cursors');
    for (let from = 0; from < cursors.length; from += 1000) {
      await client.hset(
        '{docket}:cursors',
        ...cursors.slice(from, from + 1000).flatMap((one) => [one, midnight - 60_000]),
      );
    }
    const [definitions, { bytes }] = [await client.dbsize(), await redisStats(client)];

    const began = Date.now();
    const redisBefore = await redisStats(client);
    const scheduler = await house.start('scheduler');
    await scheduler.times('Run opened', runs);
    const openedMs = Date.now() - began;
    const redisOpened = await redisStats(client);
    const opening = {
      opened_ms: openedMs,
      start_ms: scheduler.startMs,
      scheduler_cpu_ms: await scheduler.cpuMs(),
      scheduler_rss_mb: await scheduler.memoryMb(),
      redis_cpu_ms: Math.round(redisOpened.cpuMs - redisBefore.cpuMs),
    };
    const crowd = await Promise.all(Array.from({ length: size }, () => house.start('worker', '--concurrency', '16')));
    const drained = Date.now();
    const ended = () => crowd.reduce((sum, { said }) => sum + (said.get('Run ended') ?? 0), 0);
    const memory = [];
    let keysMost = 0;
    while (ended() < runs) {
      await new Promise((resolve) => setTimeout(resolve, 500));
      if (ended() > (memory.length + 1) * 0.1 * runs) {
        memory.push(Math.max(...(await Promise.all(crowd.map(({ memoryMb }) => memoryMb())))));
      }
      keysMost = Math.max(keysMost, await client.dbsize());
    }
    const ms = Date.now() - drained;
    const cpu = (await Promise.all(crowd.map(({ cpuMs }) => cpuMs()))).reduce((sum, one) => sum + one, 0);
    // Calls of each key: its catalog and one per report. The first window allows `calls` of them at once.
    const floorMs = Math.ceil((EACH + 1 - calls) / calls) * window;
    report({
      name: `${runs} slots of ${keys} keys, ${size === 1 ? 'one worker' : `${size} workers`}`,
      ...opening,
      ms,
      floor_ms: floorMs,
      cpu_ms_per_run: rounded(cpu / runs, 1),
      rss_mb_tenth: memory[0],
      rss_mb_most: Math.max(...memory),
      rss_growth: rounded(Math.max(...memory) / memory[1], 2),
      redis_keys_per_run: rounded((await client.dbsize()) / runs, 2),
      redis_keys_most: keysMost,
      redis_keys_before: definitions,
      redis_bytes_per_run: Math.round(((await redisStats(client)).bytes - bytes) / runs),
      throttled: service.throttled(),
      missing: runs - ended(),
      limit: {
        opened_ms: runs < 10_000 ? null : OPENED_MS,
        ms: runs < 10_000 ? null : (DRAINED_MS.get(size) ?? null),
        throttled: 0,
        missing: 0,
        rss_growth: 1.5,
        redis_keys_per_run: 8,
      },
    });
    await Promise.all([scheduler, ...crowd].map((one) => one.close()));
  } finally {
    client.disconnect();
    await house.close();
    await service.close();
    await redis.close();
  }
}
