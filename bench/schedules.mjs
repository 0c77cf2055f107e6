// Measures the activation of definitions and their registration with BullMQ, and the cost of the check every minute
// while nothing changes: with a few timetables that all reports share, and with a timetable for each report. Ten
// thousand of them are compared with bare BullMQ, where each report has a job scheduler and a starting process upserts
// them all; smaller sizes show how the cost grows. Finally, as many slots of one minute, of a thousand organizations,
// are opened in this process: definition, record, place in the line, job, cursor. The peer is a bare BullMQ that adds
// as many jobs with a priority in bulk, without records.
//
//   npm run build && node build/modules.mjs && node bench/schedules.mjs [--quick] [--reports 10000]
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { reportSlotFinder } from '../dist-modules/admin/access/report-slots.js';
import { systemClock } from '../dist-modules/base/clock.js';
import { silentLog } from '../dist-modules/base/log.js';
import { reportFileSchema } from '../dist-modules/compose/built-in-kinds.js';
import { NO_LAST_KNOWN_GOOD } from '../dist-modules/definitions/load/last-known-good.js';
import { orgFileSchema } from '../dist-modules/definitions/schema/org-settings.js';
import { TARGETS } from '../dist-modules/deliver/targets/registry.js';
import { createActiveReports, freezeReports } from '../dist-modules/queue/definitions/active-reports.js';
import { redisActiveVersions } from '../dist-modules/queue/definitions/active-versions.js';
import { definitionStore } from '../dist-modules/queue/definitions/definition-store.js';
import { runQueue } from '../dist-modules/queue/jobs/run-queue.js';
import { redisRunStore } from '../dist-modules/queue/runs/run-store.js';
import { createDueSlotCache } from '../dist-modules/queue/schedules/due-slots.js';
import { jobSchedulers } from '../dist-modules/queue/schedules/job-schedulers.js';
import { openDueSlots } from '../dist-modules/queue/schedules/open-due-slots.js';
import { cursorNames } from '../dist-modules/queue/schedules/report-schedules.js';
import { redisScheduleCursors } from '../dist-modules/queue/schedules/schedule-cursors.js';
import { openRedis } from '../dist-modules/redis/connection.js';
import { triggerRun } from '../dist-modules/services/runs/trigger-run.js';
import { costOf } from './support/cost.mjs';
import { readOptions } from './support/options.mjs';
import { privateRedis } from './support/redis.mjs';
import { redisStats } from './support/redis-stats.mjs';
import { reportGrowth, reportOf, rounded, sizesTo } from './support/report.mjs';

const { reports: most } = readOptions({ reports: 10_000 }, { reports: 1_000 });
const PREFIX = '{bench}';
/**
 * Limits: ms to activate all reports and start the shared timetables, and commands of a check that finds nothing new.
 */
const REGISTER_MS = 5_000;
const QUIET_COMMANDS = 5;
/**
 * Limits per opened slot: ms, and ms of processor time of this process. Ten thousand slots take at most ten seconds.
 */
const SLOT_MS = 1;
const SLOT_CPU_MS = 0.6;
/** Organizations with slots to open. */
const ORGS = 1_000;
/** Simultaneous registrations of the peer, as many as Docket's. */
const BATCH_SIZE = 200;

const settings = (id) => ({
  ...orgFileSchema.parse({ org: 7, api_key: { env: 'KEY' }, timezone: 'Europe/Zurich', recipients: {} }),
  id,
});

/** @type {(count: number, cronOf: (n: number) => string, organizations?: number) => import('../dist-modules/definitions/load/load-definitions.js').Definitions} */
function jobsOf(count, cronOf, organizations = 100) {
  const orgs = new Map();
  const reports = new Map();
  for (let n = 0; n < count; n += 1) {
    const org = `org${n % organizations}`;
    if (!orgs.has(org)) orgs.set(org, settings(org));
    const file = reportFileSchema.parse({
      version: 1,
      title: `Report ${n}`,
      owner: 'ops@acme.example',
      schedule: { cron: cronOf(n) },
      period: 'previous_week',
      sections: [{ id: 'onboarding', metrics: ['profiles.created'] }],
      outputs: [{ format: 'csv' }],
    });
    reports.set(`${org}/r${n}`, { ...file, org, report: `r${n}`, digest: n.toString(16).padStart(64, '0') });
  }
  return {
    folder: 'jobs',
    orgs,
    reports,
    sources: new Map(),
    targetSources: new Map(),
    diagnostics: [],
    warnings: [],
    usingLastKnownGood: new Set(),
    lastKnownGood: NO_LAST_KNOWN_GOOD,
  };
}

