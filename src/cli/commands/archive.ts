import { type Command, Option } from 'commander';
import type { ArchiveStorage } from '../../deliver/archive/storage/archive-storage.ts';
import type { VerifyInput } from '../../deliver/archive/verify/verify-archive.ts';
import type { ArchiveFinding } from '../../deliver/archive/verify/verify-run.ts';
import type { CommandIo } from '../io.ts';
import { createPrinter } from '../terminal/print.ts';
import { openProgressBars, type ProgressBars } from '../terminal/progress-bar.ts';

interface VerifyFlags {
  readonly org?: string;
  readonly publicKey?: string;
  readonly checkpoint?: string;
  readonly json?: boolean;
}

interface CheckpointFlags {
  readonly org?: string;
  readonly json?: boolean;
}

export function addArchiveCommand(program: Command, io: CommandIo): void {
  const archive = program.command('archive').description('Verify the archive of runs; print its checkpoints');
  archive
    .command('verify')
    .description('Recompute every hash of every archived run, and report each difference')
    .option('--org <org>', 'only of this organization')
    .addOption(new Option('--public-key <file>', 'public keys to trust, PEM; default: those of DOCKET_SIGNING_KEY'))
    .addOption(new Option('--checkpoint <file>', 'checkpoints stored elsewhere: detects a truncated chain'))
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
Reads every byte of the archive: files, e-mails and sent messages; where the archive is signed, also the chain of each
organization. Needs neither Redis nor the private key. Without a key from outside, the archive's own public keys are used,
which prove nothing to somebody who does not trust the archive.

Environment: DOCKET_ARCHIVE, DOCKET_SIGNING_KEY, LOG_LEVEL

Exit codes: 0 everything is unchanged; 1 something has changed; 2 usage or configuration

Examples:
  docket archive verify --org acme
  docket archive verify --public-key docket.pub.pem --checkpoint checkpoints.jsonl`,
    )
    .action((flags: VerifyFlags) => verify(flags, io));
  archive
    .command('checkpoint')
    .description('Print the newest signed checkpoint of each organization, to be stored elsewhere')
    .option('--org <org>', 'only of this organization')
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
One line for each organization: the current end of its chain. Store it where nobody with write access to the archive can
write; \`docket archive verify --checkpoint FILE\` then detects that the end of the chain was removed.

Environment: DOCKET_ARCHIVE, LOG_LEVEL

Example:
  docket archive checkpoint --org acme`,
    )
    .action((flags: CheckpointFlags) => printNewestCheckpoints(flags, io));
}

async function verify(flags: VerifyFlags, io: CommandIo): Promise<void> {
  const [{ createContext }, { withArchive }, { readVerifyInput }] = await Promise.all([
    import('../context.ts'),
    import('../../compose/archive.ts'),
    import('../verify-input.ts'),
  ]);
  const bars = openProgressBars(io);
  try {
    const context = createContext(io);
    const input = await readVerifyInput(context, flags);
    await withArchive(context, ({ storage }) => verifyAll(storage, input, flags, bars, io));
  } finally {
    bars.close();
  }
}

async function verifyAll(
  storage: ArchiveStorage,
  input: VerifyInput,
  flags: VerifyFlags,
  bars: ProgressBars,
  io: CommandIo,
): Promise<void> {
  const print = createPrinter(io);
  const [{ DocketError }, { verifyArchive }] = await Promise.all([
    import('../../base/error.ts'),
    import('../../deliver/archive/verify/verify-archive.ts'),
  ]);
  const archive = storage.location;
  const faulty: object[] = [];
  const notes: (ArchiveFinding & { readonly run?: string })[] = [];
  const archiveFindings: ArchiveFinding[] = [];
  let [runs, signed, faults, faultyRuns] = [0, 0, 0, 0];
  const bar = bars.add('verifying');
  const report = (location: string, findings: readonly ArchiveFinding[]): void => {
    if (flags.json) return;
    for (const { code, text, note } of findings)
      print.printLine(`${location}: ${note ? 'note: ' : ''}${text} [${code}]`);
  };
  for await (const verified of verifyArchive(storage, input)) {
    const errors = verified.findings.filter(({ note }) => note === undefined);
    faults += errors.length;
    if (verified.kind === 'archive') {
      archiveFindings.push(...errors);
      notes.push(...verified.findings.filter(({ note }) => note));
      bars.close();
      report(archive, verified.findings);
      continue;
    }
    const { id: run, org, report: name, files } = verified.run;
    runs += 1;
    if (verified.signed) signed += 1;
    bar.set(0, 0, `${runs} runs so far, now ${org}/${name}`);
    // There may be very many unsigned runs: only their number is printed.
    const runNotes = verified.findings.filter(({ note, code }) => note && code !== 'run.unsigned');
    notes.push(...runNotes.map((finding) => ({ run, ...finding })));
    report(files.location, [...errors, ...runNotes]);
    if (errors.length === 0) continue;
    faultyRuns += 1;
    const texts = errors.map(({ text }) => text);
    faulty.push({ run, org, report: name, folder: files.location, faults: texts, findings: errors });
  }
  if (runs === 0 && faults === 0 && flags.org !== undefined) {
    throw new DocketError('run.not_found', `The archive has no run of ${JSON.stringify(flags.org)}.`, {
      where: archive,
      next: 'Leave --org out to verify the whole archive; DOCKET_ARCHIVE names the archive.',
    });
  }
  io.exitCode = faults === 0 ? 0 : 1;
  if (flags.json) return print.printJson({ archive, runs, signed, faulty, archive_findings: archiveFindings, notes });
  print.printLine(
    faults === 0
      ? `${runs} runs in ${archive}, all unchanged.`
      : `${faults} ${faults === 1 ? 'error' : 'errors'} in ${faultyRuns} of ${runs} runs in ${archive}.`,
  );
  if (signed > 0) print.printLine(`${signed} runs are in a signed chain, ${runs - signed} are not.`);
}

async function printNewestCheckpoints(flags: CheckpointFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const [{ createContext }, { withArchive }, { newestCheckpoints }, { DocketError }] = await Promise.all([
    import('../context.ts'),
    import('../../compose/archive.ts'),
    import('../../deliver/archive/chain/chain.ts'),
    import('../../base/error.ts'),
  ]);
  await withArchive(createContext(io), async ({ storage }) => {
    const texts = await newestCheckpoints(storage, flags.org);
    if (texts.length === 0) {
      throw new DocketError('request.not_found', 'The archive has no checkpoint.', {
        where: storage.location,
        expected: 'a signed archive: a worker with DOCKET_SIGNING_KEY writes a checkpoint a day for each organization',
        next: 'Create a key with `docket init --signing-key FILE`, and set DOCKET_SIGNING_KEY for every worker.',
      });
    }
    if (flags.json) print.printJson({ archive: storage.location, checkpoints: texts.map((text) => JSON.parse(text)) });
    else for (const text of texts) print.printLine(text.trim());
  });
}
