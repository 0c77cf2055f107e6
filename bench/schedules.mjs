// Ten thousand definitions put in force and registered with BullMQ, and what a look of every minute costs while nothing
// changes: with a few timetables that all share, and with one of its own for each report.
//
//   npm run build && node bench/schedules.mjs [--quick] [--reports 10000]
import { systemClock } from '../dist/base/clock.js';
import { silentLog } from '../dist/base/log.js';
import { reportFileSchema } from '../dist/define/definition.js';
import { NOTHING_GOOD } from '../dist/define/last-good.js';
import { orgFileSchema } from '../dist/define/org.js';
import { openRedis } from '../dist/queue/connection.js';
import { redisCursors } from '../dist/queue/cursors.js';
import { definitionStore } from '../dist/queue/definition-store.js';
import { dueMemory, openDue } from '../dist/queue/due.js';
import { reportsInForce } from '../dist/queue/in-force.js';
import { schedules } from '../dist/queue/schedules.js';
import { redisVersions } from '../dist/queue/versions.js';
import { readOptions } from './support/options.mjs';
import { privateRedis } from './support/redis.mjs';
import { reportOf } from './support/report.mjs';

const { reports: count } = readOptions({ reports: 10_000 }, { reports: 1_000 });
const PREFIX = '{bench}';
/** Goals: to put them all in force, to have the shared timetables tick, and commands of one look that finds nothing new. */
const REGISTER_MS = 5_000;
const QUIET_COMMANDS = 5;

const settings = (id) => ({
  ...orgFileSchema.parse({ org: 7, api_key: { env: 'KEY' }, timezone: 'Europe/Zurich', recipients: {} }),
  id,
});

function jobsOf(cronOf) {
  const orgs = new Map();
  const reports = new Map();
  for (let n = 0; n < count; n += 1) {
    const org = `org${n % 100}`;
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
  return { folder: 'jobs', orgs, reports, sources: new Map(), faults: [], kept: new Set(), good: NOTHING_GOOD };
}

const CASES = [
  ['20 timetables', (n) => `${n % 20} 8 * * MON`, true],
  ['a timetable each', (n) => `${n % 60} ${Math.floor(n / 60) % 24} ${1 + (Math.floor(n / 1440) % 28)} * *`, false],
];

const commandsOf = async (redis) => {
  const stats = await redis.info('commandstats');
  const calls = [...stats.matchAll(/^cmdstat_([^:|]+):calls=(\d+)/gm)];
  return calls.filter(([, name]) => name !== 'info').reduce((sum, [, , n]) => sum + Number(n), 0);
};

const report = reportOf('schedules');
for (const [name, cronOf, shared] of CASES) {
  const server = await privateRedis();
  const redis = await openRedis(server.url, 'producer', silentLog);
  try {
    const jobs = jobsOf(cronOf);
    const inForce = reportsInForce({
      jobs: () => jobs,
      versions: redisVersions(redis, { prefix: PREFIX }),
      definitions: definitionStore(redis, { prefix: PREFIX, keepDays: 90 }),
      by: 'bench:1',
      clock: systemClock,
      log: silentLog,
    });
    const registered = schedules(redis, { prefix: PREFIX, clock: systemClock, log: silentLog });
    const ports = {
      cursors: redisCursors(redis, { prefix: PREFIX }),
      trigger: () => Promise.reject(new Error('nothing is due here')),
      runs: { skip: async () => false },
      clock: systemClock,
      log: silentLog,
    };
    const timed = async (work) => {
      const [before, began] = [await commandsOf(redis), performance.now()];
      await work();
      return { ms: Math.round(performance.now() - began), commands: (await commandsOf(redis)) - before };
    };
    const adopted = await timed(() => inForce.adopt());
    const ticking = await timed(() => registered.sync(inForce.now()));
    const memory = dueMemory();
    const look = async () => {
      await inForce.follow();
      await openDue(inForce.now(), ports, memory);
      await registered.sync(inForce.now());
    };
    const cold = await timed(look);
    const quiet = await timed(look);
    const restart = await timed(async () => {
      await inForce.adopt();
      await registered.sync(inForce.now());
    });
    const row = { name: `${count} reports, ${name}`, who: 'docket' };
    report({ ...row, in_force_ms: adopted.ms, commands: adopted.commands, limit: { in_force_ms: REGISTER_MS } });
    // A process does not wait for its timetables to tick: it looks by itself every minute.
    const limit = shared ? { ticking_ms: REGISTER_MS } : {};
    report({ ...row, ticking_ms: ticking.ms, commands: ticking.commands, limit });
    report({ ...row, first_look_ms: cold.ms, first_look_commands: cold.commands, limit: {} });
    report({
      ...row,
      quiet_look_ms: quiet.ms,
      quiet_look_commands: quiet.commands,
      limit: { quiet_look_commands: QUIET_COMMANDS },
    });
    report({ ...row, restart_ms: restart.ms, restart_commands: restart.commands, limit: {} });
    await registered.close();
  } finally {
    redis.disconnect();
    await server.close();
  }
}