/** @type {[name: string, cronOf: (n: number) => string, shared: boolean][]} */
const CASES = [
  ['20 timetables', (n) => `${n % 20} 8 * * MON`, true],
  ['a timetable each', (n) => `${n % 60} ${Math.floor(n / 60) % 24} ${1 + (Math.floor(n / 1440) % 28)} * *`, false],
];

/** Measures each step in the order in which a process performs it. */
async function ours(count, cronOf) {
  const server = await privateRedis();
  // Not a producer's client, which allows a busy machine only two seconds.
  const redis = await openRedis(server.url, 'worker', silentLog);
  try {
    const jobs = jobsOf(count, cronOf);
    const inForce = createActiveReports({
      targets: TARGETS,
      jobs: () => jobs,
      versions: redisActiveVersions(redis, { prefix: PREFIX }),
      definitions: definitionStore(redis, { prefix: PREFIX, keepDays: 90, reportSchema: reportFileSchema }),
      by: 'bench:1',
      clock: systemClock,
      log: silentLog,
    });
    const registered = jobSchedulers(redis, { prefix: PREFIX, clock: systemClock, log: silentLog });
    const ports = {
      cursors: redisScheduleCursors(redis, { prefix: PREFIX }),
      trigger: () => Promise.reject(new Error('nothing is due here')),
      runs: redisRunStore(redis, { prefix: PREFIX, keepDays: 40 }),
      clock: systemClock,
      log: silentLog,
    };
    const memory = createDueSlotCache();
    const look = async () => {
      await inForce.refresh();
      await openDueSlots(inForce.current(), ports, memory);
      await registered.sync(inForce.current());
    };
    const { bytes } = await redisStats(redis);
    const inForceCost = await costOf(() => inForce.activate(), redis);
    const ticking = await costOf(() => registered.sync(inForce.current()), redis);
    const first = await costOf(look, redis);
    const quiet = await costOf(look, redis);
    const restart = await costOf(async () => {
      await inForce.activate();
      await registered.sync(inForce.current());
    }, redis);
    const find = reportSlotFinder();
    const span = { from: systemClock.now(), limit: 200 };
    const slots = await costOf(() => find(jobs, () => true, span));
    const held = (await redisStats(redis)).bytes - bytes;
    await registered.close();
    return { inForceCost, ticking, first, quiet, restart, slots, bytes: held };
  } finally {
    redis.disconnect();
    await server.close();
  }
}

/** Registers a job scheduler per report. A starting process cannot know which of them exist unchanged. */
async function bullmq(count, cronOf) {
  const server = await privateRedis();
  const redis = new Redis(server.url, { maxRetriesPerRequest: null });
  const queue = new Queue('reports', { connection: redis });
  try {
    const { bytes } = await redisStats(redis);
    const all = async () => {
      for (let from = 0; from < count; from += BATCH_SIZE) {
        const ids = Array.from({ length: Math.min(BATCH_SIZE, count - from) }, (_, index) => from + index);
        await Promise.all(
          ids.map((n) =>
            queue.upsertJobScheduler(
              `r${n}`,
              { pattern: cronOf(n), tz: 'Europe/Zurich' },
              { name: 'run', data: { n } },
            ),
          ),
        );
      }
    };
    const ticking = await costOf(all, redis);
    const restart = await costOf(all, redis);
    return { ticking, restart, bytes: (await redisStats(redis)).bytes - bytes };
  } finally {
    await queue.close();
    redis.disconnect();
    await server.close();
  }
}

/** Opens, in one check, slots that came due within a day, all in the same minute. */
async function opening(count) {
  const server = await privateRedis();
  const redis = await openRedis(server.url, 'worker', silentLog);
  const queue = runQueue(redis, { prefix: PREFIX });
  try {
    const reports = freezeReports(jobsOf(count, () => '0 0 * * *', ORGS));
    const cursors = redisScheduleCursors(redis, { prefix: PREFIX });
    const runs = redisRunStore(redis, { prefix: PREFIX, keepDays: 90 });
    await cursors.initialize(reports.flatMap(cursorNames), systemClock.now() - 86_400_000);
    const stores = { runs, queue, clock: systemClock, log: silentLog };
    const ports = {
      cursors,
      trigger: (request) => triggerRun(request, stores),
      runs,
      clock: systemClock,
      log: silentLog,
    };
    const own = process.cpuUsage();
    let opened = 0;
    const cost = await costOf(async () => {
      ({ opened } = await openDueSlots(reports, ports, createDueSlotCache()));
    }, redis);
    const { user, system } = process.cpuUsage(own);
    return { ...cost, ownMs: (user + system) / 1000, missing: count - opened };
  } finally {
    await queue.close();
    redis.disconnect();
    await server.close();
  }
}

