import type { Command } from 'commander';
import { type DeciderFlags, decides } from './decider.ts';

type CancelFlags = DeciderFlags & { readonly json?: boolean };

export function addRunsCancel(runs: Command): void {
  decides(
    runs
      .command('cancel')
      .description('Stop a run that has not ended')
      .argument('<id>', 'the run: its id, or the first 8 digits or more')
      .option('--json', 'one JSON document on stdout'),
  )
    .addHelpText(
      'after',
      `
A run that waits ends at once. One that is under way is told within two seconds, wherever it runs, and stops before its
next step; a message that is just being sent is settled first. What was delivered stays delivered and listed, and
\`docket runs retry\` goes on with the rest.

Environment: REDIS_URL, DOCKET_ARCHIVE, DOCKET_SIGNING_KEY, LOG_LEVEL

Example:
  docket runs cancel 2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e --reason "wrong recipients"`,
    )
    .action(cancel);
}

async function cancel(text: string, flags: CancelFlags): Promise<void> {
  const [{ readSurroundings }, { openDesk }, { openAudit }, { readDecider }, { runIdOf }, print] = await Promise.all([
    import('./surroundings.ts'),
    import('../compose/decisions.ts'),
    import('./audit.ts'),
    import('./decider.ts'),
    import('./run-id.ts'),
    import('./print.ts'),
  ]);
  const who = await readDecider(flags);
  const around = readSurroundings();
  const { decisions, runs, redis, scope } = await openDesk(around);
  try {
    const id = await runIdOf(text, runs);
    const record = await decisions.cancel(id, who);
    const { org, report } = record;
    const entry = { event: 'run.cancelled', who: who.by, org, report, run: id, why: who.reason } as const;
    await (await openAudit(redis, around)).tell(entry);
    if (flags.json) return print.printJson(record);
    const of = `The run of ${org}/${report} ${record.period.label}`;
    print.printLine(
      record.state === 'cancelled'
        ? `${of} is cancelled.`
        : `${of} is told to stop, and does so before its next step; \`docket runs show ${id}\` tells when.`,
    );
  } finally {
    await scope.close();
  }
}
