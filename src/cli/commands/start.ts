import type { Command } from 'commander';
import type { CommandIo } from '../io.ts';

export function addStartCommand(program: Command, io: CommandIo): void {
  program
    .command('start')
    .description('Run the worker, the scheduler and the admin route until stopped')
    .option(
      '--role <roles>',
      'roles of this process: worker, scheduler, admin or all; several separated by commas',
      'all',
    )
    .option('--concurrency <n>', 'number of runs at the same time in this process', '4')
    .option('--grace <time>', 'how long running runs may take to finish when it stops, e.g. 45s or 5m', '10s')
    .option('--require-durable', 'refuse a Redis that does not log each write (appendonly yes), instead of a warning')
    .option('--adopt', 'join Redis, archive and definitions of different deployments, once')
    .addHelpText(
      'after',
      `
On SIGTERM or Ctrl-C it accepts no new runs; running ones may finish within --grace. Unfinished runs are put back within three
more seconds, and continue in another process or at the next start, without spending an attempt or repeating a call. The
supervisor's timeout (terminationGracePeriodSeconds, stop_grace_period) must be longer.
Definitions are reloaded when their files change, and on SIGHUP; an invalid one keeps its last good version.

Any number of processes of each role may share one Redis. A worker processes queued runs and delivers them; only workers need
COMPLIANCE_API_URL, the keys and mail servers. A scheduler opens slots as they come due; an admin process serves the admin
route and runs nothing. Each serves /healthz, /readyz and /metrics. docs/scaling.md explains how many to run.

Redis and the archive store the random id of their deployment. A start with two different ids, or with definitions that would
remove most scheduled reports of a running deployment, is refused: a variable is wrong. --adopt starts it all the same: Redis
takes the id of the archive, an archive without one takes that of Redis, and the definitions of this process become active.
Stop the other processes first; the log and the audit log record what was joined.

Environment: COMPLIANCE_API_URL, REDIS_URL, SMTP_URL, MAIL_FROM, DOCKET_JOBS, DOCKET_TEMPLATES, DOCKET_ARCHIVE,
DOCKET_ARCHIVE_DAYS, DOCKET_SIGNING_KEY, DOCKET_SECRET_FOLDERS, DOCKET_REQUIRE_DESTINATIONS, DOCKET_REPORT_SCOPE,
DOCKET_ADMIN_HOST, DOCKET_ADMIN_PORT, DOCKET_ADMIN_TOKENS, LOG_LEVEL; and the variables of the organizations'
secrets

Exit codes: 0 it was stopped; 1 Redis or another part failed; 2 usage, configuration, or a conflict of deployments

Examples:
  COMPLIANCE_API_URL=https://api.example.com SMTP_URL=smtps://mail.example.com MAIL_FROM=reports@acme.example docket start
  docket start --role worker --concurrency 8
  docket start --role scheduler,admin`,
    )
    .action((flags: StartFlags) => start(flags, io));
}

interface StartFlags {
  readonly role: string;
  readonly concurrency: string;
  readonly grace: string;
  readonly requireDurable?: boolean;
  readonly adopt?: boolean;
}

async function start(flags: StartFlags, io: CommandIo): Promise<void> {
  const [{ createContext }, { startDocket }, { parseDurationOption, parseNumber }, { parseRoles }, { readActorName }] =
    await Promise.all([
      import('../context.ts'),
      import('../../compose/start.ts'),
      import('../options/option-parsers.ts'),
      import('../options/roles.ts'),
      import('../options/actor.ts'),
    ]);
  const context = createContext(io);
  const options = {
    concurrency: parseNumber('--concurrency', flags.concurrency, { min: 1, max: 100 }),
    graceMs: parseDurationOption('--grace', flags.grace, { maxMs: 3_600_000 }),
    roles: parseRoles(flags.role),
    requireDurable: flags.requireDurable ?? false,
    ...(flags.adopt ? { adopt: { who: await readActorName() } } : {}),
  };
  await startDocket(context, options, {
    logFatalErrors: (log) =>
      io.onFatalError(({ error, origin, stack = '' }) =>
        log.error('Uncaught error: the process exits', { error: error.toJSON(), why: `${origin}: ${stack}` }),
      ),
    stop: io.signals.stop,
    onReload: io.signals.onReload,
  });
  // It runs until it is stopped: a signal is the normal end.
  io.exitCode = 0;
}
