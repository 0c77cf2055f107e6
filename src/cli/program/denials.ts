import type { CommandIo } from '../io.ts';
import type { DocketCommand } from './command.ts';

export function addDenialCommands(program: DocketCommand, io: CommandIo): void {
  program
    .command('deny')
    .description('Deny addresses and domains: they get no mail; without arguments, list them')
    .argument('[names...]', 'addresses, or domains without their sub-domains')
    .option('--file <path>', 'a file with an entry per line, or CSV with columns address and reason; - reads stdin')
    .option('--remove', 'remove them from the list')
    .option('--reason <text>', 'why; stored in the archive')
    .option('--by <name>', 'who decides; default: the user of this shell')
    .wide()
    .option('--json', 'one JSON document on stdout')
    .details(`
A denied address gets no report, no file by mail, no correction, no request for approval and no notice, whether a definition, a
list file or an added recipient names it. Its deliveries are skipped, the others go out, and the run ends as done. If nobody is
left, the owner gets a notice. No message shows a denied address. \`docket recipients\` finds the definitions to change.

The list applies to the whole deployment, has at most 10,000 entries, and is stored in the archive. While it cannot be read,
nothing is sent. A file with an invalid line changes nothing. Processes of 0.2.0 ignore the list; the command warns if it sees one.

After a removal, skipped deliveries are not sent automatically: \`docket deliveries resolve\` with --resend sends them.

Environment: REDIS_URL, DOCKET_ARCHIVE, LOG_LEVEL

Examples:
  docket deny ana@acme.example --reason "left the company" --by hr
  docket deny --file leavers.csv --reason "leavers of November"
  docket deny
  docket deny ana@acme.example --remove --reason "back again"`)
    .action(async (names, flags) => (await import('../commands/denials.ts')).deny(names, flags, io));

  program
    .command('recipients')
    .description('Show where an address is named, and what was sent to it')
    .requiredOption('--of <address>', 'a complete address; case does not matter')
    .option('--limit <n>', 'maximum number of runs', '20')
    .wide()
    .option('--json', 'one JSON document on stdout')
    .details(`
Lists the lines of definitions and list files that name the address as recipient, owner, person or approver, the allow-lists
that have it or its domain, its entry in the deny list, and what was sent to it, newest first, even from runs in the archive only.

Environment: REDIS_URL, DOCKET_ARCHIVE, DOCKET_JOBS, LOG_LEVEL

Examples:
  docket recipients --of ana@acme.example`)
    .action(async (flags) => (await import('../commands/denials.ts')).recipients(flags, io));
}
