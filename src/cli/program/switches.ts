import type { SwitchKind } from '../../services/switches/switch-service.ts';
import type { CommandIo } from '../io.ts';
import type { DocketCommand } from './command.ts';

export function addSwitchCommands(program: DocketCommand, io: CommandIo): void {
  const add = (kind: SwitchKind, description: string) =>
    program
      .command(kind)
      .description(`${description}; without arguments, list what is on`)
      .argument('[org]', 'only of this organization')
      .option('--all', 'of everything')
      .option('--release', 'end it')
      .option('--reason <text>', 'why; stored in the archive')
      .option('--by <name>', 'who decides; default: the user of this shell')
      .wide()
      .option('--json', 'one JSON document on stdout')
      .action(async (org, flags) => (await import('../commands/switches.ts')).switchCommand(kind, org, flags, io));

  add('stop', 'Stop all deliveries')
    .option('--also <run...>', 'with --release: send this run, too, although a newer run replaces it')
    .option('--except <run...>', 'with --release: cancel this run instead of sending it')
    .details(`
Nothing leaves, whatever the trigger: scheduled, on demand, approved, corrected or resent; to mailboxes, buckets, servers and
folders. A message that has begun is not completed. Runs are still fetched and rendered, and then wait. Their \`deadline\` and
the \`within\` of approvals stand still. Notices to owners and approvers go on: they have no figures.

A stop is stored in the archive. Every process that uses the archive obeys it: with the same Redis at once, otherwise within
ten seconds. While it cannot be read, nothing is sent. Processes of 0.2.0 ignore it; the command warns if it sees one.

A release sends what waits. A run that a newer run of its report and period supersedes or corrects is cancelled instead.
List what waits with \`docket stop\`, then choose with --also and --except. \`docket runs retry\` sends a cancelled run later.

Environment: REDIS_URL, DOCKET_ARCHIVE, DOCKET_JOBS, LOG_LEVEL

Examples:
  docket stop --all --reason "wrong figures since Monday"
  docket stop acme --reason "contract under review" --by legal
  docket stop
  docket stop --all --release --reason "figures corrected" --except 2f6c0e4d`);

  add('hold', 'Set a legal hold: nothing is deleted and nothing expires').details(`
Retention deletes no run, review, correction, reading or claim from the archive. Records of runs, ledger rows, definitions and
entries of indexes stay in Redis beyond their 90 days, as long as a worker runs once in 60 days. Deliveries go on. While it
cannot be read whether a hold is in force, nothing is deleted.

A hold is stored in the archive. Processes of 0.2.0 ignore it; the command warns if it sees one. It does not stop people who
can write to the archive: use a bucket with Object Lock for that.

Environment: REDIS_URL, DOCKET_ARCHIVE, DOCKET_JOBS, LOG_LEVEL

Examples:
  docket hold acme --reason "case 2026-114" --by legal
  docket hold
  docket hold acme --release --reason "case closed" --by legal`);
}
