// Measures searches and filtered lists over HTTP with many runs on record: `docket start --role admin` in its own
// process, with its own Redis. One request follows the other; the limit is that of the page, 50 ms at p99. `own_ms` and
// `redis_ms` are processor time per request, which does not depend on other load on the machine.
//
//   npm run build && node build/modules.mjs && node bench/search.mjs [--quick] [--runs 100000] [--requests 100]
//
// Each run has three deliveries: to one of a hundred addresses of its organization, to the address that gets
// everything, and to a second address, or for every third run to a file location of its own. One run in fifty has
// failed. First it measures the cost of the indexes: bytes (MEMORY USAGE) per hundred thousand deliveries or runs, the
// time to rebuild all of them, and how that and the memory of Redis grow with the runs on record.
import { loadavg } from 'node:os';
import { performance } from 'node:perf_hooks';
import { sha256 } from '../dist-modules/base/sha256.js';
import { deliveryId } from '../dist-modules/deliver/ledger/ledger.js';
import { redisLedger } from '../dist-modules/deliver/ledger/redis-ledger.js';
import { redisRunStore } from '../dist-modules/queue/runs/run-store.js';
import { redisSearchIndex } from '../dist-modules/queue/runs/search-index.js';
import { openRedis } from '../dist-modules/redis/connection.js';
import { DEFAULT_KEY_PREFIX, RETENTION_DAYS, redisKeys } from '../dist-modules/redis/keys.js';
import { startDocket } from './support/deployment.mjs';
import { readOptions } from './support/options.mjs';
import { privateRedis } from './support/redis.mjs';
import { redisStats } from './support/redis-stats.mjs';
import { percentile, reportGrowth, reportOf, rounded, sizesTo } from './support/report.mjs';

const { runs, requests } = readOptions({ runs: 100_000, requests: 100 }, { runs: 5_000, requests: 20 });
const ORGS = Array.from({ length: 20 }, (_, index) => `org${index}`);
const REPORTS = Array.from(
  { length: 25 },
  (_, index) => `${['weekly', 'board', 'alerts', 'ageing', 'kpi'][index % 5]}-${index}`,
);
const DAY_MS = 86_400_000;
const SPAN_DAYS = 85;
const prefix = DEFAULT_KEY_PREFIX;
const log = { debug() {}, info() {}, warn() {}, error() {} };
const report = reportOf('search');

const dayOf = (ms) => new Date(ms).toISOString().slice(0, 10);

/** Stores one run with its deliveries. */
async function write(index, { store, ledger, start, runs }) {
  const org = ORGS[index % ORGS.length];
  const name = REPORTS[Math.floor(index / ORGS.length) % REPORTS.length];
  const createdAt = Math.round(start + (index / runs) * SPAN_DAYS * DAY_MS);
  const id = sha256(`run ${index}`).slice(0, 32);
  const monthly = name.startsWith('board');
  const last = dayOf(createdAt - DAY_MS);
  const from = monthly ? `${last.slice(0, 7)}-01` : last;
  const period = { from, to: last, timezone: 'Europe/Zurich', label: monthly ? last.slice(0, 7) : last };
  const slot = new Date(createdAt).toISOString();
  const digest = sha256(name);
  const kind = { trigger: 'schedule', priority: 'scheduled', deliver: true };
  await store.open({ id, org, report: name, slot, ...kind, period, digest, createdAt });
  const failed = index % 50 === 0;
  const error = failed ? { code: index % 100 === 0 ? 'api.timeout' : 'deliver.target_failed', message: 'No.' } : null;
  await store.update(id, { state: failed ? 'failed' : 'done', startedAt: createdAt, finishedAt: createdAt + 1, error });
  const person = (nth) => `person${(Math.floor(index / ORGS.length) * 7 + nth * 31) % 100}@${org}.example`;
  const place = `s3://reports/${org}/${name}/${period.label}/${index}/`;
  const recipients = [person(0), `archive@${org}.example`, index % 3 === 0 ? place : person(1)];
  for (const [nth, recipient] of recipients.entries()) {
    const target = recipient === place ? '2-s3' : '0-email';
    const row = { id: deliveryId(id, target, recipient), run: id, org, report: name, target, recipient };
    await ledger.open(row, createdAt + nth, { state: 'sent', epoch: 1, detail: '250 2.0.0 Ok: queued as 4F1C209A' });
  }
}

