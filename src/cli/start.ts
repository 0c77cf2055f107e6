import type { Command } from 'commander';
import type { Refuse } from '../define/report-of.ts';

export function addStart(program: Command): void {
  program
    .command('start')
    .description('Run the worker, the schedules and the admin route until stopped')
    .option('--role <roles>', 'what this process does: worker, scheduler, admin or all; several with commas', 'all')
    .option('--concurrency <n>', 'runs at the same time in this process', '4')
    .option('--grace <time>', 'how long runs in hand may go on when it is asked to stop, e.g. 45s or 5m', '10s')
    .option('--require-durable', 'refuse a Redis that does not log each write (appendonly yes), instead of warning')
    .option('--adopt', 'join Redis, archive and definitions that belong to different deployments; once, and on purpose')
    .addHelpText(
      'after',
      `
Stops on SIGTERM or Ctrl-C: takes no more runs and lets those in hand go on for --grace. What has not ended by then is put
back, within three seconds more, and goes on where it was in another process or at the next start: without an attempt
spent, without a call made again. Give whatever kills the process (terminationGracePeriodSeconds, stop_grace_period) more time.
Definitions are read again when their files change, and on SIGHUP; one with a fault stays on its last good version.

Any number of processes of each role may share one Redis. A worker takes runs off the line and delivers them; it alone
needs COMPLIANCE_API_URL, the keys and mail servers. A scheduler opens slots as they come due; an admin process answers
the admin route, and runs nothing. Each answers /healthz, /readyz and /metrics. docs/scaling.md says how many to run.

Redis and the archive know which deployment they belong to, by a random id. A start that finds two different ones, or whose
definitions would remove most scheduled reports of a running deployment, is refused: a variable names the wrong place. --adopt
does it all the same: Redis takes the id of the archive, an archive without one takes that of Redis, and the definitions of this
process are put in force. Stop the other processes first; the log and the audit log say what was joined.

Environment: COMPLIANCE_API_URL, REDIS_URL, SMTP_URL, MAIL_FROM, DOCKET_JOBS, DOCKET_TEMPLATES, DOCKET_ARCHIVE,
DOCKET_ARCHIVE_DAYS, DOCKET_SIGNING_KEY, DOCKET_SECRET_FOLDERS, DOCKET_REQUIRE_DESTINATIONS, DOCKET_REPORT_SCOPE,
DOCKET_ADMIN_HOST, DOCKET_ADMIN_PORT, DOCKET_ADMIN_TOKENS, LOG_LEVEL; besides, whatever the organizations' secrets
refer to

Exit codes: 0 it was stopped; 1 Redis or a part of it failed; 2 usage, configuration, or what belongs to another deployment

Examples:
  COMPLIANCE_API_URL=https://api.example.com SMTP_URL=smtps://mail.example.com MAIL_FROM=reports@acme.example docket start
  docket start --role worker --concurrency 8
  docket start --role scheduler,admin`,
    )
    .action(start);
}

interface StartFlags {
  readonly role: string;
  readonly concurrency: string;
  readonly grace: string;
  readonly requireDurable?: boolean;
  readonly adopt?: boolean;
}

async function start(flags: StartFlags): Promise<void> {
  const [
    { abortOnSignal, readSurroundings },
    { composeDocket },
    { composeAdmin },
    { createMetrics },
    { expectedOf, processFacts },
    { openTracing },
    { requireMail },
    { readingThread },
    { loadJobs },
    { watchJobs },
    { toDocketError },
    { formatFault },
    { createScope },
    { readDuration, readNumber },
    { readRoles },
    { onFatalError },
    { readAsker },
  ] = await Promise.all([
    import('./surroundings.ts'),
    import('../compose/docket.ts'),
    import('../compose/admin.ts'),
    import('../admin/metrics.ts'),
    import('../compose/process-facts.ts'),
    import('../compose/tracing.ts'),
    import('../compose/ports.ts'),
    import('../compose/definition-threads.ts'),
    import('../define/load.ts'),
    import('../define/in-force.ts'),
    import('../base/error.ts'),
    import('../define/fault.ts'),
    import('../base/scope.ts'),
    import('./flag.ts'),
    import('./roles.ts'),
    import('./fatal.ts'),
    import('./decider.ts'),
  ]);
  const plain = readSurroundings();
  const scope = createScope();
  try {
    const tracing = scope.use(await openTracing(plain), (opened) => opened?.close());
    const { around } = tracing ?? { around: plain };
    const { config, log } = around;
    const unhandled = onFatalError(({ error, origin, stack = '' }) =>
      log.error('An error was not handled: the process ends', { error: error.toJSON(), why: `${origin}: ${stack}` }),
    );
    scope.use(unhandled, (remove) => remove());
    const concurrency = readNumber('--concurrency', flags.concurrency, { min: 1, max: 100 });
    const graceMs = readDuration('--grace', flags.grace, { maxMs: 3_600_000 });
    const roles = readRoles(flags.role);
    const { reader } = scope.use(readingThread({ clock: around.clock, positions: false }), (opened) => opened.close());
    const first = await loadJobs(config.DOCKET_JOBS, { reader });
    // One broken file must not stop the other organizations' reports; it is said as loudly as a log can.
    for (const fault of first.faults) log.error(`Left out: ${formatFault(fault)}`, { path: fault.file });
    // Whoever delivers nothing needs no mail server.
    const refuse: Refuse = (definition, settings) => {
      try {
        requireMail(definition, settings, config);
        return undefined;
      } catch (thrown) {
        return toDocketError(thrown);
      }
    };
    for (const definition of roles.has('worker') ? first.reports.values() : []) {
      const settings = first.orgs.get(definition.org);
      const refused = settings === undefined ? undefined : refuse(definition, settings);
      if (refused !== undefined) throw refused;
    }
    const signal = abortOnSignal();
    const metrics = createMetrics(expectedOf(first), processFacts(around, { keeps: roles.has('worker') }));
    const {
      observe,
      observeRequest,
      observeSlots,
      observeRepairs,
      observeStorage,
      observeDefinitions: looked,
    } = metrics;
    looked();
    const jobs = scope.use(
      watchJobs(first, { clock: around.clock, log, reader, looked, ...(roles.has('worker') ? { refuse } : {}) }),
      (opened) => opened.close(),
    );
    scope.use(
      jobs.changed((changed) => metrics.expect(expectedOf(changed))),
      (stop) => stop(),
    );
    const reload = () => void jobs.reload();
    process.on('SIGHUP', reload);
    scope.use(reload, (listener) => process.off('SIGHUP', listener));
    const settings = {
      jobs,
      observeSlots,
      observeRepairs,
      observeStorage,
      roles,
      concurrency,
      graceMs,
      observe,
      observeRequest,
      requireDurable: flags.requireDurable ?? false,
      ...(flags.adopt ? { adopt: { who: await readAsker() } } : {}),
    };
    const running = scope.use(await composeDocket(around, settings), (opened) => opened.close());
    const api = { api: roles.has('admin') };
    const admin = scope.use(await composeAdmin(around, jobs, running, metrics, api), (opened) => opened.close());
    const { size: count } = first.reports;
    log.info('Docket runs', { url: admin.url, role: [...roles].join(', '), count, path: config.DOCKET_JOBS });
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    log.info('Stopping: runs in hand may end');
  } finally {
    await scope.close();
  }
  // It runs until it is stopped: a signal is how it ends well.
  process.exitCode = 0;
}
