import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { DateTime } from 'luxon';
import { systemClock } from '../base/clock.ts';
import { readConfig } from '../base/config/config.ts';
import type { AppContext } from '../base/context.ts';
import { isErrno } from '../base/errno.ts';
import { stderrLog } from '../base/log.ts';
import { createScope, type Scope } from '../base/scope.ts';
import { createRedactor, passwordsIn } from '../base/secrets/redactor.ts';
import { loadDefinitions, requireReport } from '../compose/built-in-kinds.ts';
import { composeDocket } from '../compose/docket.ts';
import { staticDefinitions } from '../definitions/load/definition-source.ts';
import { daysBetween } from '../definitions/schedules/reading-window.ts';
import { kindOfTarget } from '../definitions/schema/kinds.ts';
import type { OrgSettings } from '../definitions/schema/org-settings.ts';
import { directoryArchive } from '../deliver/archive/inline-archive.ts';
import { readingArchive } from '../deliver/archive/readings/reading-archive.ts';
import { readPack } from '../deliver/archive/run-folder/pack-files.ts';
import { directoryStorage } from '../deliver/archive/storage/directory-storage.ts';
import { inlineImages, type RunMail } from '../render/artifact.ts';
import type { OnRunEvent } from '../run/run-events.ts';
import type { RunRecord } from '../run/run-record.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import { demoSignIn, openDemoPage } from './demo-page.ts';
import { awaitReview, reviewRun, suggestPages } from './demo-review.ts';
import { localRedis } from './local-redis.ts';
import { createMailCatcher } from './mail-catcher.ts';
import { runStates } from './run-states.ts';
import { sampleReadings } from './sample-readings.ts';

/** The reports that the demo runs, in the order of its summary. */
const DEMO_REPORTS = ['demo/weekly-kpi', 'demo/board-pack', 'demo/board-book', 'demo/desks'] as const;

export interface DemoOptions {
  /** The output folder. Files are written elsewhere and moved here at the end, so that concurrent demos do not mix. */
  readonly out: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly printLine: (line: string) => void;
  /** Creates the progress display of a run. */
  readonly observerOf: (report: string, now: () => number) => OnRunEvent;
  readonly signal: AbortSignal;
  /** Whether a person comments on the board pack and approves it on the page. Otherwise the demo does it. */
  readonly page: boolean;
}

/**
 * Runs Redis, the sandbox, a mail catcher and a worker on one machine, and the demo's reports through the queue. The
 * board pack waits for a comment and an approval before it is sent. Returns the results and the absolute path of the
 * output.
 */
export async function runDemo({ out, ...options }: DemoOptions) {
  const target = resolve(out);
  const staging = await createStagingFolder(target);
  const scope = createScope();
  try {
    const records = await runReports(staging, options, scope);
    // They write into the folder, so they must close before it is moved.
    await scope.close();
    await writeMailPages(staging, records);
    await replaceFolder(staging, target);
    await printSummary(target, records, options.printLine);
    return { folder: target, records };
  } finally {
    await scope.close();
    await rm(staging, { recursive: true, force: true });
  }
}