/** Bytes of the matching keys, as Redis counts them. */
async function bytesOf(redis, ...patterns) {
  let bytes = 0;
  let keys = 0;
  for (const pattern of patterns) {
    let cursor = '0';
    do {
      const [next, found] = await redis.scan(cursor, 'MATCH', pattern.replace(/[{}]/g, '?'), 'COUNT', 5_000);
      cursor = next;
      keys += found.length;
      const sizes = await Promise.all(found.map((key) => redis.memory('USAGE', key, 'SAMPLES', 0)));
      bytes += sizes.reduce((sum, size) => sum + (size ?? 0), 0);
    } while (cursor !== '0');
  }
  return { bytes, keys };
}

/** Stores this many runs. Returns the start of the oldest. */
async function fill(redis, runs) {
  const store = redisRunStore(redis, { prefix, keepDays: RETENTION_DAYS });
  const ledger = redisLedger(redis, { prefix: `${prefix}:`, ttlDays: RETENTION_DAYS });
  const start = Date.now() - SPAN_DAYS * DAY_MS;
  let next = 0;
  const writer = async () => {
    while (next < runs) await write(next++, { store, ledger, start, runs });
  };
  await Promise.all(Array.from({ length: 50 }, writer));
  return start;
}

/** Processor time of this process and of Redis in ms, and elapsed time in s. */
async function costOf(redis, act) {
  const [before, own, began] = [(await redisStats(redis)).cpuMs, process.cpuUsage(), performance.now()];
  await act();
  const seconds = (performance.now() - began) / 1_000;
  const { user, system } = process.cpuUsage(own);
  const redisMs = (await redisStats(redis)).cpuMs - before;
  return { seconds, redisMs, cpuMs: redisMs + (user + system) / 1_000 };
}

/** Rebuilds the indexes of all runs. */
async function rebuild(redis, index) {
  await redis.del(keys.recipients, keys.firstDays);
  return costOf(redis, () => index.repair());
}

/** Number of checks measured together, because with few runs a single one takes too little time. */
const CHECKS = 10;

/** The memory that `count` runs on record use. */
async function footprint(redis, count) {
  const index = redisSearchIndex(redis, { prefix, keepDays: RETENTION_DAYS, log });
  const { bytes } = await redisStats(redis);
  const rebuilt = await rebuild(redis, index);
  const checked = await costOf(redis, async () => {
    for (let check = 0; check < CHECKS; check += 1) await index.repair();
  });
  return { n: count, bytes, rebuilt, checkSeconds: checked.seconds / CHECKS, checkCpuMs: checked.cpuMs / CHECKS };
}

const keys = redisKeys(prefix);
const footprints = [];
for (const count of sizesTo(runs).filter((size) => size >= 1_000 && size < runs)) {
  const server = await privateRedis();
  const redis = await openRedis(server.url, 'producer', log);
  await fill(redis, count);
  footprints.push(await footprint(redis, count));
  redis.disconnect();
  await server.close();
}

