import { type Command, Option } from 'commander';
import type { RunOrder } from '../run/record.ts';
import type { RunResult } from '../run/result.ts';

interface RunFlags {
  readonly period?: string;
  readonly out?: string;
  readonly deliver: boolean;
  readonly again?: boolean;
  readonly fresh?: boolean;
  readonly queue?: boolean;
  readonly wait?: boolean;
  readonly json?: boolean;
}

export function addRun(program: Command): void {
  program
    .command('run')
    .description('Run one report here and now, without the queue')
    .argument('<report>', '<org>/<report>')
    .option(
      '--period <period>',
      'another period than the definition’s, e.g. previous_month, 2026-Q3, 2026-10, 2026-W46, 2026-10-01..2026-10-15',
    )
    .option('--out <dir>', 'where the files go; out/<org>/<report>/<period> when absent')
    .option('--no-deliver', 'make the files, send nothing')
    .option('--again', 'deliver also what was delivered for this period already, without asking')
    .option('--fresh', 'ask the service anew, whatever max_age allows')
    .addOption(
      new Option('--queue', 'put it in the line of the workers instead, and say which run it is').conflicts([
        'out',
        'fresh',
      ]),
    )
    .option('--wait', 'with --queue: follow it to its end, as `docket runs watch` does')
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
With REDIS_URL set, its calls share the rate limit of the API key with those of the workers, and a run that delivers uses their
ledger, archive and records: docket runs and docket deliveries list it. Without, the run keeps a budget of its own, and beside
busy workers on the same key it may have to wait out a 429; a ledger in the archive's folder says what was sent.

A report that was delivered for this period already, by e-mail, SFTP, S3 or webhook, is not delivered again by accident: on a
terminal it asks first; elsewhere, and with --json, it ends with already_delivered. --again insists; DOCKET_REPEAT=allow never asks.

Environment: COMPLIANCE_API_URL, DOCKET_JOBS, DOCKET_TEMPLATES, DOCKET_ARCHIVE, DOCKET_SIGNING_KEY, DOCKET_REPEAT,
DOCKET_SECRET_FOLDERS, DOCKET_REQUIRE_DESTINATIONS, DOCKET_REPORT_SCOPE, REDIS_URL, LOG_LEVEL; SMTP_URL and
MAIL_FROM where it delivers e-mail; the organization's secrets

Exit codes: 0 done; 1 failed; 2 usage or configuration, or delivered already; 3 held, or not delivered to everybody

Examples:
  docket run acme/weekly-kpi --no-deliver --out out
  docket run acme/board-pack --period 2026-10 --json
  docket run acme/board-pack --period 2026-09 --queue --wait`,
    )
    .action(runReport);
}

async function runReport(report: string, flags: RunFlags): Promise<void> {
  if (flags.wait && !flags.queue) {
    const { DocketError } = await import('../base/error.ts');
    throw new DocketError('usage.invalid', 'A run that is made here and now is waited for anyway.', {
      where: '--wait',
      expected: '--queue as well',
      next: 'Add --queue, or leave --wait out.',
    });
  }
  if (flags.queue) {
    const [{ queueRun }, { parsePeriod }] = await Promise.all([
      import('./run-queue.ts'),
      import('../define/period.ts'),
    ]);
    const period = flags.period === undefined ? undefined : parsePeriod(flags.period);
    const { deliver, again = false, wait = false, json = false } = flags;
    return queueRun(report, { period, deliver, again, wait, json });
  }
  const [
    { readSurroundings },
    { requireMail },
    { loadJobs, requireReport },
    { parsePeriod },
    { runInline },
    { readAsker },
    { askingToRepeat },
    print,
  ] = await Promise.all([
    import('./surroundings.ts'),
    import('../compose/ports.ts'),
    import('../define/load.ts'),
    import('../define/period.ts'),
    import('./inline.ts'),
    import('./decider.ts'),
    import('./repeat.ts'),
    import('./print.ts'),
  ]);
  const around = readSurroundings();
  const jobs = await loadJobs(around.config.DOCKET_JOBS);
  const { definition, settings } = requireReport(jobs, report);
  if (flags.deliver) requireMail(definition, settings, around.config, '--no-deliver makes the files alone');
  const by = await readAsker();
  const request = {
    definition,
    settings,
    orgs: jobs.orgs,
    fresh: flags.fresh,
    period: flags.period === undefined ? undefined : parsePeriod(flags.period),
    out: ({ period }: RunOrder) => flags.out ?? `out/${report}/${period.label}`,
  };
  const { order, result } = await askingToRepeat({ again: flags.again ?? false, json: flags.json ?? false }, (again) =>
    runInline({ ...request, deliver: flags.deliver && { by, again } }, around),
  );
  if (flags.json) print.printJson(documentOf(order, result));
  else print.printLine(summaryOf(order, result));
  process.exitCode = result.state === 'done' ? 0 : 3;
}

/** What `--json` prints. Snake case, as the API and the manifest. */
const documentOf = (order: RunOrder, result: RunResult) => ({
  run: order.id,
  org: order.org,
  report: order.report,
  state: result.state,
  period: order.period,
  folder: result.folder,
  files: result.files.map(({ name, format, path, bytes, sha256 }) => ({ name, format, path, bytes, sha256 })),
  calls: result.calls.map(({ asOf, correlationId, ...call }) => ({
    ...call,
    as_of: asOf,
    correlation_id: correlationId,
  })),
  incomplete: result.incomplete.map(({ section, code, text }) => ({ section, code, text })),
  deliveries: result.receipts.map(({ delivery, messageId, ...receipt }) => ({
    id: delivery,
    ...receipt,
    message_id: messageId,
  })),
});

const summaryOf = (order: RunOrder, result: RunResult): string =>
  [
    `${order.org}/${order.report} ${order.period.label}: ${result.state.replaceAll('_', ' ')}, ${result.calls.length} API calls`,
    ...result.incomplete.map(({ section, text }) => `  ! ${section}: ${text}`),
    ...result.files.map(({ path }) => `  ${path}`),
    ...result.receipts.map(
      ({ target, recipient, state, detail }) =>
        `  ${target} → ${recipient}: ${state}${detail === null || state === 'sent' ? '' : ` (${detail})`}`,
    ),
  ].join('\n');
