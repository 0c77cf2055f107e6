import type { CommandIo } from '../io.ts';
import type { DocketCommand } from './command.ts';

export function addDenialCommands(program: DocketCommand, io: CommandIo): void {
  program
    .command('deny')
    .description('Deny addresses and domains: they get no mail; without arguments, list them')
    .argument('[names...]', 'addresses, or domains without their sub-domains')
    .option('--file <path>', 'a file: one a line, or CSV with the column address, and perhaps reason; - reads stdin')
    .option('--remove', 'take them off the list')
    .option('--reason <text>', 'why; stored in the archive')
    .option('--by <name>', 'who decides; default: the user of this shell')
    .wide()
    .option('--json', 'one JSON document on stdout')
    .details(`
A denied address gets no report, no file by mail, no correction, no request for approval and no notice, whatever names it: a
definition, a list file, an added recipient. Its deliveries are skipped, the others go out, and the run is done. If nobody is
left, the owner is told. A message to several names no denied address. Definitions stay as they are: \`docket recipients\` finds them.

The list holds for the deployment, at most 10,000 entries, and is stored in the archive. While it cannot be read, nothing is
sent. A file with a bad line changes nothing. Processes of 0.2.0 ignore the list; the command warns if it sees one.

What was skipped is not sent by itself after a removal: --resend of \`docket deliveries\` sends it.

Environment: REDIS_URL, DOCKET_ARCHIVE, LOG_LEVEL

Examples:
  docket deny ana@acme.example --reason "left the company" --by hr
  docket deny --file leavers.csv --reason "leavers of November"
  docket deny
  docket deny ana@acme.example --remove --reason "back again"`)
    .action(async (names, flags) => (await import('../commands/denials.ts')).deny(names, flags, io));

  program
    .command('recipients')
    .description('Show what names an address, and what it got')
    .requiredOption('--of <address>', 'a complete address, in any case')
    .option('--limit <n>', 'maximum number of runs', '20')
    .wide()
    .option('--json', 'one JSON document on stdout')
    .details(`
Lists the lines of definitions and list files that name the address as recipient, owner, person or approver, the allow-lists
that have it or its domain, the entry of the deny list, and what it got, newest first, also from runs that only the archive has.

Environment: REDIS_URL, DOCKET_ARCHIVE, DOCKET_JOBS, LOG_LEVEL

Examples:
  docket recipients --of ana@acme.example`)
    .action(async (flags) => (await import('../commands/denials.ts')).recipients(flags, io));
}
