// Measures reports that are due in the same minute, on one key: when the last e-mail leaves after the slot, without
// `prepare` and with it. The limit is the time for rendering and mailing these runs, divided by the number of runs that
// a worker executes at once. Windows are shorter than the service's minute: 600 calls take 20 windows, so 20 minutes at
// the service.
//
//   npm run build && node build/modules.mjs && node bench/on-time.mjs [--quick] [--reports 60] [--window 2000]
import { Redis } from 'ioredis';
import { SMTPServer } from 'smtp-server';
import { freePort } from '../dist-modules/demo/local-redis.js';
import { redisRunStore } from '../dist-modules/queue/runs/run-store.js';
import { readOptions } from './support/options.mjs';
import { layOut, startProcess } from './support/processes.mjs';
import { privateRedis } from './support/redis.mjs';
import { reportOf, rounded } from './support/report.mjs';
import { tinyService } from './support/tiny-service.mjs';

const { reports, window } = readOptions({ reports: 60, window: 2_000 }, { reports: 12 });
const CALLS = 10;
const LIMIT = 30;
const CONCURRENCY = 4;
const MINUTE_MS = 60_000;
/** Preparations run every ten seconds and use two thirds of the tokens. */
const PREPARE_MINUTES = Math.ceil((reports * CALLS) / ((LIMIT * 2) / 3) / 6) + 2;

async function mailServer() {
  const taken = [];
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    logger: false,
    disableReverseLookup: true,
    onData: (stream, _session, callback) => {
      stream.resume();
      stream.on('end', () => {
        taken.push(Date.now());
        callback(null, 'Taken');
      });
    },
  });
  server.on('error', () => {});
  const listener = server.listen(0, '127.0.0.1');
  await new Promise((resolve) => listener.once('listening', () => resolve(undefined)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (listener.address());
  return {
    taken,
    url: `smtp://127.0.0.1:${port}?tls=off`,
    close: () => new Promise((done) => server.close(() => done(undefined))),
  };
}

const until = async (done) => {
  while (!done()) await new Promise((resolve) => setTimeout(resolve, 20));
};

/** @param {number | undefined} prepare minutes */
async function measure(prepare) {
  const [redis, service, mail] = [
    await privateRedis(),
    await tinyService({ calls: LIMIT, windowMs: window }),
    await mailServer(),
  ];
  const client = new Redis(redis.url);
  // The preparation time, plus one minute, plus the time of a start.
  const slot = Math.ceil((Date.now() + 20_000) / MINUTE_MS) * MINUTE_MS + (prepare ?? 0) * MINUTE_MS;
  const at = new Date(slot);
  /** @type {import('./support/processes.mjs').ReportFile} */
  const report = {
    version: 1,
    title: 'Due at one minute',
    owner: 'ops@acme.example',
    schedule: {
      cron: `${at.getUTCMinutes()} ${at.getUTCHours()} * * *`,
      timezone: 'UTC',
      ...(prepare === undefined ? {} : { prepare: `${prepare}m` }),
    },
    period: 'previous_month',
    max_age: 0,
    sections: Array.from({ length: CALLS }, (_, index) => ({
      id: `s${index}`,
      metrics: ['profiles.created'],
      period: { from: '2026-10-01', to: `2026-10-${10 + index}` },
    })),
    outputs: [{ format: 'csv' }],
    deliveries: [{ email: { to: ['lead@acme.example'], attach: ['csv'] } }],
  };
  const settings = { budget: { calls: LIMIT, window: window / 1000 }, recipients: { domains: ['acme.example'] } };
  const named = Object.fromEntries(Array.from({ length: reports }, (_, index) => [`r${index}`, report]));
  const laidOut = await layOut({ acme: { key: 'key', settings, reports: named } });
  const env = {
    ...laidOut.env,
    ...{ REDIS_URL: redis.url, COMPLIANCE_API_URL: service.url, DOCKET_ADMIN_PORT: String(await freePort()) },
    ...{ SMTP_URL: mail.url, MAIL_FROM: 'docket@acme.example' },
  };
  const docket = await startProcess(env, 'scheduler,worker', '--concurrency', String(CONCURRENCY));
  try {
    await until(() => Date.now() >= slot);
    const early = service.made();
    await until(() => mail.taken.length >= reports);
    const lastMs = Math.max(...mail.taken) - slot;
    await docket.times('Run ended', reports);
    const runs = await redisRunStore(client, { prefix: '{docket}', keepDays: 40 }).list({ limit: reports });
    const work = runs.reduce(
      (sum, { timings: { render = 0, seal = 0, deliver = 0 } }) => sum + render + seal + deliver,
      0,
    );
    const boundMs = work / CONCURRENCY;
    return {
      last_mail_ms: lastMs,
      windows: rounded(lastMs / window, 1),
      calls_before: early,
      calls_after: service.made() - early,
      bound_ms: Math.round(boundMs),
      of_bound: rounded(lastMs / boundMs, 2),
      throttled: service.throttled(),
    };
  } finally {
    await docket.close();
    await laidOut.close();
    client.disconnect();
    await Promise.all([mail.close(), service.close(), redis.close()]);
  }
}

const report = reportOf('on-time');
const name = `${reports} reports, ${reports * CALLS} calls, ${CONCURRENCY} runs at once`;
report({ name: `${name}, without prepare`, ...(await measure(undefined)), limit: { throttled: 0 } });
const limit = { throttled: 0, calls_after: 0 };
report({ name: `${name}, prepared`, ...(await measure(PREPARE_MINUTES)), limit });
