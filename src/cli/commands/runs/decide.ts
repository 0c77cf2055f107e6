import type { Command } from 'commander';
import type { DeliveryRow } from '../../../services/deliveries/decisions.ts';
import type { CommandIo } from '../../io.ts';
import { type ActorFlags, addActorOptions, readActor } from '../../options/actor.ts';
import { createPrinter } from '../../terminal/print.ts';

type DecideFlags = ActorFlags & { readonly json?: boolean };

/** `retry` and `release`: decisions about a run that has ended. */
export function addRunDecisionCommands(runs: Command, io: CommandIo): void {
  const command = (name: 'retry' | 'release', description: string, help: string) =>
    addActorOptions(
      runs
        .command(name)
        .description(description)
        .argument('<id>', 'id of the run, or its first 8 digits or more')
        .option('--json', 'one JSON document on stdout'),
    )
      .addHelpText('after', help)
      .action((id: string, flags: DecideFlags) => decide(name, id, flags, io));
  command(
    'retry',
    'Retry deliveries known to have failed, or a run that failed',
    `
Recipients who already have the files do not receive them again; the others receive the same files. Uncertain deliveries stay
unchanged: resolve them with \`docket deliveries resolve\`. A run that failed before its files were created starts again, with
the definition and the period that it was triggered with; corrected definitions take effect with a new run.

Environment: REDIS_URL, DOCKET_ARCHIVE, DOCKET_SIGNING_KEY, LOG_LEVEL

Example:
  docket runs retry 2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e --reason "mail server is back"`,
  );
  command(
    'release',
    'Deliver a run that is held because figures are missing',
    `
Every missing figure is marked in the files; check them first, with \`docket runs get\`.

Environment: REDIS_URL, DOCKET_ARCHIVE, DOCKET_SIGNING_KEY, LOG_LEVEL

Example:
  docket runs release 2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e --reason "the board knows that October is preliminary"`,
  );
}

async function decide(what: 'retry' | 'release', text: string, flags: DecideFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const [
    { createContext },
    { withDecisions },
    { openAuditLog },
    { requireRunId },
    { isReportDelivery },
    { decideRun },
  ] = await Promise.all([
    import('../../context.ts'),
    import('../../decisions.ts'),
    import('../../audit-log.ts'),
    import('../../options/run-id.ts'),
    import('../../../services/deliveries/decision-rules.ts'),
    import('../../../services/deliveries/audited-decisions.ts'),
  ]);
  const actor = await readActor(flags);
  const context = createContext(io);
  await withDecisions(
    context,
    async ({ decisions, runs, redis }) => {
      const id = await requireRunId(text, runs);
      const record = await decideRun(id, what, actor, { decisions, audit: openAuditLog(redis, context) });
      const { org, report } = record;
      if (flags.json) return print.printJson(record);
      const { deliveries } = await decisions.page({ orgs: '*', run: id, limit: 1 });
      print.printLine(
        [
          `The run of ${org}/${report} ${record.period.label} is queued again; \`docket runs show ${id}\` shows the result.`,
          ...formatDeliveryCounts(id, deliveries.filter(isReportDelivery)),
        ].join('\n'),
      );
    },
    { decides: true },
  );
}

/** The number of deliveries that are sent now, and of those that need a decision. */
function formatDeliveryCounts(run: string, rows: readonly Pick<DeliveryRow, 'state'>[]): string[] {
  const countOf = (state: DeliveryRow['state']) => rows.filter((row) => row.state === state).length;
  const format = (count: number) => `${count} ${count === 1 ? 'delivery' : 'deliveries'}`;
  const [pending, unknown] = [countOf('pending'), countOf('unknown')];
  return [
    ...(pending === 0 ? [] : [`${format(pending)} queued.`]),
    ...(unknown === 0
      ? []
      : [
          `${format(unknown)} may have arrived and stay${unknown === 1 ? 's' : ''} unknown; decide with \`docket deliveries resolve\` (\`docket deliveries --run ${run}\`).`,
        ]),
  ];
}