async function runReports(
  staging: string,
  { env, printLine, observerOf, signal, page }: Omit<DemoOptions, 'out'>,
  scope: Scope,
): Promise<RunRecord[]> {
  const redis = scope.use(await localRedis(env, printLine), (opened) => opened.close());
  const prefix = `{docket-demo-${randomBytes(6).toString('hex')}}`;
  scope.use(redis, ({ url }) => deleteKeys(url, prefix));
  const sandbox = scope.use(await startSandbox(), (opened) => opened.close());
  const mail = scope.use(await createMailCatcher(join(staging, 'mailbox')), (opened) => opened.close());
  printLine(`Redis    ${redis.origin}`);
  printLine(`Sandbox  ${sandbox.url}, ${sandbox.organizations.length} organizations, 30 calls a minute per key`);
  const signIn = await demoSignIn(scope);
  printLine(`Mail     ${mail.url}`);
  printLine(`Page     ${signIn.url}`);
  printLine('');

  const folder = fileURLToPath(new URL('../../jobs', import.meta.url));
  const jobs = await loadDefinitions(folder);
  const config = readConfig({
    // Templates are in the same folder as the definitions.
    DOCKET_JOBS: folder,
    COMPLIANCE_API_URL: sandbox.url,
    REDIS_URL: redis.url,
    SMTP_URL: mail.url,
    MAIL_FROM: 'reports@docket.example',
    DOCKET_ARCHIVE: pathToFileURL(join(staging, 'archive')).href,
    // A newcomer reads the demo's own output. A warning, e.g. about a slow start, would only distract.
    LOG_LEVEL: env.LOG_LEVEL ?? 'error',
    ...signIn.env,
  });
  const { registerSecret, redact } = createRedactor();
  // The Redis may be external, so its passwords are secret.
  for (const password of passwordsIn(redis.url)) registerSecret(password);
  const lines = new Map(DEMO_REPORTS.map((name) => [name as string, observerOf(name, systemClock.now)]));
  const states = runStates(signal);
  const context: AppContext = {
    config,
    env: { DEMO_API_KEY: sandbox.keys.find(({ label }) => label === 'acme')?.key },
    clock: systemClock,
    log: stderrLog(config.LOG_LEVEL, { redact }),
    registerSecret,
    workingDirectory: staging,
  };
  const source = staticDefinitions(jobs);
  const running = scope.use(
    await composeDocket(context, {
      jobs: source,
      prefix,
      observe: (order, event) => {
        lines.get(`${order.org}/${order.report}`)?.(event);
        if (event.type === 'finished') states.record(order.id, event.state);
      },
    }),
    (opened) => opened.close(),
  );
  await openDemoPage(context, source, running, scope);
  const { store } = running;

  // The service has no history of current counts, and the demo cannot wait until the evening for readings.
  await storeSampleReadings(join(staging, 'archive'), jobs.orgs.get('demo'));
  const triggered = await Promise.all(
    DEMO_REPORTS.map((name) =>
      store.trigger({
        ...requireReport(jobs, name),
        slot: { trigger: randomBytes(8).toString('hex') },
        trigger: 'on_demand',
        priority: 'on_demand',
        deliver: true,
      }),
    ),
  );
  const reviews = triggered.map(({ record: run }) => {
    const review = { signIn, run, states, printLine, signal };
    return page ? awaitReview(review) : reviewRun(review);
  });
  const runs = triggered.map(({ record }) => record);
  if (page) reviews.push(suggestPages({ signIn, states, printLine }, runs));
  await Promise.all(reviews);
  const records = await Promise.all(triggered.map(({ record }) => store.runs.get(record.id)));
  return records.flatMap((record) => record ?? []);
}

/**
 * Stores into the archive the readings that today's reports show: those of recent evenings, and of the ends of earlier
 * months.
 */
async function storeSampleReadings(archive: string, settings: OrgSettings | undefined): Promise<void> {
  if (settings === undefined) return;
  const now = DateTime.fromMillis(systemClock.now(), { zone: settings.timezone });
  const first = now.startOf('month').minus({ months: 2, days: 1 });
  const stored = readingArchive(directoryStorage(archive));
  const take = sampleReadings({ settings, key: 'acme', now: now.toMillis() });
  // Trends of 13 months, plus the months that the first ones are compared with.
  const monthEnds = Array.from({ length: 15 }, (_, index) => now.startOf('month').minus({ months: index, days: 1 }));
  const days = [
    ...monthEnds.flatMap((day) => day.toISODate() ?? []),
    ...daysBetween(first.toISODate() ?? '', now.toISODate() ?? ''),
  ];
  for (const reading of await take(days)) {
    await stored.putIfAbsent(reading);
  }
}

/** Deletes the demo's keys from an external Redis. */
async function deleteKeys(url: string, prefix: string): Promise<void> {
  const redis = new Redis(url);
  try {
    for await (const keys of redis.scanStream({ match: `${prefix}*`, count: 1000 })) {
      if (keys.length > 0) await redis.unlink(...keys);
    }
  } finally {
    redis.disconnect();
  }
}

/** Writes each report's e-mail as an HTML page next to the messages. */
async function writeMailPages(staging: string, records: readonly RunRecord[]): Promise<void> {
  const archive = directoryArchive(join(staging, 'archive'));
  for (const record of records) {
    const hasMail = record.deliveries.some(({ target }) => kindOfTarget(target) === 'email');
    const sealed = hasMail ? await archive.find(record) : undefined;
    if (sealed === undefined) continue;
    const { packs } = sealed.manifest;
    const page = (name: string, mail: RunMail) =>
      writeFile(join(staging, 'mailbox', `${name}.html`), inlineImages(mail));
    if (packs === undefined) await page(record.report, sealed.mail);
    // Each desk has its own message.
    for (const pack of packs ?? []) await page(`${record.report}-${pack.slug}`, (await readPack(sealed, pack)).mail);
  }
}

