import { type Command, Option } from 'commander';
import type { RunOrder } from '../run/record.ts';
import type { RunResult } from '../run/result.ts';

interface RunFlags {
  readonly period?: string;
  readonly out?: string;
  readonly deliver: boolean;
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
With REDIS_URL set, its calls stand in the same line for the API key as those of the workers; without, the run keeps a
budget of its own, and beside busy workers on the same key it may have to wait out a 429.

Environment: COMPLIANCE_API_URL, DOCKET_JOBS, DOCKET_TEMPLATES, REDIS_URL, LOG_LEVEL; SMTP_URL and MAIL_FROM where it delivers
e-mail; the organization's secrets

Exit codes: 0 done; 1 failed; 2 usage or configuration; 3 held, or not delivered to everybody

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
    return queueRun(report, { period, deliver: flags.deliver, wait: flags.wait ?? false, json: flags.json ?? false });
  }
  const [{ readSurroundings }, { requireMail }, { loadJobs, requireReport }, { parsePeriod }, { runInline }, print] =
    await Promise.all([
      import('./surroundings.ts'),
      import('../compose/ports.ts'),
      import('../define/load.ts'),
      import('../define/period.ts'),
      import('./inline.ts'),
      import('./print.ts'),
    ]);
  const around = readSurroundings();
  const jobs = await loadJobs(around.config.DOCKET_JOBS);
  const { definition, settings } = requireReport(jobs, report);
  if (flags.deliver) requireMail(definition, settings, around.config, '--no-deliver makes the files alone');
  const { order, result } = await runInline(
    {
      definition: flags.fresh ? { ...definition, max_age: 0 } : definition,
      settings,
      orgs: jobs.orgs,
      period: flags.period === undefined ? undefined : parsePeriod(flags.period),
      out: ({ period }) => flags.out ?? `out/${report}/${period.label}`,
      deliver: flags.deliver,
    },
    around,
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
