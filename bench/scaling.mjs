// What a process of each role costs, for docs/scaling.md: CPU, memory and Redis a run of a small report; CPU and memory
// of a scheduler with many reports, at start and while nothing is due. CPU and not time, because it says how much one
// core bears whatever else the machine does.
//
//   npm run build && node bench/scaling.mjs [--quick] [--runs 500] [--reports 10000] [--idle 120]
import { Redis } from 'ioredis';
import { manyOrgs } from './support/many-orgs.mjs';
import { readOptions } from './support/options.mjs';
import { privateRedis } from './support/redis.mjs';
import { reportOf, rounded } from './support/report.mjs';
import { tinyService } from './support/tiny-service.mjs';

const { runs, reports, idle } = readOptions(
  { runs: 500, reports: 10_000, idle: 120 },
  { runs: 100, reports: 500, idle: 65 },
);
const report = reportOf('scaling');
const infoOf = (client) => async (section, field) =>
  Number(new RegExp(`^${field}:(.*?)\\r?$`, 'm').exec(await client.info(section))?.[1]);
const commandsOf = async (client) =>
  [...(await client.info('commandstats')).matchAll(/calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0);

async function worker() {
  const redis = await privateRedis();
  const client = new Redis(redis.url);
  const info = infoOf(client);
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
    const bytes = await info('memory', 'used_memory');
    const scheduler = await house.start('scheduler');
    await scheduler.times('Run opened', runs);
    await scheduler.close();
    const process = await house.start('worker', '--concurrency', '8');
    await process.times('Run ended', runs / 10);
    // The first tenth warms up: modules, threads, compiled code.
    const [began, cpu, commands] = [Date.now(), await process.cpuMs(), await commandsOf(client)];
    const redisCpu = await info('cpu', 'used_cpu_user');
    const counted = process.said.get('Run ended');
    await process.times('Run ended', runs);
    const rest = runs - counted;
    const cpuMs = ((await process.cpuMs()) - cpu) / rest;
    report({
      name: `a worker, ${runs} small reports`,
      cpu_ms_per_run: rounded(cpuMs, 1),
      runs_per_second_and_core: rounded(1000 / cpuMs, 1),
      runs_per_second_here: rounded((rest * 1000) / (Date.now() - began), 1),
      rss_mb: await process.memoryMb(),
      redis_commands_per_run: rounded(((await commandsOf(client)) - commands) / rest, 1),
      redis_cpu_ms_per_run: rounded((((await info('cpu', 'used_cpu_user')) - redisCpu) * 1000) / rest, 2),
      redis_bytes_per_run: Math.round(((await info('memory', 'used_memory')) - bytes) / runs),
    });
    await process.close();
  } finally {
    client.disconnect();
    await house.close();
    await service.close();
    await redis.close();
  }
}

async function scheduler() {
  const redis = await privateRedis();
  const client = new Redis(redis.url);
  const info = infoOf(client);
  const house = await manyOrgs({
    redisUrl: redis.url,
    apiUrl: 'http://127.0.0.1:1',
    orgs: reports / 100,
    reports: 100,
    report: { schedule: { cron: '0 3 1 1 *', timezone: 'UTC' } },
  });
  try {
    const bytes = await info('memory', 'used_memory');
    const first = await house.start('scheduler');
    const [firstCpu, after] = [await first.cpuMs(), await info('memory', 'used_memory')];
    await first.close();
    const second = await house.start('scheduler');
    const began = await second.cpuMs();
    const commands = await commandsOf(client);
    await new Promise((resolve) => setTimeout(resolve, idle * 1000));
    report({
      name: `a scheduler, ${reports} reports`,
      first_start_ms: first.startMs,
      first_start_cpu_ms: firstCpu,
      next_start_ms: second.startMs,
      next_start_cpu_ms: began,
      idle_cpu_ms_per_minute: Math.round((((await second.cpuMs()) - began) * 60) / idle),
      idle_redis_commands_per_minute: Math.round((((await commandsOf(client)) - commands) * 60) / idle),
      rss_mb: await second.memoryMb(),
      redis_bytes_per_report: Math.round((after - bytes) / reports),
    });
    await second.close();
  } finally {
    client.disconnect();
    await house.close();
    await redis.close();
  }
}

await worker();
await scheduler();
