import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { systemClock } from '../base/clock.ts';
import { readConfig } from '../base/config.ts';
import { DocketError } from '../base/error.ts';
import { stderrLog } from '../base/log.ts';
import { createRedactor, passwordsIn } from '../base/redactor.ts';
import { createScope, type Scope } from '../base/scope.ts';
import { fixedJobs } from '../define/in-force.ts';
import { loadJobs, requireReport } from '../define/load.ts';
import { directoryArchive } from '../deliver/directory-archive.ts';
import { mailCatcher } from '../demo/mail-catcher.ts';
import { localRedis } from '../demo/redis.ts';
import { onePage } from '../render/one-page.ts';
import type { Observe } from '../run/event.ts';
import type { RunRecord } from '../run/record.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import { composeDocket } from './docket.ts';

/** The reports that the demo runs, in the order of its summary. */
const REPORTS = ['demo/weekly-kpi', 'demo/board-pack'] as const;

export interface DemoOptions {
  /** Where everything goes. Made aside and put here whole at the end, so two demos never write into each other. */
  readonly out: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly say: (line: string) => void;
  /** How a run is shown while it goes on. */
  readonly watch: (report: string, now: () => number) => Observe;
  readonly signal: AbortSignal;
}

export interface DemoResult {
  /** Where everything is, absolute. */
  readonly folder: string;
  readonly records: readonly RunRecord[];
}

/**
 * Docket as it runs for real, on one machine and in one process: Redis, the sandbox, a mail catcher and the worker; the
 * demo's reports go through the queue. Returns what became of them.
 */
export async function demo({ out, env, say, watch, signal }: DemoOptions): Promise<DemoResult> {
  const target = resolve(out);
  const staging = `${target}.${process.pid}-${randomBytes(3).toString('hex')}`;
  const scope = createScope();
  try {
    await mkdir(staging, { recursive: true });
    const records = await runReports(staging, { env, say, watch, signal }, scope);
    // Closed before the folder moves: until then somebody may still write into it.
    await scope.close();
    await gather(staging, records);
    await putInPlace(staging, target);
    await summary(target, records, say);
    return { folder: target, records };
  } finally {
    await scope.close();
    await rm(staging, { recursive: true, force: true });
  }
}

async function runReports(
  staging: string,
  { env, say, watch, signal }: Omit<DemoOptions, 'out'>,
  scope: Scope,
): Promise<RunRecord[]> {
  const redis = scope.use(await localRedis(env, say), (opened) => opened.close());
  const prefix = `{docket-demo-${randomBytes(6).toString('hex')}}`;
  scope.use(redis, ({ url }) => forget(url, prefix));
  const sandbox = scope.use(await startSandbox(), (opened) => opened.close());
  const mail = scope.use(await mailCatcher(join(staging, 'mailbox')), (opened) => opened.close());
  say(`Redis    ${redis.origin}`);
  say(`Sandbox  ${sandbox.url}, ${sandbox.organizations.length} organizations, 30 calls a minute per key`);
  say(`Mail     ${mail.url}`);
  say('');

  const jobs = await loadJobs(fileURLToPath(new URL('../../jobs', import.meta.url)));
  const config = readConfig({
    COMPLIANCE_API_URL: sandbox.url,
    REDIS_URL: redis.url,
    SMTP_URL: mail.url,
    MAIL_FROM: 'reports@docket.example',
    DOCKET_ARCHIVE: pathToFileURL(join(staging, 'archive')).href,
    LOG_LEVEL: env.LOG_LEVEL ?? 'warn',
  });
  const { learn, redact } = createRedactor();
  // The Redis may be one that was given.
  for (const password of passwordsIn(redis.url)) learn(password);
  const lines = new Map(REPORTS.map((name) => [name as string, watch(name, systemClock.now)]));
  const ended = countdown(REPORTS.length, signal);
  const { store } = scope.use(
    await composeDocket(
      {
        config,
        env: { DEMO_API_KEY: sandbox.keys.find(({ label }) => label === 'acme')?.key },
        clock: systemClock,
        log: stderrLog(config.LOG_LEVEL, { redact }),
        learn,
        workingDirectory: staging,
      },
      {
        jobs: fixedJobs(jobs),
        prefix,
        observe: (order, event) => {
          lines.get(`${order.org}/${order.report}`)?.(event);
          if (event.type === 'finished') ended.count();
        },
      },
    ),
    (opened) => opened.close(),
  );

  const triggered = await Promise.all(
    REPORTS.map((name) =>
      store.trigger({
        ...requireReport(jobs, name),
        slot: { trigger: randomBytes(8).toString('hex') },
        trigger: 'on_demand',
        priority: 'on_demand',
        deliver: true,
      }),
    ),
  );
  await ended.all;
  const records = await Promise.all(triggered.map(({ record }) => store.runs.get(record.id)));
  return records.flatMap((record) => record ?? []);
}

