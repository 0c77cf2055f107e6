// Measures what a whole run costs a worker, apart from the service, rendering, sealing and the target: how often it
// waits for Redis and for what, and processor time of the main thread. A small report (a section, a call, a CSV into a
// folder or an e-mail) goes through the worker as composed, one run after the other. For comparison, the same run
// inline, without a queue or Redis, and with its ledger in memory.
//
//   npm run build && node build/modules.mjs && node bench/run-cost.mjs [--quick] [--runs 200] [--shown 0]
//
// A round trip is a turn of the event loop in which commands are sent to Redis, because commands sent together are
// awaited together. Waiting for jobs and the check for cancelled runs once per second are not counted. Only Linux
// reports the time of a thread. With OTEL_EXPORTER_OTLP_ENDPOINT in the environment, each run exports a trace; the
// limits are for runs without.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { systemClock } from '../dist-modules/base/clock.js';
import { readConfig } from '../dist-modules/base/config/config.js';
import { silentLog } from '../dist-modules/base/log.js';
import { loadDefinitions } from '../dist-modules/compose/built-in-kinds.js';
import { composeDocket } from '../dist-modules/compose/docket.js';
import { composeInline } from '../dist-modules/compose/run-ports.js';
import { openTracing } from '../dist-modules/compose/tracing/tracing.js';
import { staticDefinitions } from '../dist-modules/definitions/load/definition-source.js';
import { directoryArchive } from '../dist-modules/deliver/archive/inline-archive.js';
import { run } from '../dist-modules/run/run.js';
import { createRunOrder } from '../dist-modules/run/run-order.js';
import { memoryLedger } from './support/memory-ledger.mjs';
import { readOptions } from './support/options.mjs';
import { layOut, ONE_CALL } from './support/processes.mjs';
import { privateRedis } from './support/redis.mjs';
import { percentile, reportOf, rounded } from './support/report.mjs';
import { countRoundTrips } from './support/round-trips.mjs';

const { runs, shown } = readOptions({ runs: 200, shown: 0 }, { runs: 40 });
/** Warms up modules, threads and compiled code. The catalog is cached from the first run on. */
const WARM_UP = 20;
const report = reportOf('run-cost');
const counted = countRoundTrips();

const thread = new Worker(new URL('support/sandbox-thread.mjs', import.meta.url));
const service = await new Promise((resolve) => thread.once('message', resolve));
const sink = spawn(process.execPath, [fileURLToPath(new URL('support/mail-sink.mjs', import.meta.url))], {
  stdio: ['pipe', 'pipe', 'inherit'],
});
const { port } = JSON.parse((await createInterface({ input: sink.stdout })[Symbol.asyncIterator]().next()).value);
const redis = await privateRedis();

const DELIVERIES = {
  directory: [{ directory: { path: 'out/{{ period.from }}', overwrite: true } }],
  mail: [{ email: { to: ['a@acme.example'], subject: '{{ title }}', attach: ['csv'] } }],
};
const reports = Object.fromEntries(
  Object.entries(DELIVERIES).map(([name, deliveries]) => [name, { ...ONE_CALL, deliveries }]),
);
const settings = { recipients: { domains: ['acme.example'] }, budget: { calls: 1_000, window: 1 } };
const { folder, jobs: jobsFolder, env, close } = await layOut({ acme: { key: service.key, settings, reports } });
const jobs = await loadDefinitions(jobsFolder);
if (jobs.diagnostics.length > 0) throw new Error(JSON.stringify(jobs.diagnostics));

const tracing = await openTracing({ config: readConfig({}), env: process.env, clock: systemClock, log: silentLog });
const { trace, queueTelemetry } = tracing?.context ?? {};
const around = (more) => ({
  trace,
  queueTelemetry,
  config: readConfig({
    COMPLIANCE_API_URL: service.url,
    SMTP_URL: `smtp://127.0.0.1:${port}`,
    MAIL_FROM: 'reports@acme.example',
    ...env,
    ...more,
  }),
  env,
  clock: systemClock,
  log: silentLog,
  workingDirectory: folder,
});

/** Processor time of the main thread, ms. */
const mainMs = () => Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;

/** Each run requests another day, because requests of an earlier run would be answered without a call. */
let day = 0;
const nextDay = () => {
  day += 1;
  const at = new Date(Date.UTC(2026, 9, 1) - day * 86_400_000).toISOString().slice(0, 10);
  return { from: at, to: at };
};

/**
 * Main thread's time by stage. Each is the median of all runs since `clear`, so that a stall of the machine in one run
 * hardly counts.
 */
