// Measures list exports as a worker stores them: one of a million profiles, and five long ones of one organization at
// once. Pages are stored in Redis up to the limits of the run and the organization, rows in a file. A function stands
// in for the service, because only Redis and the process are measured. Limits: 32 MiB per run and 128 MiB per
// organization, plus the overhead of Redis.
//
//   npm run build && node build/modules.mjs && node bench/lists.mjs [--quick] [--records 1000000] [--runs 5] [--each 600000]
import { createHash } from 'node:crypto';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { systemClock } from '../dist-modules/base/clock.js';
import { redisResponseStore } from '../dist-modules/fetch/cache/redis-response-store.js';
import { storeUntilFull } from '../dist-modules/fetch/cache/response-store.js';
import { fetchList } from '../dist-modules/fetch/fetch-list.js';
import { redisBudget } from '../dist-modules/fetch/rate-limit/redis-budget.js';
import { costOf } from './support/cost.mjs';
import { readOptions } from './support/options.mjs';
import { privateRedis } from './support/redis.mjs';
import { redisStats } from './support/redis-stats.mjs';
import { reportOf, rounded } from './support/report.mjs';

const { records, runs, each } = readOptions(
  { records: 1_000_000, runs: 5, each: 600_000 },
  { records: 60_000, runs: 2, each: 30_000 },
);
const PAGE_SIZE = 100;
const MIB = 1_048_576;
/** The storage limits, plus one eighth for the overhead of Redis. */
const RUN_MB = 32 * 1.125;
const ORG_MB = 128 * 1.125;
/** Limit for a process that holds the ids of a million records, to find duplicates. */
const RSS_MB = 400;

/** A page of profiles that compress no better than real names and addresses. */
function pageOf(number, count) {
  const from = (number - 1) * PAGE_SIZE;
  const page = Array.from({ length: Math.min(PAGE_SIZE, count - from) }, (_, index) => {
    const noise = createHash('sha256')
      .update(`${from + index}`)
      .digest('hex');
    const [name, street] = [noise.slice(0, 12), noise.slice(12, 24)];
    return {
      id: from + index + 1,
      name,
      email: `${name}@example.com`,
      street,
      city: noise.slice(24, 40),
      group: `group-${index % 8}`,
      active: true,
    };
  });
  return { count, next: from + PAGE_SIZE < count ? `page=${number + 1}` : null, records: page };
}

/** Exports one list of `count` records of the organization. */
async function exportList({ redis, budget, folder, run, count }) {
  let refused = 0;
  const { responses } = storeUntilFull({
    responses: redisResponseStore(redis, { prefix: '{bench}', org: 'acme' }),
    maxWaitMs: Number.POSITIVE_INFINITY,
    observe: () => {
      refused += 1;
    },
  });
  const client = { listPage: async (_, next) => pageOf(next === null ? 1 : Number(next.slice(5)), count) };
  const { signal } = new AbortController();
  const rateLimit = {
    budget,
    clock: systemClock,
    key: 'key',
    org: 'acme',
    priority: /** @type {const} */ ('scheduled'),
    maxWaitMs: Number.POSITIVE_INFINITY,
    requestTimeoutMs: 30_000,
  };
  const outcome = await fetchList(
    { client: /** @type {any} */ (client), responses, run, rateLimit, folder },
    /** @type {any} */ ({ id: run, list: 'profiles' }),
    7,
    { onWait: () => {}, signal },
  );
  if (outcome.kind !== 'done') throw new Error(JSON.stringify(outcome));
  return { ...outcome.value, refused };
}

const report = reportOf('lists');
async function measure(name, { lists, count, redisMb }) {
  const server = await privateRedis();
  const redis = new Redis(server.url);
  const folder = await mkdtemp(join(tmpdir(), 'docket-lists-'));
  try {
    const budget = redisBudget(redis, { prefix: 'bench:', calls: 600, windowMs: 200 });
    const before = await redisStats(redis);
    let most = { rss: 0, bytes: 0 };
    const watch = setInterval(async () => {
      const { bytes } = await redisStats(redis);
      most = { rss: Math.max(most.rss, process.memoryUsage().rss), bytes: Math.max(most.bytes, bytes) };
    }, 200);
    let fetched = [];
    const { cpuMs, ms, commands } = await costOf(async () => {
      const order = (_, index) => exportList({ redis, budget, folder, run: `run-${index}`, count });
      fetched = await Promise.all(Array.from({ length: lists }, order));
    }, redis);
    clearInterval(watch);
    const pages = fetched.reduce((sum, list) => sum + list.pages, 0);
    const sizes = await Promise.all(fetched.map(async ({ rows }) => (await stat(rows.path)).size));
    report({
      name,
      ms,
      cpu_ms_per_page: rounded(cpuMs / pages, 2),
      commands_per_page: rounded(commands / pages, 1),
      pages,
      missing: lists * count - fetched.reduce((sum, { rows }) => sum + rows.length, 0),
      redis_mb: rounded((most.bytes - before.bytes) / MIB, 1),
      file_mb: rounded(sizes.reduce((sum, size) => sum + size, 0) / MIB, 1),
      rss_mb: Math.round(most.rss / MIB),
      lists_not_kept_whole: fetched.filter(({ refused }) => refused > 0).length,
      limit: { missing: 0, redis_mb: redisMb, rss_mb: RSS_MB },
    });
  } finally {
    redis.disconnect();
    await server.close();
    await rm(folder, { recursive: true });
  }
}

await measure(`a list of ${records} profiles`, { lists: 1, count: records, redisMb: RUN_MB });
await measure(`${runs} lists of ${each} of one organization`, { lists: runs, count: each, redisMb: ORG_MB });
