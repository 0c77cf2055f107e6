import type { Command } from 'commander';
import type { DeliveryRow } from '../queue/decisions.ts';
import { type DeciderFlags, decides, readDecider } from './decider.ts';

/** `retry` and `release`: what a person decides of a run that has ended. */
export function addRunDecisions(runs: Command): void {
  const command = (name: 'retry' | 'release', description: string, help: string) =>
    decides(
      runs
        .command(name)
        .description(description)
        .argument('<id>', 'the run: its id, or the first 8 digits or more')
        .option('--json', 'one JSON document on stdout'),
    )
      .addHelpText('after', help)
      .action((id: string, flags: DeciderFlags & { readonly json?: boolean }) => decide(name, id, flags));
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
  flags: DeciderFlags & { readonly json?: boolean },
): Promise<void> {
  const [{ readSurroundings }, { openDesk }, { openAudit }, { runIdOf }, { isOfReport }, print] = await Promise.all([
    import('./surroundings.ts'),
    import('../compose/decisions.ts'),
    import('./audit.ts'),
    import('./run-id.ts'),
    import('../queue/retry-scope.ts'),
    import('./print.ts'),
  ]);
  const who = await readDecider(flags);
  const around = readSurroundings();
  const { decisions, runs, redis, scope } = await openDesk(around, { decides: true });
  try {
    const id = await runIdOf(text, runs);
    const record = await decisions[what](id, who);
    const { org, report } = record;
    const event = what === 'retry' ? 'run.retried' : 'run.released';
    await (await openAudit(redis, around)).tell({ event, who: who.by, org, report, run: id, why: who.reason });
    if (flags.json) return print.printJson(record);
    const { deliveries } = await decisions.page({ orgs: '*', run: id, limit: 1 });
    print.printLine(
      [
        `The run of ${org}/${report} ${record.period.label} is in line again; \`docket runs show ${id}\` tells how it ends.`,
        ...deliveriesLines(id, deliveries.filter(isOfReport)),
      ].join('\n'),
    );
  } finally {
    await scope.close();
  }
}

/** What goes out now, and what waits for somebody. */
function deliveriesLines(run: string, rows: readonly Pick<DeliveryRow, 'state'>[]): string[] {
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
