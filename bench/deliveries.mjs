// Measures deliveries per second: one run to 100 recipients over SMTP, to a mail server in its own process, with the
// ledger in a private Redis and the archive on disk. The peer is plain nodemailer (with one connection, and with its
// pool), which keeps no records. Further cases leave out the ledger and the archive one by one, to show what each costs
// per delivery. Limits: every recipient gets one message, in at most 1.5 times the time of plain nodemailer, each over
// one connection. Processor time includes the threads for files, and must not grow faster than the number of recipients
// (`scaling`).
//
//   npm run build && node build/modules.mjs && node bench/deliveries.mjs [--quick] [--recipients 100] [--times 3] [--kilobytes 100]
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { createTransport } from 'nodemailer';
import { systemClock } from '../dist-modules/base/clock.js';
import { Secret, secretSource } from '../dist-modules/base/secrets/secret.js';
import { reportFileSchema } from '../dist-modules/compose/built-in-kinds.js';
import { directoryArchive } from '../dist-modules/deliver/archive/inline-archive.js';
import { deliver } from '../dist-modules/deliver/deliver.js';
import { redisLedger } from '../dist-modules/deliver/ledger/redis-ledger.js';
import { smtpMailer } from '../dist-modules/deliver/targets/email/smtp/smtp-mailer.js';
import { memoryLedger } from './support/memory-ledger.mjs';
import { readOptions } from './support/options.mjs';
import { privateRedis } from './support/redis.mjs';
import { percentile, reportGrowth, reportOf, rounded } from './support/report.mjs';

const { recipients, times, kilobytes } = readOptions(
  { recipients: 100, times: 3, kilobytes: 100 },
  { recipients: 30, times: 1, kilobytes: 100 },
);
const report = reportOf('deliveries');
const folder = await mkdtemp(join(tmpdir(), 'docket-bench-deliveries-'));
const readers = (count) => Array.from({ length: count }, (_, n) => `reader${n}@acme.example`);
const to = readers(recipients);
const MAIL = { html: '<!doctype html><p>All is well.</p>', text: 'All is well.\n', pictures: [] };
const PERIOD = { from: '2026-11-09', to: '2026-11-15', timezone: 'Europe/Zurich', label: '2026-W46' };

const definitionFor = (to) => ({
  ...reportFileSchema.parse({
    version: 1,
    title: 'Weekly KPIs',
    owner: 'ops@acme.example',
    period: 'previous_week',
    sections: [{ id: 'queue', metrics: ['alerts.open'] }],
    outputs: [{ format: 'xlsx' }],
  }),
  deliveries: [{ email: { to, attach: ['xlsx'] } }],
  org: 'acme',
  report: 'weekly-kpi',
  digest: 'd'.repeat(64),
});
/** @type {import('../dist-modules/definitions/schema/org-settings.js').OrgSettings} */
const settings = {
  version: 1,
  id: 'acme',
  org: 1,
  api_key: { env: 'KEY' },
  timezone: 'Europe/Zurich',
  recipients: { domains: ['acme.example'], addresses: [] },
};
const content = randomBytes(kilobytes * 1024);

/**
 * Creates a new run with sealed files, the state in which a delivery begins.
 *
 * @param {import('../dist-modules/deliver/archive/archive.js').Archive} archive
 * @param {readonly string[]} to
 */
async function sealedRun(archive, to) {
  const run = randomBytes(16).toString('hex');
  const staged = await archive.stage(run);
  const path = join(staged, 'KPIs.xlsx');
  await writeFile(path, content);
  const sha256 = createHash('sha256').update(content).digest('hex');
  const file = { name: 'KPIs.xlsx', format: 'xlsx', bytes: content.length, sha256 };
  /** @type {import('../dist-modules/deliver/archive/manifest.js').Manifest} */
  const manifest = {
    version: 1,
    run,
    org: 'acme',
    organization: 'Acme',
    report: 'weekly-kpi',
    title: 'Weekly KPIs',
    owner: 'ops@acme.example',
    slot: '2026-11-16T07:00:00.000Z',
    digest: 'd'.repeat(64),
    period: PERIOD,
    registry_version: 1,
    calls: [],
    incomplete: [],
    files: [file],
    recipients: to,
    made_at: '2026-11-16T07:00:05.000Z',
  };
  return archive.publish(staged, manifest, [{ ...file, mediaType: 'application/octet-stream', path }], MAIL);
}

const sink = spawn(process.execPath, [fileURLToPath(new URL('support/mail-sink.mjs', import.meta.url))], {
  stdio: ['pipe', 'pipe', 'inherit'],
});
const said = createInterface({ input: sink.stdout })[Symbol.asyncIterator]();
const { port } = JSON.parse((await said.next()).value);
const taken = async () => {
  sink.stdin.write('\n');
  return JSON.parse((await said.next()).value).messages;
};

const redisServer = await privateRedis();
const redis = new Redis(redisServer.url);
const none = async () => {};

/** @returns a function for the time since this call, in ms: elapsed time, and processor time of this process */
function measure() {
  const startedAt = performance.now();
  const before = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(before);
    return { ms: performance.now() - startedAt, cpuMs: (user + system) / 1000 };
  };
}

