import { Option } from 'commander';
import type { CommandIo } from '../io.ts';
import type { DocketCommand } from './command.ts';

/** Commands for the contents of the archive: corrections, readings, runs. The help lists them with the results. */
export function addArchiveCommands(program: DocketCommand, io: CommandIo): void {
  const corrections = program
    .command('corrections')
    .description('Correct delivered runs; list figures that the service has changed since, and decide about them');
  corrections
    .command('list', { isDefault: true })
    .description('List the corrections that wait for a decision, newest first')
    .option('--org <org>', 'only of this organization')
    .option('--all', 'also those that were decided, withdrawn or replaced')
    .wide()
    .option('--json', 'one JSON document on stdout')
    .details(`
Docket fetches the delivered figures of reports with \`corrections\` again, once a day, with calls that no run needs.

Environment: REDIS_URL, DOCKET_ARCHIVE, LOG_LEVEL

Examples:
  docket corrections
  docket corrections --org acme --all`)
    .action(async (flags) => (await import('../commands/corrections.ts')).list(flags, io));
  corrections
    .command('show')
    .description('Show what has changed, and who would receive a corrected edition')
    .argument('<id>', 'id of the correction: the first 8 digits of the run or more, and its number, e.g. 83b1c195-1')
    .wide()
    .option('--json', 'one JSON document on stdout')
    .details(`
Environment: REDIS_URL, DOCKET_ARCHIVE, DOCKET_JOBS, LOG_LEVEL

Example:
  docket corrections show 83b1c195-1`)
    .action(async (id, flags) => (await import('../commands/corrections.ts')).show(id, flags, io));
  corrections
    .command('open')
    .description('Correct a delivered run: withdraw what is not delivered, fetch new figures, send a corrected edition')
    .argument('<run>', 'id of the run, its first 8 digits or more, or last: the newest run')
    .option('--comment-file <path>', 'a text file, printed as a comment on the whole report; - reads standard input')
    .addOption(
      new Option('--definition <which>', 'the delivered one, or the current one').choices(['delivered', 'current']),
    )
    .option('--json', 'one JSON document on stdout')
    .actor()
    .details(`
Recipients who received the run, or may have, get a marked edition: file names, first page and subject say which edition it
replaces, and the first page gives the reason. Reports with \`corrections\` also list the figures that changed. Recipients who had
not received the run get the new edition without the mark. Nobody else gets it, not even new recipients of a changed definition.
A message that is being sent is finished first. Nothing more of the old edition is sent, whatever becomes of the correction.

If the report has \`approval\`, the corrected edition waits for approval. A report and period can have only one correction in
progress. It replaces a correction that Docket found and nobody has decided about.

With DOCKET_TOKEN, the owner of the token opens the correction, and the run must belong to an organization of the token.
Without it, the user of the shell does.

Environment: REDIS_URL, DOCKET_ARCHIVE, DOCKET_JOBS, DOCKET_TOKEN, DOCKET_ADMIN_TOKENS, DOCKET_SIGNING_KEY, LOG_LEVEL

Examples:
  docket corrections open 83b1c195 --reason "page 2 had the figures of September"
  docket corrections open 83b1c195 --definition current --comment-file note.md --reason "a filter was missing"`)
    .action(async (run, flags) => (await import('../commands/corrections.ts')).open(run, flags, io));
  corrections
    .command('send')
    .description('Send a corrected edition to those recipients of the first one who are still allowed')
    .argument('<id>', 'id of the correction')
    .option('--json', 'one JSON document on stdout')
    .actor()
    .details(`
A worker makes it with the definition and the period of the first edition, and the current figures. If the report has
\`approval\`, the corrected edition waits for approval first.

Environment: REDIS_URL, DOCKET_ARCHIVE, DOCKET_JOBS, DOCKET_SIGNING_KEY, LOG_LEVEL

Example:
  docket corrections send 83b1c195-1 --reason "the register was late"`)
    .action(async (id, flags) => (await import('../commands/corrections.ts')).send(id, flags, io));
  corrections
    .command('dismiss')
    .description('Keep the delivered edition; the same changes are not reported again')
    .argument('<id>', 'id of the correction')
    .option('--json', 'one JSON document on stdout')
    .actor()
    .details(`
Environment: REDIS_URL, DOCKET_ARCHIVE, DOCKET_JOBS, DOCKET_SIGNING_KEY, LOG_LEVEL

Example:
  docket corrections dismiss 83b1c195-1 --reason "known, and the board is informed"`)
    .action(async (id, flags) => (await import('../commands/corrections.ts')).dismiss(id, flags, io));

  program
    .command('readings')
    .description('List the daily readings of current counts, and the days that were missed')
    .argument('[org]', 'only of this organization; default: all with readings in org.yaml')
    .option('--from <date>', 'first day, YYYY-MM-DD; default: the first reading, at most 31 days ago')
    .option('--to <date>', 'last day, YYYY-MM-DD; default: today')
    .option('--require-complete', 'exit with 1 if a reading was missed')
    .wide()
    .option('--json', 'one JSON document on stdout')
    .details(`
Reads the archive only. A missed reading stays a gap: the service has no history of current counts. With --from, days before
the first reading are gaps as well.

Environment: DOCKET_JOBS, DOCKET_ARCHIVE, LOG_LEVEL

Exit codes: 0 listed; 1 a reading was missed (--require-complete); 2 usage or configuration

Examples:
  docket readings acme
  docket readings acme --from 2026-10-01 --to 2026-10-31 --require-complete`)
    .action(async (org, flags) => (await import('../commands/readings.ts')).listReadings(org, flags, io));

  const archive = program.command('archive').description('Verify the archive of runs; print its checkpoints');
  archive
    .command('verify')
    .description('Recompute every hash of every archived run, and report each difference')
    .option('--org <org>', 'only of this organization')
    .option('--run <id>', 'only of this run: its id, or the first 8 digits or more')
    .option('--public-key <file>', 'public keys to trust, PEM; default: those of DOCKET_SIGNING_KEY')
    .option('--checkpoint <file>', 'checkpoints stored elsewhere: detects a truncated chain')
    .option('--json', 'one JSON document on stdout')
    .details(`
Reads every byte of the archive: files, e-mails and sent messages; where the archive is signed, also the chain of each
organization. Needs neither Redis nor the private key. Without a key from outside, the archive's own public keys are used,
which prove nothing to somebody who does not trust the archive.

Environment: DOCKET_ARCHIVE, DOCKET_SIGNING_KEY, LOG_LEVEL

Exit codes: 0 everything is unchanged; 1 something has changed; 2 usage or configuration

Examples:
  docket archive verify --org acme
  docket archive verify --run 2f6c0e4d
  docket archive verify --public-key docket.pub.pem --checkpoint checkpoints.jsonl`)
    .action(async (flags) => (await import('../commands/archive.ts')).verify(flags, io));
  archive
    .command('checkpoint')
    .description('Print the newest signed checkpoint of each organization, to be stored elsewhere')
    .option('--org <org>', 'only of this organization')
    .option('--json', 'one JSON document on stdout')
    .details(`
One line for each organization: the current end of its chain. Store it where users with write access to the archive cannot
write; \`docket archive verify --checkpoint FILE\` then detects that the end of the chain was removed.

Environment: DOCKET_ARCHIVE, LOG_LEVEL

Example:
  docket archive checkpoint --org acme`)
    .action(async (flags) => (await import('../commands/archive.ts')).printNewestCheckpoints(flags, io));
}
