// Measures the cost of a process of each role, for docs/internals/scaling.md: CPU, memory and Redis per run of a small
// report; CPU and memory of a scheduler with many reports, at start (from 10 reports on) and while nothing is due. It
// measures CPU instead of time, because CPU shows what one core can serve, whatever else the machine does.
//
//   npm run build && node build/modules.mjs && node bench/scaling.mjs [--quick] [--runs 500] [--reports 100000] [--idle 120]
import { Redis } from 'ioredis';
import { manyOrgs } from './support/many-orgs.mjs';
import { readOptions } from './support/options.mjs';
import { privateRedis } from './support/redis.mjs';
import { redisStats } from './support/redis-stats.mjs';
import { reportGrowth, reportOf, rounded, sizesTo } from './support/report.mjs';
import { tinyService } from './support/tiny-service.mjs';

const { runs, reports, idle } = readOptions(
  { runs: 500, reports: 100_000, idle: 120 },
  { runs: 100, reports: 1_000, idle: 65 },
);
/** Limits of a start by number of reports: all of them new, or all unchanged. */
const LIMITS = new Map([
  [1_000, { first_start_cpu_ms: 5_000, next_start_cpu_ms: 1_000, rss_mb: 400 }],
  [10_000, { first_start_cpu_ms: 5_000, next_start_cpu_ms: 1_000, rss_mb: 400 }],
  [100_000, { first_start_ms: 60_000, first_rss_mb: 400, rss_mb: 400 }],
]);
const report = reportOf('scaling');

async function worker() {
  const redis = await privateRedis();
  const client = new Redis(redis.url);
  const service = await tinyService({ calls: 10_000, windowMs: 1_000 });
  const house = await manyOrgs({
    redisUrl: redis.url,
    apiUrl: service.url,
    orgs: runs / 10,
    reports: 10,
    budget: { calls: 10_000, window: 1 },
    report: { schedule: { cron: '0 0 * * *', timezone: 'UTC' } },
  });
  try {
    await (await house.start('scheduler')).close();
    const midnight = new Date().setUTCHours(0, 0, 0, 0);
    for (const cursor of await client.hkeys('{docket}:cursors')) {
      await client.hset('{docket}:cursors', cursor, midnight - 60_000);
    }
    const { bytes } = await redisStats(client);
    const scheduler = await house.start('scheduler');
    await scheduler.times('Run opened', runs);
    await scheduler.close();
    const process = await house.start('worker', '--concurrency', '8');
    await process.times('Run ended', runs / 10);
    // The first tenth warms up modules, threads and compiled code.
    const [began, cpu, before] = [Date.now(), await process.cpuMs(), await redisStats(client)];
    const counted = process.said.get('Run ended');
    await process.times('Run ended', runs);
    const rest = runs - counted;
    const cpuMs = ((await process.cpuMs()) - cpu) / rest;
    const after = await redisStats(client);
    report({
      name: `a worker, ${runs} small reports`,
      cpu_ms_per_run: rounded(cpuMs, 1),
      runs_per_second_and_core: rounded(1000 / cpuMs, 1),
      runs_per_second_here: rounded((rest * 1000) / (Date.now() - began), 1),
      rss_mb: await process.memoryMb(),
      redis_commands_per_run: rounded((after.commands - before.commands) / rest, 1),
      redis_cpu_ms_per_run: rounded((after.cpuMs - before.cpuMs) / rest, 2),
      redis_bytes_per_run: Math.round((after.bytes - bytes) / runs),
    });
    await process.close();
  } finally {
    client.disconnect();
    await house.close();
    await service.close();
    await redis.close();
  }
}

/** A scheduler that starts with `count` new definitions, and then one that finds them active. */
async function scheduler(count, idleSeconds) {
  const redis = await privateRedis();
  const client = new Redis(redis.url);
  const house = await manyOrgs({
    redisUrl: redis.url,
    apiUrl: 'http://127.0.0.1:1',
    orgs: Math.ceil(count / 100),
    reports: Math.min(count, 100),
    report: { schedule: { cron: '0 3 1 1 *', timezone: 'UTC' } },
  });
  try {
    const { bytes } = await redisStats(client);
    const first = await house.start('scheduler');
    const [firstCpu, firstMb, after] = [await first.cpuMs(), await first.memoryMb(), await redisStats(client)];
    await first.close();
    const second = await house.start('scheduler');
    const began = await second.cpuMs();
    const idled = idleSeconds === 0 ? {} : await idleCost(second, client, idleSeconds);
    const figures = {
      first_start_ms: first.startMs,
      first_start_cpu_ms: firstCpu,
      first_rss_mb: firstMb,
      next_start_ms: second.startMs,
      next_start_cpu_ms: began,
      ...idled,
      rss_mb: await second.memoryMb(),
      redis_bytes_per_report: Math.round((after.bytes - bytes) / count),
    };
    await second.close();
    return figures;
  } finally {
    client.disconnect();
    await house.close();
    await redis.close();
  }
}

/** The cost of a process while nothing is due. */
async function idleCost(process, client, seconds) {
  const [cpuMs, { commands }] = [await process.cpuMs(), await redisStats(client)];
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  return {
    idle_cpu_ms_per_minute: Math.round((((await process.cpuMs()) - cpuMs) * 60) / seconds),
    idle_redis_commands_per_minute: Math.round((((await redisStats(client)).commands - commands) * 60) / seconds),
  };
}

await worker();
const starts = [];
for (const n of sizesTo(reports)) {
  // Idle cost does not matter for few reports, so it is only measured once.
  const figures = await scheduler(n, n * 10 > reports ? idle : 0);
  starts.push({ n, ...figures });
  if (n * 100 > reports) report({ name: `a scheduler, ${n} reports`, ...figures, limit: LIMITS.get(n) ?? {} });
}
for (const { name, unit, figure, most } of [
  { name: 'start a scheduler, all definitions new', unit: 'ms of processor', figure: 'first_start_cpu_ms', most: 1.1 },
  { name: 'memory of a scheduler', unit: 'MB', figure: 'rss_mb', most: 1 },
]) {
  const points = starts.map((figures) => ({ n: figures.n, cost: figures[figure] }));
  reportGrowth(report, { name, by: 'reports', unit, points, most });
}
