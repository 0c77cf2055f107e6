import type { Command } from 'commander';
import type { DeliveryRow } from '../../../services/deliveries/decisions.ts';
import { type ActorFlags, addActorOptions, readActor } from '../../options/actor.ts';

/** `retry` and `release`: what a person decides of a run that has ended. */
export function addRunDecisionCommands(runs: Command): void {
  const command = (name: 'retry' | 'release', description: string, help: string) =>
    addActorOptions(
      runs
        .command(name)
        .description(description)
        .argument('<id>', 'the run: its id, or the first 8 digits or more')
        .option('--json', 'one JSON document on stdout'),
    )
      .addHelpText('after', help)
      .action((id: string, flags: ActorFlags & { readonly json?: boolean }) => decide(name, id, flags));
  command(
    'retry',
    'Try again what surely did not arrive, or a run that failed',
    `
Nobody who has the pack gets it again, and those who miss it get the same files. Deliveries that may have arrived stay as
they are: \`docket deliveries resolve\` is for them. A run that failed before its files were made begins again, with the
definition and the period that it was triggered with; corrected definitions take effect with a new run.

Environment: REDIS_URL, DOCKET_ARCHIVE, DOCKET_SIGNING_KEY, LOG_LEVEL

Example:
  docket runs retry 2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e --reason "mail server is back"`,
  );
  command(
    'release',
    'Send a pack that is held because figures are missing, as it is',
    `
Every missing figure is marked in the files; look at them first, with \`docket runs get\`.

Environment: REDIS_URL, DOCKET_ARCHIVE, DOCKET_SIGNING_KEY, LOG_LEVEL

Example:
  docket runs release 2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e --reason "the board knows that October is preliminary"`,
  );
}

async function decide(
  what: 'retry' | 'release',
  text: string,
  flags: ActorFlags & { readonly json?: boolean },
): Promise<void> {
  const [
    { createContext },
    { openDecisions },
    { openAuditLog },
    { requireRunId },
    { isReportDelivery },
    { decideRun },
    print,
  ] = await Promise.all([
    import('../../context.ts'),
    import('../../../compose/decisions.ts'),
    import('../../context.ts'),
    import('../../options/run-id.ts'),
    import('../../../services/deliveries/decision-rules.ts'),
    import('../../../services/deliveries/audited-decisions.ts'),
    import('../../terminal/print.ts'),
  ]);
  const who = await readActor(flags);
  const around = createContext();
  const { decisions, runs, redis, scope } = await openDecisions(around, { decides: true });
  try {
    const id = await requireRunId(text, runs);
    const record = await decideRun(id, what, who, { decisions, audit: await openAuditLog(redis, around) });
    const { org, report } = record;
    if (flags.json) return print.printJson(record);
    const { deliveries } = await decisions.page({ orgs: '*', run: id, limit: 1 });
    print.printLine(
      [
        `The run of ${org}/${report} ${record.period.label} is in line again; \`docket runs show ${id}\` tells how it ends.`,
        ...formatDeliveryCounts(id, deliveries.filter(isReportDelivery)),
      ].join('\n'),
    );
  } finally {
    await scope.close();
  }
}

/** What goes out now, and what waits for somebody. */
function formatDeliveryCounts(run: string, rows: readonly Pick<DeliveryRow, 'state'>[]): string[] {
  const of = (state: DeliveryRow['state']) => rows.filter((row) => row.state === state).length;
  const counted = (value: number) => `${value} ${value === 1 ? 'delivery' : 'deliveries'}`;
  const [pending, unknown] = [of('pending'), of('unknown')];
  return [
    ...(pending === 0 ? [] : [`${counted(pending)} queued to be sent.`]),
    ...(unknown === 0
      ? []
      : [
          `${counted(unknown)} may have arrived and stay${unknown === 1 ? 's' : ''} unknown; decide with \`docket deliveries resolve\` (\`docket deliveries --run ${run}\`).`,
        ]),
  ];
}
