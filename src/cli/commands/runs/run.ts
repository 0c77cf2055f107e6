import { type Command, Option } from 'commander';
import type { RunOrder } from '../../../run/run-record.ts';
import type { RunResult } from '../../../run/run-result.ts';
import { type CommandIo, resolvePath } from '../../io.ts';
import { createPrinter } from '../../terminal/print.ts';

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

export function addRunCommand(program: Command, io: CommandIo): void {
  program
    .command('run')
    .description('Run one report now, in this process')
    .argument('<report>', '<org>/<report>')
    .option(
      '--period <period>',
      'instead of the definition’s period, e.g. previous_month, 2026-Q3, 2026-10, 2026-W46, 2026-10-01..2026-10-15',
    )
    .option('--out <dir>', 'output folder; default: out/<org>/<report>/<period>')
    .option('--no-deliver', 'only create the files')
    .option('--again', 'deliver again even if it was delivered for this period before; no prompt')
    .option('--fresh', 'ignore cached answers, whatever max_age allows')
    .addOption(
      new Option('--queue', 'enqueue it for the workers instead, and print the run id').conflicts(['out', 'fresh']),
    )
    .option('--wait', 'with --queue: watch it to its end, like `docket runs watch`')
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
With REDIS_URL set, it shares one rate limiter per API key with the workers, and a run that delivers uses their ledger, archive
and records: docket runs and docket deliveries list it. Without, it has its own rate limiter, and beside busy workers on the
same key it may have to wait after a 429; a ledger in the archive's folder records what was sent.

A report that was delivered for this period before, by e-mail, SFTP, S3 or webhook, is not delivered again by accident: on a
terminal it prompts first; elsewhere, and with --json, it fails with already_delivered. --again forces it;
DOCKET_REPEAT=allow never prompts.

Environment: COMPLIANCE_API_URL, DOCKET_JOBS, DOCKET_TEMPLATES, DOCKET_ARCHIVE, DOCKET_SIGNING_KEY, DOCKET_REPEAT,
DOCKET_SECRET_FOLDERS, DOCKET_REQUIRE_DESTINATIONS, DOCKET_REPORT_SCOPE, REDIS_URL, LOG_LEVEL; SMTP_URL and
MAIL_FROM for e-mail; the organization's secrets

Exit codes: 0 done; 1 failed; 2 usage or configuration, or already delivered; 3 held or partly delivered

Examples:
  docket run acme/weekly-kpi --no-deliver --out out
  docket run acme/board-pack --period 2026-10 --json
  docket run acme/board-pack --period 2026-09 --queue --wait`,
    )
    .action((report: string, flags: RunFlags) => runReport(report, flags, io));
}

async function runReport(report: string, flags: RunFlags, io: CommandIo): Promise<void> {
  const { deliver, again = false, wait = false, json = false } = flags;
  if (wait && !flags.queue) {
    const { DocketError } = await import('../../../base/error.ts');
    throw new DocketError('usage.invalid', 'The option requires --queue.', {
      where: '--wait',
      expected: '--queue as well',
      next: 'Add --queue, or leave --wait out.',
    });
  }
  const { parsePeriod } = await import('../../../definitions/periods/period.ts');
  if (flags.queue) {
    const { enqueueRun } = await import('./enqueue-run.ts');
    const period = flags.period === undefined ? undefined : parsePeriod(flags.period);
    return enqueueRun(report, { period, deliver, again, wait, json }, io);
  }
  const [
    { createContext },
    { assertMailConfigured },
    { loadDefinitions, requireReport },
    { runInline },
    { readActorName },
    { withRepeatConfirmation },
  ] = await Promise.all([
    import('../../context.ts'),
    import('../../../deliver/targets/email/mail-routes.ts'),
    import('../../../services/definitions/built-in-kinds.ts'),
    import('../../run-inline.ts'),
    import('../../options/actor.ts'),
    import('./confirm-repeat.ts'),
  ]);
  const context = createContext(io);
  const definitions = await loadDefinitions(context.config.DOCKET_JOBS);
  const { definition, settings } = requireReport(definitions, report);
  if (deliver) assertMailConfigured(definition, settings, context.config, '--no-deliver only creates the files');
  const by = await readActorName();
  const request = {
    definition,
    settings,
    orgs: definitions.orgs,
    fresh: flags.fresh,
    period: flags.period === undefined ? undefined : parsePeriod(flags.period),
    out: ({ period }: RunOrder) => resolvePath(flags.out ?? `out/${report}/${period.label}`, io),
  };
  const { order, result } = await withRepeatConfirmation({ again, json }, io, (force) =>
    runInline({ ...request, deliver: deliver && { by, again: force } }, context, io),
  );
  const print = createPrinter(io);
  if (json) print.printJson(runDocument(order, result));
  else print.printLine(formatResult(order, result));
  io.exitCode = result.state === 'done' ? 0 : 3;
}

/** The JSON document. Snake case, as the API and the manifest. */
const runDocument = (order: RunOrder, result: RunResult) => ({
  run: order.id,
  org: order.org,
  report: order.report,
  state: result.state,
  period: order.period,
  ...(order.sectionPeriods === undefined ? {} : { section_periods: order.sectionPeriods }),
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

const formatResult = (order: RunOrder, result: RunResult): string =>
  [
    `${order.org}/${order.report} ${order.period.label}: ${result.state.replaceAll('_', ' ')}, ${result.calls.length} API calls`,
    ...result.incomplete.map(({ section, text }) => `  ! ${section}: ${text}`),
    ...result.files.map(({ path }) => `  ${path}`),
    ...result.receipts.map(
      ({ target, recipient, state, detail }) =>
        `  ${target} → ${recipient}: ${state}${detail === null || state === 'sent' ? '' : ` (${detail})`}`,
    ),
  ].join('\n');
