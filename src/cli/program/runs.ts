import { Option } from 'commander';
import type { CommandIo } from '../io.ts';
import type { DocketCommand } from './command.ts';

export function addRunCommands(program: DocketCommand, io: CommandIo): void {
  program.commandsGroup('Runs:');

  program
    .command('run')
    .description('Run one report now, in this process')
    .argument('<report>', '<org>/<report>')
    .option(
      '--period <period>',
      'instead of the definition’s period, e.g. previous_month, 2026-Q3, 2026-10, 2026-W46, 2026-10-01..2026-10-15',
    )
    .option('--unfinished', 'allow a --period that is not over: its figures so far')
    .option('--value <value>', 'for a report with `split`: only the pack of this value, e.g. Retail')
    .option('--out <dir>', 'output folder; default: out/<org>/<report>/<period>')
    .option('--no-deliver', 'only create the files')
    .option('--again', 'deliver again without a prompt, even if the period was delivered before')
    .option('--fresh', 'ignore cached responses, even those that max_age allows')
    .addOption(
      new Option('--queue', 'enqueue it for the workers instead, and print the run id').conflicts(['out', 'fresh']),
    )
    .option('--wait', 'with --queue: watch it to its end, like `docket runs watch`')
    .option('--json', 'one JSON document on stdout')
    .details(`
With REDIS_URL set, it shares one rate limiter per API key with the workers, and a run that delivers uses their ledger, archive
and records: docket runs and docket deliveries list it. Without REDIS_URL, a run that delivers starts a private Redis beside
DOCKET_JOBS, as docket start --local does, and needs redis-server or valkey-server on the PATH. Its files are only in --out; the
archive records what was sent. --no-deliver needs no Redis. If workers with another Redis use the key, it may wait after a 429.

A report that was delivered for this period before, by e-mail, SFTP, S3, webhook, Slack or Teams, is not delivered again by
accident: on a terminal the command prompts first; elsewhere, and with --json, it fails with already_delivered. --again delivers
without a prompt; DOCKET_REPEAT=allow turns the check off.

A period that has not begun is refused. A period that is not over, such as the current month by its dates, needs --unfinished;
names such as current_month do not.

Environment: COMPLIANCE_API_URL, DOCKET_JOBS, DOCKET_TEMPLATES, DOCKET_ARCHIVE, DOCKET_SIGNING_KEY, DOCKET_REPEAT,
DOCKET_SECRET_FOLDERS, DOCKET_REQUIRE_DESTINATIONS, DOCKET_REPORT_SCOPE, REDIS_URL, LOG_LEVEL; SMTP_URL and
MAIL_FROM for e-mail; the organization's secrets

Exit codes: 0 done; 1 failed; 2 usage or configuration, or already delivered; 3 held or partly delivered

Examples:
  docket run acme/weekly-kpi --no-deliver --out out
  docket run acme/board-pack --period 2026-10 --json
  docket run acme/board-pack --period 2026-09 --queue --wait`)
    .action(async (report, flags) => (await import('../commands/runs/run.ts')).runReport(report, flags, io));

  program
    .command('start')
    .description('Run the worker, the scheduler and the admin route until stopped')
    .option(
      '--role <roles>',
      'roles of this process: worker, scheduler, admin or all; several separated by commas',
      'all',
    )
    .option('--concurrency <n>', 'number of runs at the same time in this process', '4')
    .option('--grace <time>', 'how long active runs may take to finish when the process stops, e.g. 45s or 5m', '10s')
    .option('--require-durable', 'refuse a Redis that does not log each write (appendonly yes), instead of a warning')
    .option('--adopt', 'join Redis, archive and definitions of different deployments; needed once')
    .option('--local', 'start a private Redis for this machine, with data in .docket beside DOCKET_JOBS')
    .details(`
On SIGTERM or Ctrl-C it accepts no new runs; active ones may finish within --grace. Unfinished runs go back to the queue within
three more seconds, and continue in another process or at the next start, without spending an attempt or repeating a call. The
supervisor's timeout (terminationGracePeriodSeconds, stop_grace_period) must be longer.
While Redis is down it waits, even at the start. It logs text on a terminal and one JSON object per line elsewhere, including
the error that ends it (LOG_FORMAT).
Definitions are reloaded when their files change, and on SIGHUP; an invalid one keeps its last valid version.

Any number of processes of each role may share one Redis. A worker processes queued runs and delivers them; only workers need
COMPLIANCE_API_URL, the keys and mail servers. A scheduler opens slots as they come due; an admin process serves the admin
route and runs nothing. Each serves /healthz, /readyz and /metrics. docs/how-to/scale-out.md explains how many to run.

--local needs redis-server or valkey-server on the PATH, and is refused with REDIS_URL. Commands without REDIS_URL on the same
DOCKET_JOBS use this Redis. It belongs to no deployment, so an archive that belongs to one is refused.

Redis and the archive store the random id of their deployment. A start with two different ids, or with definitions that would
remove most scheduled reports of a running deployment, is refused: some variable is probably wrong. --adopt starts it anyway:
Redis takes the id of the archive, an archive without one takes that of Redis, and the definitions of this process become
active. Stop the other processes first; the log and the audit log record what was joined.

Environment: COMPLIANCE_API_URL, REDIS_URL, SMTP_URL, MAIL_FROM, DOCKET_JOBS, DOCKET_TEMPLATES, DOCKET_ARCHIVE,
DOCKET_ARCHIVE_DAYS, DOCKET_SIGNING_KEY, DOCKET_SECRET_FOLDERS, DOCKET_REQUIRE_DESTINATIONS, DOCKET_REPORT_SCOPE,
DOCKET_ADMIN_HOST, DOCKET_ADMIN_PORT, DOCKET_ADMIN_TOKENS, DOCKET_OIDC_…, LOG_LEVEL; and the variables of the
organizations' secrets

Exit codes: 0 stopped; 1 Redis or another part failed; 2 usage, configuration, or a conflict of deployments

Examples:
  COMPLIANCE_API_URL=https://api.example.com SMTP_URL=smtps://mail.example.com MAIL_FROM=reports@acme.example docket start
  docket start --local
  docket start --role worker --concurrency 8
  docket start --role scheduler,admin`)
    .action(async (flags) => (await import('../commands/start.ts')).start(flags, io));

  program
    .command('backfill')
    .description('Run a report for each of its periods within a past time range, at the lowest priority')
    .argument('<report>', '<org>/<report>')
    .requiredOption('--from <period>', 'first period: a day, week, month, quarter or year, e.g. 2026-01 or 2026-W03')
    .requiredOption('--to <period>', 'last period, e.g. 2026-09')
    .option('--deliver', 'deliver the runs; default: only archive them')
    .option('--again', 'make new runs even for periods that were backfilled or delivered before')
    .option('--yes', 'enqueue more than 20 runs without a prompt')
    .option('--by <name>', 'who requests it; default: the user of this shell')
    .wide()
    .option('--json', 'one JSON document on stdout')
    .details(`
Current counts without daily readings have no history: they are undefined in these runs, and the command lists their sections.

It first prints how many runs and calls it needs, and how many minutes the calls take at the limit of the API key. For more than
20 runs it prompts on a terminal; elsewhere, and with --json, it needs --yes.

Enqueues one run for each period of the report's kind (months for previous_month), at the lowest priority: on-demand and
scheduled runs and their calls come first. It uses the current definition. A repeated backfill finds its earlier runs; after a
change of the definition, --again creates new ones.
With --deliver, periods that another run has delivered before are skipped and listed; --again or DOCKET_REPEAT=allow sends
them as well.

Environment: REDIS_URL, DOCKET_JOBS, DOCKET_ARCHIVE, DOCKET_REPEAT, LOG_LEVEL; SMTP_URL and MAIL_FROM with --deliver;
COMPLIANCE_API_URL and the organization's key, to find the sections with current counts

Examples:
  docket backfill acme/board-pack --from 2026-01 --to 2026-09
  docket backfill acme/weekly-kpi --from 2026-W01 --to 2026-W26 --deliver --yes`)
    .action(async (report, flags) => (await import('../commands/runs/backfill.ts')).backfill(report, flags, io));

  program
    .command('pause')
    .description('Pause the scheduled runs of a report or an organization; without arguments, list the pauses')
    .argument('[target]', '<org> or <org>/<report>')
    .option('--reason <text>', 'why; stored with the pause')
    .option('--by <name>', 'who pauses; default: the user of this shell')
    .option('--history', 'list the latest pauses and resumptions instead')
    .wide()
    .option('--json', 'one JSON document on stdout')
    .details(`
Scheduled runs wait, including those already queued; a running one continues, and runs on demand are not affected. A pause
by an operator ends only with \`docket resume\`; slots that came due meanwhile are then caught up according to catch_up.

Environment: REDIS_URL, DOCKET_JOBS, LOG_LEVEL

Examples:
  docket pause acme/weekly-kpi --reason "the new figures are being checked"
  docket pause acme --reason "contract ended" --by legal
  docket pause`)
    .action(async (target, flags) => (await import('../commands/pause.ts')).pause(target, flags, io));

  program
    .command('resume')
    .description('End the pause of an organization or a report')
    .argument('<target>', '<org> or <org>/<report>')
    .option('--reason <text>', 'why; stored in the history of pauses', 'resumed')
    .option('--by <name>', 'who resumes; default: the user of this shell')
    .option('--json', 'one JSON document on stdout')
    .details(`
When the service rejects an API key, the scheduled runs of its organization are paused, too. That pause ends by itself with
another key, or when a run on demand succeeds; this command is for all other cases, e.g. a permission that was restored.
Slots that came due meanwhile are caught up according to catch_up. Pauses of single reports stay.

Environment: REDIS_URL, DOCKET_JOBS, LOG_LEVEL

Examples:
  docket resume acme
  docket resume acme/weekly-kpi --reason "figures checked"`)
    .action(async (target, flags) => (await import('../commands/pause.ts')).resume(target, flags, io));
}
