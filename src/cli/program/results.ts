import { Option } from 'commander';
import type { CommandIo } from '../io.ts';
import type { DocketCommand } from './command.ts';

export function addResultCommands(program: DocketCommand, io: CommandIo): void {
  program.commandsGroup('Results:');

  const runs = program
    .command('runs')
    .description('List runs; show, watch, get, approve, delegate, reject, cancel, retry or release one');
  runs
    .command('list', { isDefault: true })
    .description('List the recorded runs, newest first')
    .option('--org <org>', 'only of this organization')
    .option('--report <report>', 'only of this report, with --org')
    .option('--match <text>', 'words in the id or title of the report, or in the id or name of its organization')
    .option('--to <address>', 'only with deliveries to this address, or to addresses with this text, in any case')
    .option('--period <period>', 'only runs whose period begins in this one, e.g. 2026-10, 2026-W46, october')
    .option('--error <text>', 'only with an error whose code contains this text, e.g. smtp')
    .option(
      '--state <state...>',
      'only in these states: queued, running, waiting, done, partly_delivered, held, awaiting_approval, cancelled, failed, skipped',
    )
    .option('--since <instant>', 'only runs created since: 1h (ago), yesterday, 2026-11-01, 2026-11-01T08:00:00Z')
    .option('--until <instant>', 'only runs created before; in the forms of --since')
    .option('--after <cursor>', 'the next page: "next" of the previous page')
    .option('--limit <n>', 'maximum number of runs', '20')
    .wide()
    .option('--json', 'one JSON document on stdout: runs, and next for --after')
    .details(`
Ids are always searched; titles only if this machine has the definitions (DOCKET_JOBS).

Environment: REDIS_URL, DOCKET_JOBS, LOG_LEVEL

Examples:
  docket runs --org acme --report weekly-kpi
  docket runs --match "board pack" --period 2026-10
  docket runs --error smtp
  docket runs --state failed partly_delivered held --since 2026-11-16T00:00:00Z`)
    .action(async (flags) => (await import('../commands/runs/list.ts')).list(flags, io));

  runs
    .command('show')
    .description('Show a run: what happened, why, and what to do; its files, and each delivery')
    .argument('<id>', 'id of the run, its first 8 digits or more, or last: the newest run')
    .option('--org <org>', 'with last: the newest run of this organization')
    .option('--report <report>', 'with last: of this report, with --org')
    .wide()
    .option('--json', 'one JSON document on stdout')
    .details(`
Reads the record and the ledger from Redis, and the manifest from the archive; either alone is enough.

Environment: REDIS_URL, DOCKET_ARCHIVE, DOCKET_SIGNING_KEY, LOG_LEVEL

Examples:
  docket runs show 2f6c0e4d
  docket runs show last --org acme --report weekly-kpi`)
    .action(async (text, flags) => (await import('../commands/runs/show.ts')).show(text, flags, io));

  runs
    .command('watch')
    .description('Watch a queued run until it ends')
    .argument('<id>', 'id of the run, its first 8 digits or more, or last: the newest run')
    .option('--timeout <time>', 'stop watching after this time, e.g. 90s, 15m, 2h; the run continues')
    .option('--json', 'one JSON document on stdout: the record, when the run has ended')
    .details(`
Prints progress on stderr, one line per event, and on a terminal a bar for the calls. Keeps watching a run that waits or is
retried. Polls once a second; Ctrl-C stops watching, not the run.

Environment: REDIS_URL, LOG_LEVEL

Exit codes: 0 done; 1 failed, cancelled or not ended in time; 2 usage or configuration; 3 held or partly delivered; 130
Ctrl-C stopped watching

Examples:
  docket runs watch 2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e
  docket runs watch 2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e --timeout 15m --json`)
    .action(async (text, flags) => (await import('../commands/runs/watch.ts')).watch(text, flags, io));

  runs
    .command('get')
    .description('Copy everything that a run created and sent from the archive: files, e-mail, messages, receipts')
    .argument('<id>', 'id of the run, its first 8 digits or more, or last: the newest run')
    .option('--out <dir>', 'a new or empty folder; default: the id of the run')
    .option('--review', 'the files that wait for comments or approval, instead of the published ones')
    .option('--json', 'one JSON document on stdout')
    .details(`
Every hash is recomputed; if one differs, nothing is copied. Needs no Redis, which only speeds up the look-up of short ids.
--review needs it.

Environment: DOCKET_ARCHIVE, DOCKET_SIGNING_KEY, REDIS_URL, LOG_LEVEL

Example:
  docket runs get 2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e --out /tmp/pack`)
    .action(async (text, flags) => (await import('../commands/runs/get.ts')).get(text, flags, io));

  const decision = (name: 'cancel' | 'retry' | 'release', description: string) =>
    runs
      .command(name)
      .description(description)
      .argument('[ids...]', 'ids of runs, or their first 8 digits or more')
      .many()
      .option('--json', 'one JSON document on stdout')
      .actor()
      .action(async (ids, flags) => (await import('../commands/runs/decide.ts')).decide(name, ids, flags, io));
  const MANY = `
With several ids, or with filters, the command prints a preview and prompts. Without a terminal, repeat it with --confirm and the
printed digest: it then decides about what was printed. Items that have changed since are left out and listed. At most 500 at once.`;
  decision('cancel', 'Cancel runs that have not ended, or that wait for people').details(`
A waiting run ends at once. A running one is notified within two seconds, in any process, and stops before its next step; a
message that is being sent is finished first. Completed deliveries are not affected; \`docket runs retry\` continues with the
others.
${MANY}

Environment: REDIS_URL, DOCKET_ARCHIVE, DOCKET_SIGNING_KEY, LOG_LEVEL

Examples:
  docket runs cancel 2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e --reason "wrong recipients"
  docket runs cancel --org acme --state queued --since 1h --reason "queued by mistake"`);
  decision('retry', 'Retry failed deliveries or failed runs now; end the wait of waiting runs').details(`
Recipients who already have the files do not receive them again; the others receive the same files. Uncertain deliveries stay
unchanged: resolve them with \`docket deliveries resolve\`. A run that failed before its files were created starts again, with
the definition and the period that it was triggered with; corrected definitions take effect with a new run. A waiting run
begins its next attempt now.
${MANY} Filters include cancelled runs only with --state cancelled.

Environment: REDIS_URL, DOCKET_ARCHIVE, DOCKET_SIGNING_KEY, LOG_LEVEL

Examples:
  docket runs retry 2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e --reason "mail server is back"
  docket runs retry --error smtp --since yesterday --reason "mail server is back"`);
  decision('release', 'Deliver runs that are held because figures are missing').details(`
Every missing figure is marked in the files; check them first, with \`docket runs get\`. A release never approves: a report with
\`approval\` then waits for approval. An approval of incomplete figures needs no release.
${MANY} Filters never include runs with a review.

Environment: REDIS_URL, DOCKET_ARCHIVE, DOCKET_SIGNING_KEY, LOG_LEVEL

Example:
  docket runs release 2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e --reason "the board knows that October is preliminary"`);

  const review = (name: 'approve' | 'reject', description: string) =>
    runs
      .command(name)
      .description(description)
      .argument('<id>', 'id of the run, or its first 8 digits or more')
      .requiredOption('--reason <text>', 'why; stored with the decision')
      .option('--content <sha256>', 'hash of the content that you saw, 8 to 64 hex digits; default: a prompt')
      .option('--json', 'one JSON document on stdout: the review');
  review('approve', 'Approve exactly what a run would deliver')
    .option('--again', 'approve it even if another run has delivered the period meanwhile; no prompt')
    .details(`
Only people in \`approval.by\` of the report may do this. Sign in with a token: in DOCKET_TOKEN, or typed at the prompt.
When enough people have approved, a worker publishes and delivers the report. Until then, a comment or new figures void the
approvals.
If another run has delivered the period meanwhile, it prompts on a terminal; elsewhere, and with --json, it fails with
already_delivered.
\`docket runs get <id> --review\` copies the files to look at; \`docket runs show <id>\` prints the content's hash.

Environment: DOCKET_TOKEN, DOCKET_ADMIN_TOKENS, REDIS_URL, DOCKET_ARCHIVE, LOG_LEVEL

Example:
  docket runs approve 2f6c0e4d --content 9f2c4a1be0d3 --reason "figures checked against the register"`)
    .action(async (id, flags) =>
      (await import('../commands/reviews/decide-review.ts')).decideReview('approve', id, flags, io),
    );
  review('reject', 'Reject what a run would deliver: the run ends, or its figures are fetched again')
    .option('--refetch', 'fetch the figures again and review them again; default: the run ends')
    .details(`
Only people in \`approval.by\` of the report may do this. Sign in with a token, as for \`docket runs approve\`. The owner of
the report and the person who triggered the run get the reason by e-mail.

Environment: DOCKET_TOKEN, DOCKET_ADMIN_TOKENS, REDIS_URL, DOCKET_ARCHIVE, LOG_LEVEL

Example:
  docket runs reject 2f6c0e4d --content 9f2c4a1be0d3 --refetch --reason "the import of Friday was late"`)
    .action(async (id, flags) =>
      (await import('../commands/reviews/decide-review.ts')).decideReview('reject', id, flags, io),
    );

  runs
    .command('delegate')
    .description('Name a deputy, who may approve a run in place of an approver')
    .argument('<id>', 'id of the run, or its first 8 digits or more')
    .requiredOption('--to <person>', 'the deputy: a key of `people` in org.yaml, or a token or account listed there')
    .requiredOption('--reason <text>', 'why; stored with the decision')
    .option('--from <approver>', 'the approver, as in `approval.by`; default: you')
    .option('--until <day>', 'the last day, YYYY-MM-DD; default: no end')
    .option('--json', 'one JSON document on stdout: the review')
    .details(`
The approver may do this, and everybody in \`approval.may_delegate\` of the report. Sign in with a token, as for \`docket runs
approve\`. Approver and deputy count as one: only one of them can approve. The deputy gets a notice, and packs print "DEPUTY for
APPROVER". Nobody who triggered the run, wrote a printed comment or added a recipient can be the deputy, and a deputy cannot name
another one. The deputy must have been in \`people\` when the run was triggered. Deputies may also approve added recipients.

Environment: DOCKET_TOKEN, DOCKET_ADMIN_TOKENS, REDIS_URL, DOCKET_ARCHIVE, DOCKET_SIGNING_KEY, LOG_LEVEL

Example:
  docket runs delegate 2f6c0e4d --to head-of-compliance --until 2026-12-04 --reason "on leave"`)
    .action(async (id, flags) => (await import('../commands/reviews/decide-review.ts')).delegate(id, flags, io));

  program
    .command('comment')
    .description('Comment on the figures of a run before it is delivered')
    .argument('<id>', 'id of the run, or its first 8 digits or more')
    .option('--section <section>', 'id of the section; default: the whole report')
    .option('--value <value>', 'for a report with `split`: only in the pack of this value')
    .addOption(new Option('--file <path>', 'a text file; - reads standard input').conflicts(['text', 'withdraw']))
    .addOption(new Option('--text <text>', 'the comment itself').conflicts(['file', 'withdraw']))
    .addOption(new Option('--withdraw', 'remove the comment').conflicts(['file', 'text']))
    .option('--json', 'one JSON document on stdout: the review, and warnings')
    .details(`
The comment is printed in the workbook, the PDF and the e-mail, with its author. Plain text with paragraphs, lists (- or 1.),
*emphasis* and **strong**, at most 4,000 characters. {{ onboarding.profiles.created }} prints a figure of the run; with .change,
.previous, .status or .range at its end it prints the change, the figure before, the status or the usual range. Typed numbers
that contradict the figures of the section give a warning. A new comment voids earlier approvals.

With DOCKET_TOKEN the author is the person of the token, otherwise the user of this shell. Under \`four_eyes\`, an author cannot
approve the run.

Environment: DOCKET_TOKEN, DOCKET_ADMIN_TOKENS, REDIS_URL, DOCKET_ARCHIVE, LOG_LEVEL

Examples:
  docket comment 2f6c0e4d --section onboarding --file note.md
  docket comment 2f6c0e4d --text "October has one working day less."`)
    .action(async (id, flags) => (await import('../commands/reviews/comment.ts')).comment(id, flags, io));

  const deliveries = program.command('deliveries').description('List deliveries; resolve uncertain ones');
  deliveries
    .command('list', { isDefault: true })
    .description('List the deliveries of recent runs, of one run, or all that need a decision')
    .option('--org <org>', 'only of this organization')
    .option('--report <report>', 'only of this report, with --org')
    .option('--match <text>', 'words in the id or title of the report, or in the id or name of its organization')
    .option('--to <address>', 'only with deliveries to this address, or to addresses with this text, in any case')
    .option('--period <period>', 'only runs whose period begins in this one, e.g. 2026-10, 2026-W46, october')
    .option('--run <id>', 'only of this run: its id, or the first 8 digits or more')
    .option('--unknown', 'only those that may or may not have arrived, of all runs')
    .option('--value <value>', 'for reports with `split`: only of the pack of this value, e.g. Retail')
    .option('--after <cursor>', 'with --to, --match or --period, the next page: "next" of the previous page')
    .option('--limit <n>', 'number of runs, newest first; with --unknown, number of deliveries', '20')
    .wide()
    .option('--json', 'one JSON document on stdout')
    .details(`
With --to, --match or --period it shows who got what: deliveries in all states, with the period of the report, contents, time
and the reply of the server. A complete address matches only itself. Runs whose records have expired, or were lost with Redis,
are taken from the archive, as long as it has them.

Environment: REDIS_URL, DOCKET_JOBS, DOCKET_ARCHIVE, DOCKET_SIGNING_KEY, LOG_LEVEL

Examples:
  docket deliveries --to board@acme.example --period 2026-10
  docket deliveries --unknown
  docket deliveries --org acme --report weekly-kpi`)
    .action(async (flags) => (await import('../commands/deliveries.ts')).list(flags, io));
  deliveries
    .command('resolve')
    .description('Resolve a delivery that may have arrived, or was refused')
    .argument('[ids...]', 'ids of deliveries (see `docket deliveries`), or their first digits')
    .option('--run <id>', 'instead of ids: all deliveries of this run that may have arrived')
    .option('--value <value>', 'with --run: only those of the pack of this value; with --resend also its refused ones')
    .many()
    .option('--sent', 'it has arrived: mark it as sent')
    .option('--resend', 'send it again, with the same Message-ID; nothing else of its run is sent')
    .option('--json', 'one JSON document on stdout')
    .actor()
    .details(`
The decision, its author and reason are stored in the ledger, the archive and the audit log. A worker sends the messages.
${MANY} Of several deliveries, --sent marks those that may have arrived, and --resend sends only refused ones. What may have
arrived is sent again one by one, each with its own reason.

Environment: REDIS_URL, DOCKET_ARCHIVE, DOCKET_SIGNING_KEY, LOG_LEVEL

Examples:
  docket deliveries resolve 2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e --sent --reason "arrived, confirmed by phone"
  docket deliveries resolve 2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e --resend --reason "not in her mailbox"
  docket deliveries resolve --run 2f6c0e4d --sent --reason "all arrived, confirmed by phone"
  docket deliveries resolve --org acme --to @acme.example --resend --reason "mailboxes exist now"`)
    .action(async (ids, flags) => (await import('../commands/deliveries.ts')).resolve(ids, flags, io));
  addRecipientCommands(deliveries, io);
}

