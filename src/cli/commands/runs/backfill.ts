import type { Command } from 'commander';
import type { CommandIo } from '../../io.ts';
import type { BackfillFlags } from './enqueue-backfill.ts';

export function addBackfillCommand(program: Command, io: CommandIo): void {
  program
    .command('backfill')
    .description('Run a report for each of its periods within a past time range, at the lowest priority')
    .argument('<report>', '<org>/<report>')
    .requiredOption('--from <period>', 'first period: a day, week, month, quarter or year, e.g. 2026-01 or 2026-W03')
    .requiredOption('--to <period>', 'last period, e.g. 2026-09')
    .option('--deliver', 'deliver the runs; default: only archive them')
    .option('--again', 'new runs even for periods that were backfilled or delivered before')
    .option('--by <name>', 'who requests it; default: the user of this shell')
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
Current counts have no history: they are undefined in these runs; the command lists the sections that contain some.

Enqueues one run per period of the report's own kind (previous_month: months) for the workers, at the lowest priority:
on-demand and scheduled runs and their calls come first. It uses the current definition. Repeating a backfill finds its runs;
after a correction of the definition, --again creates new ones.
With --deliver, periods that another run has delivered before are skipped and listed; --again or DOCKET_REPEAT=allow sends
them as well.

Environment: REDIS_URL, DOCKET_JOBS, DOCKET_ARCHIVE, DOCKET_REPEAT, LOG_LEVEL; SMTP_URL and MAIL_FROM with --deliver;
COMPLIANCE_API_URL and the organization's key, to find the sections with current counts

Examples:
  docket backfill acme/board-pack --from 2026-01 --to 2026-09
  docket backfill acme/weekly-kpi --from 2026-W01 --to 2026-W26 --deliver`,
    )
    .action(async (report: string, flags: BackfillFlags) => {
      const { enqueueBackfill } = await import('./enqueue-backfill.ts');
      await enqueueBackfill(report, flags, io);
    });
}
