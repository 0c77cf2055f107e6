import type { SwitchKind } from '../../services/switches/switch-service.ts';
import type { CommandIo } from '../io.ts';
import type { DocketCommand } from './command.ts';

export function addSwitchCommands(program: DocketCommand, io: CommandIo): void {
  const add = (kind: SwitchKind, description: string) =>
    program
      .command(kind)
      .description(`${description}; without arguments, list those in force`)
      .argument('[org]', 'only for this organization')
      .option('--all', 'for all organizations')
      .option('--release', `end the ${kind}`)
      .option('--reason <text>', 'why; stored in the archive')
      .option('--by <name>', 'who decides; default: the user of this shell')
      .wide()
      .option('--json', 'one JSON document on stdout')
      .action(async (org, flags) => (await import('../commands/switches.ts')).switchCommand(kind, org, flags, io));

  add('stop', 'Stop all deliveries')
    .option('--also <run...>', 'with --release: send this run, too, although a newer run replaces it')
    .option('--except <run...>', 'with --release: cancel this run instead of sending it')
    .details(`
Nothing is sent to mailboxes, buckets, servers or folders, whether a run is scheduled, on demand, approved, corrected or resent.
A message that is being sent is not completed. Runs are still fetched and rendered, and then wait. Their \`deadline\` and the \`within\`
of approvals do not run meanwhile. Notices to owners and approvers are still sent: they contain no figures.

A stop is stored in the archive. Every process that uses the archive obeys it: with the same Redis at once, otherwise within
ten seconds. While the stops cannot be read, nothing is sent. Processes of 0.2.0 ignore them; the command warns if it sees one.

A release sends the runs that wait. A run that a newer run of its report and period supersedes or corrects is cancelled instead.
List the waiting runs with \`docket stop\`, then choose with --also and --except. \`docket runs retry\` sends a cancelled run later.

Environment: REDIS_URL, DOCKET_ARCHIVE, DOCKET_JOBS, LOG_LEVEL

Examples:
  docket stop --all --reason "wrong figures since Monday"
  docket stop acme --reason "contract under review" --by legal
  docket stop
  docket stop --all --release --reason "figures corrected" --except 2f6c0e4d`);

  add('hold', 'Set a legal hold: nothing is deleted and nothing expires').details(`
Retention deletes no run, review, correction, reading or claim from the archive. Records of runs, ledger rows, definitions and
entries of indexes stay in Redis beyond their 90 days, if a worker runs at least once in 60 days. Deliveries go on. While the
holds cannot be read, nothing is deleted.

A hold is stored in the archive. Processes of 0.2.0 ignore it; the command warns if it sees one. A hold does not stop people who
can write to the archive: use a bucket with Object Lock for that.

Environment: REDIS_URL, DOCKET_ARCHIVE, DOCKET_JOBS, LOG_LEVEL

Examples:
  docket hold acme --reason "case 2026-114" --by legal
  docket hold
  docket hold acme --release --reason "case closed" --by legal`);
}