const server = await privateRedis();
// Started before there are runs: Docket does not start if it finds runs without their archive.
const docket = await startDocket({
  redisUrl: server.url,
  // An admin process makes no calls to the service.
  apiUrl: 'http://127.0.0.1:9',
  keys: Object.fromEntries(ORGS.map((org, nth) => [org, `bench${nth}.key`])),
  budget: { calls: 30, window: 60 },
  role: 'admin',
});
const redis = await openRedis(server.url, 'producer', log);
try {
  const start = await fill(redis, runs);

  const per = 100_000 / runs;
  const deliveries = await bytesOf(redis, keys.recipients, keys.deliveredTo('*'));
  const periods = await bytesOf(redis, keys.firstDays, keys.beginsOn('*', '*'), keys.reports);
  report({
    name: 'index of recipients, 100,000 deliveries',
    mb: rounded((deliveries.bytes * per) / 3 / 1e6, 1),
    keys: deliveries.keys,
    limit: { mb: 20 },
  });
  report({
    name: 'indexes by period, 100,000 runs',
    mb: rounded((periods.bytes * per) / 1e6, 1),
    keys: periods.keys,
    limit: { mb: 30 },
  });

  const last = await footprint(redis, runs);
  report({
    name: 'all indexes rebuilt',
    seconds: rounded(last.rebuilt.seconds, 1),
    redis_seconds: rounded(last.rebuilt.redisMs / 1_000, 1),
    limit: { seconds: null },
  });
  report({ name: 'all runs checked', seconds: rounded(last.checkSeconds, 1), limit: { seconds: null } });
  for (const { name, unit, costOne } of [
    { name: 'memory of Redis', unit: 'MB', costOne: ({ bytes }) => bytes / 1e6 },
    { name: 'all indexes rebuilt', unit: 'ms of processor', costOne: ({ rebuilt }) => rebuilt.cpuMs },
    { name: 'all runs checked', unit: 'ms of processor', costOne: ({ checkCpuMs }) => checkCpuMs },
  ]) {
    const points = [...footprints, last].map((each) => ({ n: each.n, cost: costOne(each) }));
    reportGrowth(report, { name, by: 'runs', unit, points, most: 1.1 });
  }

  const month = dayOf(Date.now() - 35 * DAY_MS).slice(0, 7);
  const id = sha256(`run ${runs - 1}`);
  const after = sha256(`run ${Math.floor(runs / 2)}`).slice(0, 32);
  const middle = `${Math.round(start + (Math.floor(runs / 2) / runs) * SPAN_DAYS * DAY_MS)}-${after}`;
  const cases = {
    'search: report': '/api/search?q=kpi-4',
    'search: run, 4 digits': `/api/search?q=${id.slice(0, 4)}`,
    'search: run, 8 digits': `/api/search?q=${id.slice(0, 8)}`,
    'search: recipient': '/api/search?q=person17@',
    'search: recipient and month': `/api/search?q=person17@ ${month}`,
    'search: the recipient of everything, and month': `/api/search?q=archive@ ${month}`,
    'search: month': `/api/search?q=${month}`,
    'search: report and month': `/api/search?q=board ${month}`,
    'search: nothing': '/api/search?q=nobody@nowhere',
    'runs: report part': '/api/runs?match=board',
    'runs: report part, from the middle': `/api/runs?match=board&after=${middle}`,
    'runs: recipient part': '/api/runs?to=person17@',
    'runs: recipient of everything and month': `/api/runs?to=archive@org3.example&period=${month}`,
    'runs: month': `/api/runs?period=${month}`,
    'runs: month and report part': `/api/runs?period=${month}&match=ageing`,
    'runs: error part': '/api/runs?error=timeout',
    'runs: error of no run': '/api/runs?error=nothing',
    'deliveries: who got what': `/api/deliveries?to=person17@org3.example&period=${month}`,
    'one run by 8 digits': `/api/runs/${id.slice(0, 8)}`,
  };
  const ask = async (path) => {
    const began = performance.now();
    const response = await fetch(`${docket.url}${encodeURI(path)}`, { headers: docket.headers });
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`${path}: ${response.status}`);
    return performance.now() - began;
  };
  for (const [name, path] of Object.entries(cases)) {
    for (let warm = 0; warm < 5; warm += 1) await ask(path);
    const [ownBefore, redisBefore] = [await docket.cpuMs(), (await redisStats(redis)).cpuMs];
    const times = [];
    for (let nth = 0; nth < requests; nth += 1) times.push(await ask(path));
    report({
      name,
      p50_ms: rounded(percentile(times, 0.5), 1),
      p99_ms: rounded(percentile(times, 0.99), 1),
      requests,
      own_ms: rounded(((await docket.cpuMs()) - ownBefore) / requests, 1),
      redis_ms: rounded(((await redisStats(redis)).cpuMs - redisBefore) / requests, 1),
      load: rounded(loadavg()[0], 1),
      limit: { p99_ms: 50 },
    });
  }
} finally {
  await docket.close();
  redis.disconnect();
  await server.close();
}
