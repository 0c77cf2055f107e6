import type { CommandIo } from '../io.ts';
import type { DocketCommand } from './command.ts';

/** The commands below `docket deliveries` that add recipients to a run. */
export function addRecipientCommands(deliveries: DocketCommand, io: CommandIo): void {
  deliveries
    .command('send')
    .description('Send the files of a run to one more address, or to the corrected address of a refused one')
    .argument('<run>', 'id of the run, or its first 8 digits or more')
    .requiredOption('--to <address>', 'who gets the files; the organization must allow the address')
    .option('--replaces <address>', 'the refused address that this one corrects: it is never retried')
    .option('--target <name>', 'which e-mail delivery, e.g. 0-email, where the run has several')
    .requiredOption('--reason <text>', 'why; stored with the decision')
    .option('--json', 'one JSON document on stdout')
    .details(`
The recipient gets the same files, in a message of their own. Whoever has them already, or may have them, is refused. A corrected
edition goes to them as well. The definition stays as it is: the command shows the line to fix for later runs.
In a report with \`approval\` as many people have to approve the recipient as the report, but not who added it (four_eyes). With
DOCKET_TOKEN the owner of the token adds the recipient, otherwise the user of the shell.

Environment: REDIS_URL, DOCKET_ARCHIVE, DOCKET_JOBS, DOCKET_TOKEN, DOCKET_ADMIN_TOKENS, DOCKET_SIGNING_KEY, LOG_LEVEL

Examples:
  docket deliveries send 2f6c0e4d --to ana@acme.example --replaces ana@acmee.example --reason "typing error"
  docket deliveries send 2f6c0e4d --to audit@acme.example --reason "asked for by the auditors"`)
    .action(async (run, flags) => (await import('../commands/recipients.ts')).send(run, flags, io));

  for (const [name, what] of [
    ['approve', 'Approve a recipient that was added to an approved run'],
    ['reject', 'Reject a recipient that was added to an approved run: nothing is sent there'],
  ] as const) {
    deliveries
      .command(name)
      .description(what)
      .argument('<id>', 'id of the delivery, as `docket deliveries send` prints it')
      .requiredOption('--reason <text>', 'why; stored with the decision')
      .option('--json', 'one JSON document on stdout')
      .details(`
Only people whom \`approval.by\` of the report names may do this. Sign in with a token: in DOCKET_TOKEN, or typed at the prompt.

Environment: DOCKET_TOKEN, DOCKET_ADMIN_TOKENS, REDIS_URL, DOCKET_ARCHIVE, DOCKET_JOBS, DOCKET_SIGNING_KEY, LOG_LEVEL

Example:
  docket deliveries ${name} 2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e --reason "${name === 'approve' ? 'address checked by phone' : 'not an address of ours'}"`)
      .action(async (id, flags) =>
        (await import('../commands/recipients.ts')).decide(name === 'approve', id, flags, io),
      );
  }
}