/** Replaces the output of an earlier demo. If two demos end at the same time, the later one wins. */
async function replaceFolder(staging: string, target: string): Promise<void> {
  for (;;) {
    await rm(target, { recursive: true, force: true });
    try {
      return await rename(staging, target);
    } catch (error) {
      if (!isErrno(error, 'ENOTEMPTY', 'EEXIST')) throw error;
    }
  }
}

async function printSummary(
  target: string,
  records: readonly RunRecord[],
  say: DemoOptions['printLine'],
): Promise<void> {
  const shown = relative(process.cwd(), target) || '.';
  say('');
  for (const record of records) {
    const { org, report, period, state, calls, files, deliveries } = record;
    const sent = deliveries.filter((delivery) => delivery.state === 'sent').length;
    say(
      `${org}/${report} ${period.label}: ${state.replaceAll('_', ' ')}, ${calls.made} API calls, ${files.length} ${files.length === 1 ? 'file' : 'files'}, ${sent} of ${deliveries.length} deliveries sent`,
    );
    if (record.error !== null) say(`  ${record.error.message}`);
  }
  say('');
  say(`Everything is under ${shown}/. Open first:`);
  for (const line of await listFirst(target)) say(`  ${join(shown, line)}`);
  say('');
  say('Try next:');
  say('  npx docket demo --page          the same, but you comment and approve the board pack in a browser');
  say('  npx docket sandbox              the API on a port; prints the two variables to set for the next two');
  say('  npx docket explain demo/board-pack      what a run asks and costs, and who gets it');
  say('  npx docket explain demo/board-book      which table and cell of the workbook jobs/demo/board.xlsx gets what');
  say('  npx docket run demo/weekly-kpi --no-deliver --period 2026-10      one run, without Redis');
  say(
    '  docs/tutorials/first-report.md  a report of your own in five minutes: docket sandbox, docket init, docket run',
  );
}

/** The most interesting files first. */
const SHOWN_FIRST = ['.pdf', '.xlsx', '.html', '.eml', '/', 'manifest.json'] as const;

/** The folder of the workbook that was made from a template. */
const FILLED = join('out', 'board-book');

/**
 * Lists the PDF, the workbooks, the e-mails as pages and as messages, the manifests, and one line per folder of CSV
 * files.
 */
async function listFirst(target: string): Promise<string[]> {
  const entries = await readdir(target, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(target, join(entry.parentPath, entry.name)))
    .sort();
  const csv = new Map<string, number>();
  for (const path of paths.filter((each) => each.endsWith('.csv') && !each.startsWith('archive'))) {
    csv.set(`${dirname(path)}/`, (csv.get(`${dirname(path)}/`) ?? 0) + 1);
  }
  const manifest = /^archive\/[^.].*\/manifest\.json$/;
  const single = paths.filter((path) => !path.startsWith('archive') || manifest.test(path));
  return SHOWN_FIRST.flatMap((ending) => [...single, ...csv.keys()].filter((path) => path.endsWith(ending))).map(
    (path) => {
      if (csv.has(path)) return `${path}  (${csv.get(path)} CSV files, a schema beside each)`;
      return path.startsWith(FILLED) ? `${path}  (jobs/demo/board.xlsx, filled)` : path;
    },
  );
}

const SUFFIX = /^\.(\d+)-[0-9a-f]{6}$/;

/** Creates the folder that a demo writes to until it is complete. Removes the folders of demos that were killed. */
export async function createStagingFolder(target: string): Promise<string> {
  const [parent, name] = [dirname(target), basename(target)];
  await mkdir(parent, { recursive: true });
  for (const entry of await readdir(parent)) {
    const pid = entry.startsWith(name) ? SUFFIX.exec(entry.slice(name.length))?.[1] : undefined;
    if (pid !== undefined && !isRunning(Number(pid))) await rm(join(parent, entry), { recursive: true, force: true });
  }
  const staging = `${target}.${process.pid}-${randomBytes(3).toString('hex')}`;
  await mkdir(staging);
  return staging;
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // EPERM: the process exists, but belongs to another user.
    return !isErrno(error, 'ESRCH');
  }
}