/**
 * Measures the delivery of one run to everybody, without its preparation.
 *
 * @param {Pick<import('../dist-modules/deliver/deliver.js').DeliverInput, 'ledger' | 'archive'>} stores
 */
async function ours({ ledger, archive }, recipients = to) {
  const published = await sealedRun(archive, recipients);
  const mailer = smtpMailer(new Secret(`smtp://127.0.0.1:${port}`));
  const measured = measure();
  const { receipts } = await deliver({
    order: { id: published.manifest.run, org: 'acme', report: 'weekly-kpi' },
    definition: definitionFor(recipients),
    settings,
    secrets: secretSource({}),
    published,
    mail: { mailer, from: 'reports@docket.example' },
    ledger,
    archive,
    clock: systemClock,
    signal: new AbortController().signal,
    observe: () => {},
  });
  const figures = measured();
  if (receipts.some(({ state }) => state !== 'sent')) throw new Error('not everything was sent');
  await mailer.close();
  return figures;
}

/** The same messages through nodemailer, which also reads the file once per message. */
async function bare(options) {
  const transport = createTransport({
    host: '127.0.0.1',
    port,
    ignoreTLS: true,
    pool: true,
    maxMessages: Number.POSITIVE_INFINITY,
    ...options,
  });
  const path = join(folder, 'KPIs.xlsx');
  await writeFile(path, content);
  const measured = measure();
  await Promise.all(
    to.map(async (recipient) =>
      transport.sendMail({
        from: 'reports@docket.example',
        to: recipient,
        subject: 'Weekly KPIs 2026-W46',
        html: MAIL.html,
        text: MAIL.text,
        attachments: [{ filename: 'KPIs.xlsx', content: await readFile(path) }],
      }),
    ),
  );
  const figures = measured();
  transport.close();
  return figures;
}

const archive = directoryArchive(join(folder, 'archive'));
const inRedis = () => redisLedger(redis, { prefix: 'bench:', ttlDays: 1 });
const unkept = { ...archive, putMessage: async () => '', putAttempt: none, putReceipts: none };

const ALL = `${recipients} messages`;
/**
 * A case for each part of Docket's work, none of which the peers do.
 *
 * @type {[who: string, name: string, send: () => Promise<{ ms: number, cpuMs: number }>][]}
 */
const CASES = [
  ['docket', ALL, () => ours({ ledger: inRedis(), archive })],
  [
    'docket',
    'no attempts in the archive',
    () => ours({ ledger: inRedis(), archive: { ...archive, putAttempt: none } }),
  ],
  ['docket', 'nothing in the archive', () => ours({ ledger: inRedis(), archive: unkept })],
  ['docket', 'nothing in the archive, ledger in memory', () => ours({ ledger: memoryLedger(), archive: unkept })],
  ['nodemailer', ALL, () => bare({ maxConnections: 1 })],
  ['nodemailer, its pool of five', ALL, () => bare({ maxConnections: 5 })],
];

try {
  const measured = CASES.map(() => []);
  // In turns, so that other load on the machine affects all cases.
  for (let time = 0; time <= times; time += 1) {
    for (const [index, [, , send]] of CASES.entries()) {
      const before = await taken();
      const figures = await send();
      const messages = (await taken()) - before;
      // The first round is the warm-up.
      if (time > 0) measured[index].push({ ...figures, messages });
    }
  }
  const mediansOf = (figure) =>
    measured.map((all) =>
      percentile(
        all.map((each) => each[figure]),
        0.5,
      ),
    );
  const [medians, cpuMs] = [mediansOf('ms'), mediansOf('cpuMs')];
  const alone = medians[CASES.findIndex(([who]) => who === 'nodemailer')];
  for (const [index, [who, name]] of CASES.entries()) {
    const ms = medians[index];
    const off = measured[index].reduce((sum, { messages }) => sum + Math.abs(messages - recipients), 0);
    report({
      name,
      who,
      deliveries_a_second: rounded((recipients * 1000) / ms, 1),
      ms_a_delivery: rounded(ms / recipients, 2),
      cpu_ms_a_delivery: rounded(cpuMs[index] / recipients, 2),
      times_nodemailer_alone: rounded(ms / alone, 2),
      rss_mb: Math.round(process.memoryUsage.rss() / 1024 / 1024),
      too_many_or_few: off,
      limit: { too_many_or_few: 0, ms_a_delivery: null, ...(index === 0 ? { times_nodemailer_alone: 1.5 } : {}) },
    });
  }
  const points = [];
  for (const n of [recipients, 3 * recipients, 10 * recipients]) {
    const costs = [];
    for (let time = 0; time < times; time += 1)
      costs.push((await ours({ ledger: inRedis(), archive }, readers(n))).cpuMs);
    points.push({ n, cost: Math.min(...costs) });
  }
  reportGrowth(report, { name: 'recipients of a run', by: 'recipients', unit: 'cpu ms', points, most: 1.1 });
} finally {
  sink.stdin.end();
  redis.disconnect();
  await redisServer.close();
  await rm(folder, { recursive: true, force: true });
}