/** The subcommands of `docket deliveries` that add recipients to a run. */
function addRecipientCommands(deliveries: DocketCommand, io: CommandIo): void {
  deliveries
    .command('send')
    .description('Send the files of a run to one more address, or to the corrected address of a refused one')
    .argument('<run>', 'id of the run, or its first 8 digits or more')
    .requiredOption('--to <address>', 'who gets the files; the organization must allow the address')
    .option('--replaces <address>', 'the refused address that this one corrects: it is never retried')
    .option('--target <name>', 'which e-mail delivery, e.g. 0-email, if the run has several')
    .requiredOption('--reason <text>', 'why; stored with the decision')
    .option('--json', 'one JSON document on stdout')
    .details(`
The recipient gets the same files in a separate message. An address that has the files, or may have them, is refused. A later
corrected edition goes to this recipient as well. The definition is not changed: the command prints the line to correct for later
runs. In a report with \`approval\`, a recipient needs as many approvals as the report; whoever added the recipient cannot approve
(four_eyes). With DOCKET_TOKEN the owner of the token adds the recipient, otherwise the user of the shell.

Environment: REDIS_URL, DOCKET_ARCHIVE, DOCKET_JOBS, DOCKET_TOKEN, DOCKET_ADMIN_TOKENS, DOCKET_SIGNING_KEY, LOG_LEVEL

Examples:
  docket deliveries send 2f6c0e4d --to ana@acme.example --replaces ana@acmee.example --reason "typing error"
  docket deliveries send 2f6c0e4d --to audit@acme.example --reason "requested by the auditors"`)
    .action(async (run, flags) => (await import('../commands/recipients.ts')).send(run, flags, io));

  for (const [name, what] of [
    ['approve', 'Approve a recipient who was added to an approved run'],
    ['reject', 'Reject a recipient who was added to an approved run: nothing is sent to them'],
  ] as const) {
    deliveries
      .command(name)
      .description(what)
      .argument('<id>', 'id of the delivery, as `docket deliveries send` prints it')
      .requiredOption('--reason <text>', 'why; stored with the decision')
      .option('--json', 'one JSON document on stdout')
      .details(`
Only people in \`approval.by\` of the report may do this. Sign in with a token: in DOCKET_TOKEN, or typed at the prompt.

Environment: DOCKET_TOKEN, DOCKET_ADMIN_TOKENS, REDIS_URL, DOCKET_ARCHIVE, DOCKET_JOBS, DOCKET_SIGNING_KEY, LOG_LEVEL

Example:
  docket deliveries ${name} 2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e --reason "${name === 'approve' ? 'address checked by phone' : 'not an address of ours'}"`)
      .action(async (id, flags) =>
        (await import('../commands/recipients.ts')).decide(name === 'approve', id, flags, io),
      );
  }
}
