import type { Command } from 'commander';
import type { CommandIo } from '../../io.ts';
import { type ActorFlags, addActorOptions } from '../../options/actor.ts';
import { createPrinter } from '../../terminal/print.ts';

type CancelFlags = ActorFlags & { readonly json?: boolean };

export function addRunsCancelCommand(runs: Command, io: CommandIo): void {
  addActorOptions(
    runs
      .command('cancel')
      .description('Cancel a run that has not ended')
      .argument('<id>', 'id of the run, or its first 8 digits or more')
      .option('--json', 'one JSON document on stdout'),
  )
    .addHelpText(
      'after',
      `
A waiting run ends at once. A running one is notified within two seconds, in any process, and stops before its next step; a
message that is being sent is finished first. Deliveries that were made stay made and listed; \`docket runs retry\` continues
with the others.

Environment: REDIS_URL, DOCKET_ARCHIVE, DOCKET_SIGNING_KEY, LOG_LEVEL

Example:
  docket runs cancel 2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e --reason "wrong recipients"`,
    )
    .action((text: string, flags: CancelFlags) => cancel(text, flags, io));
}

async function cancel(text: string, flags: CancelFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const [{ createContext }, { withDecisions }, { openAuditLog }, { readActor }, { requireRunId }, { decideRun }] =
    await Promise.all([
      import('../../context.ts'),
      import('../../decisions.ts'),
      import('../../audit-log.ts'),
      import('../../options/actor.ts'),
      import('../../options/run-id.ts'),
      import('../../../services/deliveries/audited-decisions.ts'),
    ]);
  const actor = await readActor(flags);
  const context = createContext(io);
  await withDecisions(context, async ({ decisions, runs, redis }) => {
    const id = await requireRunId(text, runs);
    const record = await decideRun(id, 'cancel', actor, { decisions, audit: openAuditLog(redis, context) });
    const { org, report } = record;
    if (flags.json) return print.printJson(record);
    const subject = `The run of ${org}/${report} ${record.period.label}`;
    print.printLine(
      record.state === 'cancelled'
        ? `${subject} is cancelled.`
        : `${subject} stops before its next step; \`docket runs show ${id}\` shows when.`,
    );
  });
}