function stages() {
  let last = mainMs();
  const took = new Map();
  const median = (stage) => percentile(took.get(stage) ?? [0], 0.5);
  return {
    begin: () => {
      last = mainMs();
    },
    mark: (stage) => {
      const now = mainMs();
      took.set(stage, [...(took.get(stage) ?? []), now - last]);
      last = now;
    },
    perRun: () => Object.fromEntries([...took.keys()].map((stage) => [stage, rounded(median(stage), 2)])),
    sum: (...names) => names.reduce((all, name) => all + median(name), 0),
    clear: () => took.clear(),
  };
}

/** @type {(name: string) => import('../dist-modules/services/runs/trigger-run.js').TriggerRequest} */
const requestOf = (name) => ({
  definition: jobs.reports.get(`acme/${name}`),
  settings: jobs.orgs.get('acme'),
  slot: { trigger: crypto.randomUUID() },
  trigger: 'on_demand',
  priority: 'on_demand',
  period: nextDay(),
  deliver: true,
  again: true,
});

/** All runs are queued first, as after a night's slots, and then executed one after the other. */
async function underWorker(name) {
  const line = await composeDocket(around({ REDIS_URL: redis.url }), {
    jobs: staticDefinitions(jobs),
    roles: new Set(),
  });
  for (let n = 0; n < WARM_UP + runs; n += 1) await line.store.trigger(requestOf(name));
  await line.close();
  const taking = stages();
  let ended = 0;
  let begun;
  let docket;
  const all = new Promise((resolve, reject) => {
    /** @type {import('../dist-modules/compose/worker.js').WorkerSettings['observe']} */
    const observe = (_, event) => {
      if (event.type === 'timed') taking.mark(event.stage);
      if (event.type !== 'finished') return;
      if (event.state !== 'done')
        return reject(new Error(`a run ended ${event.state}: ${JSON.stringify(event.error)}`));
      taking.mark('end');
      ended += 1;
      if (ended === WARM_UP) {
        taking.clear();
        counted.sent.clear();
        begun = { trips: counted.trips(), commands: counted.commands() };
      }
      if (ended === WARM_UP + runs) {
        resolve({ trips: counted.trips() - begun.trips, commands: counted.commands() - begun.commands });
      }
    };
    composeDocket(around({ REDIS_URL: redis.url }), {
      jobs: staticDefinitions(jobs),
      roles: new Set(['worker']),
      concurrency: 1,
      observe,
    }).then((opened) => {
      docket = opened;
    }, reject);
  });
  const { trips, commands } = await all;
  const sent = [...counted.sent].sort((one, other) => other[1] - one[1]);
  if (shown) for (const [what, times] of sent) console.error(rounded(times / runs, 2), what);
  const bull = sent.reduce((sum, [what, times]) => (what.includes(':bull:') ? sum + times : sum), 0);
  await docket.close();
  return {
    round_trips: rounded(trips / runs, 1),
    commands: rounded(commands / runs, 1),
    of_bullmq: rounded(bull / runs, 1),
    taking,
  };
}

async function inline(name) {
  const taking = stages();
  const archive = directoryArchive(join(folder, 'inline'));
  const opened = await composeInline(around({}), archive);
  const ledger = memoryLedger();
  const { definition, settings } = requestOf(name);
  /** @type {import('../dist-modules/run/run-events.js').OnRunEvent} */
  const observe = (event) => {
    if (event.type === 'timed') taking.mark(event.stage);
  };
  const once = async () => {
    const ports = { ...(await opened.buildRunPorts(settings)), ledger };
    const order = createRunOrder({
      ...requestOf(name),
      slot: `trigger:${crypto.randomUUID()}`,
      at: Date.now(),
      now: Date.now(),
    });
    taking.begin();
    const signal = new AbortController().signal;
    const outcome = await run(order, { definition, settings, signal, observe, lastAttempt: true }, ports);
    taking.mark('end');
    if (outcome.kind !== 'done') throw new Error(JSON.stringify(outcome));
  };
  for (let n = 0; n < WARM_UP; n += 1) await once();
  taking.clear();
  for (let n = 0; n < runs; n += 1) await once();
  await opened.scope.close();
  return taking;
}

try {
  for (const name of Object.keys(DELIVERIES)) {
    const bare = await inline(name);
    const { taking, ...figures } = await underWorker(name);
    // Stages that the inline run lacks or does differently. Planning is Docket's own work in both.
    const others = ['fetch', 'render', 'seal', 'deliver', 'end'];
    const all = taking.sum('plan', ...others);
    report({
      name: `a whole run, ${name}`,
      ...figures,
      own_cpu_ms: rounded(all - bare.sum(...others), 2),
      main_thread_ms: rounded(all, 2),
      by_stage: taking.perRun(),
      inline_by_stage: bare.perRun(),
      ...(tracing === undefined ? { limit: { round_trips: 10, own_cpu_ms: 3 } } : { traced: true, limit: {} }),
    });
  }
} finally {
  await tracing?.close();
  sink.kill();
  await thread.terminate();
  await redis.close();
  await close();
}