/** Resolves when `count` was called so often; rejects when stopped before. */
function countdown(from: number, signal: AbortSignal): { readonly all: Promise<void>; readonly count: () => void } {
  let left = from;
  let resolveAll = () => {};
  const all = new Promise<void>((resolve, reject) => {
    resolveAll = resolve;
    signal.addEventListener('abort', () => reject(new DocketError('run.cancelled', 'The demo was stopped.')), {
      once: true,
    });
  });
  // Until somebody waits for it, a rejection has no listener.
  all.catch(() => {});
  return {
    all,
    count: () => {
      left -= 1;
      if (left === 0) resolveAll();
    },
  };
}

/** A Redis that was given keeps nothing of the demo. */
async function forget(url: string, prefix: string): Promise<void> {
  const redis = new Redis(url);
  try {
    for await (const keys of redis.scanStream({ match: `${prefix}*`, count: 1000 })) {
      if (keys.length > 0) await redis.unlink(...keys);
    }
  } finally {
    redis.disconnect();
  }
}

/** Puts each e-mail as a page where a newcomer looks for it: beside the messages. */
async function gather(staging: string, records: readonly RunRecord[]): Promise<void> {
  const archive = directoryArchive(join(staging, 'archive'));
  for (const record of records) {
    const sealed = await archive.find(record);
    if (sealed !== undefined) await writeFile(join(staging, 'mailbox', `${record.report}.html`), onePage(sealed.mail));
  }
}

/** Replaces what an earlier demo left. Of two that end at the same moment the later one stays. */
async function putInPlace(staging: string, target: string): Promise<void> {
  for (;;) {
    await rm(target, { recursive: true, force: true });
    try {
      return await rename(staging, target);
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined;
      if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error;
    }
  }
}

async function summary(target: string, records: readonly RunRecord[], say: DemoOptions['say']): Promise<void> {
  const shown = relative(process.cwd(), target) || '.';
  say('');
  for (const record of records) {
    const { org, report, period, state, calls, files, deliveries } = record;
    const sent = deliveries.filter((delivery) => delivery.state === 'sent').length;
    say(
      `${org}/${report} ${period.label}: ${state.replaceAll('_', ' ')}, ${calls.made} API calls, ${files.length} files, ${sent} of ${deliveries.length} deliveries sent`,
    );
    if (record.error !== null) say(`  ${record.error.message}`);
  }
  say('');
  say(`Everything is under ${shown}/. Open first:`);
  for (const line of await openFirst(target)) say(`  ${join(shown, line)}`);
  say('');
  say('Try next:');
  say('  npx docket sandbox              the API on a port; prints the two variables to set for the next two');
  say('  npx docket explain demo/board-pack      what a run asks and costs, and who gets it');
  say('  npx docket run demo/weekly-kpi --no-deliver --period 2026-10      one run, without Redis');
  say(
    '  docs/first-report.md            a report of your own in five minutes: docket sandbox, docket init, docket run',
  );
}

/** What a newcomer wants to see, before what proves it. */
const SHOWN_FIRST = ['.xlsx', '.html', '.eml', '/', 'manifest.json'] as const;

/** The workbooks, the mails as pages and as messages, the CSV files of a folder as one line, and the manifests. */
async function openFirst(target: string): Promise<string[]> {
  const entries = await readdir(target, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(target, join(entry.parentPath, entry.name)))
    .sort();
  const csv = new Map<string, number>();
  for (const path of paths.filter((each) => each.endsWith('.csv') && !each.startsWith('archive'))) {
    csv.set(`${dirname(path)}/`, (csv.get(`${dirname(path)}/`) ?? 0) + 1);
  }
  const single = paths.filter((path) => !path.startsWith('archive') || path.endsWith('manifest.json'));
  return SHOWN_FIRST.flatMap((ending) => [...single, ...csv.keys()].filter((path) => path.endsWith(ending))).map(
    (path) => (csv.has(path) ? `${path}  (${csv.get(path)} CSV files, a schema beside each)` : path),
  );
}