/** Adds as many jobs in bulk, `BATCH_SIZE` at a time, like a producer that must not block Redis. */
async function addingInBulk(count) {
  const server = await privateRedis();
  const redis = new Redis(server.url, { maxRetriesPerRequest: null });
  const queue = new Queue('runs', { connection: redis });
  try {
    const own = process.cpuUsage();
    const cost = await costOf(async () => {
      for (let from = 0; from < count; from += BATCH_SIZE) {
        await queue.addBulk(
          Array.from({ length: Math.min(BATCH_SIZE, count - from) }, (_, index) => ({
            name: `org${(from + index) % ORGS}`,
            data: { run: from + index },
            opts: { jobId: `r${from + index}`, priority: 1 + Math.floor((from + index) / ORGS) },
          })),
        );
      }
    }, redis);
    const { user, system } = process.cpuUsage(own);
    return { ...cost, ownMs: (user + system) / 1000 };
  } finally {
    await queue.close();
    redis.disconnect();
    await server.close();
  }
}

const slotFigures = (count, { ms, ownMs, cpuMs, commands, bytes }) => ({
  opened_ms: ms,
  ms_per_slot: rounded(ms / count, 3),
  own_cpu_ms_per_slot: rounded(ownMs / count, 3),
  redis_cpu_ms_per_slot: rounded((cpuMs - ownMs) / count, 3),
  // Includes commands inside of scripts.
  commands_per_slot: rounded(commands / count, 1),
  redis_bytes_per_slot: Math.round(bytes / count),
});

const figuresOf = (count, { ticking, restart, bytes }) => ({
  ticking_ms: ticking.ms,
  ticking_commands: ticking.commands,
  restart_ms: restart.ms,
  restart_commands: restart.commands,
  redis_bytes_per_report: Math.round(bytes / count),
});

const report = reportOf('schedules');
for (const [name, cronOf, shared] of CASES) {
  const measured = [];
  for (const n of sizesTo(most)) measured.push({ n, ...(await ours(n, cronOf)) });
  const { n: count, inForceCost, first, quiet, slots, ...rest } = measured.at(-1);
  report({
    name: `${count} reports, ${name}`,
    ...figuresOf(count, rest),
    in_force_ms: inForceCost.ms,
    in_force_commands: inForceCost.commands,
    first_look_ms: first.ms,
    first_look_commands: first.commands,
    quiet_look_ms: quiet.ms,
    quiet_look_commands: quiet.commands,
    next_slots_ms: slots.ms,
    limit: {
      in_force_ms: REGISTER_MS,
      // A process does not wait until its timetables tick: it also checks every minute by itself.
      ticking_ms: shared ? REGISTER_MS : null,
      quiet_look_commands: QUIET_COMMANDS,
      restart_commands: null,
      redis_bytes_per_report: null,
    },
  });
  report({ name: `${count} reports, ${name}`, who: 'bullmq', ...figuresOf(count, await bullmq(count, cronOf)) });
  if (shared) continue;
  const grow = (step, unit, costIn) =>
    reportGrowth(report, {
      name: `${step}, ${name}`,
      by: 'reports',
      unit,
      points: measured.map((costs) => ({ n: costs.n, cost: costIn(costs) })),
    });
  const cpu = 'ms of processor, ours and Redis';
  grow('put them in force', cpu, (costs) => costs.inForceCost.cpuMs);
  grow('register them', cpu, (costs) => costs.ticking.cpuMs);
  grow('the first look', cpu, (costs) => costs.first.cpuMs);
  grow('a look, nothing changed', cpu, (costs) => costs.quiet.cpuMs);
  grow('the next 200 slots, asked for the first time', 'ms of processor', (costs) => costs.slots.cpuMs);
  grow('Redis', 'bytes', (costs) => costs.bytes);
}

const slots = [];
for (const n of sizesTo(most)) slots.push({ n, ...(await opening(n)) });
const { n: count, missing, ...opened } = slots.at(-1);
const name = `${count} slots of one minute, ${ORGS} organizations`;
report({
  name,
  ...slotFigures(count, opened),
  missing,
  limit: { ms_per_slot: SLOT_MS, own_cpu_ms_per_slot: SLOT_CPU_MS, missing: 0 },
});
report({ name, who: 'bullmq', ...slotFigures(count, await addingInBulk(count)) });
reportGrowth(report, {
  name: 'open slots of one minute',
  by: 'slots',
  unit: 'ms of processor, ours and Redis',
  points: slots.map(({ n, cpuMs }) => ({ n, cost: cpuMs })),
  most: 1.1,
});
