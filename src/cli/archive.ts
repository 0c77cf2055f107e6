import { type Command, Option } from 'commander';
import type { ArchiveFinding } from '../deliver/finding.ts';
import type { Shelf } from '../deliver/shelf.ts';
import type { VerifyInput } from '../deliver/verify-signed.ts';
import type { Bars } from './progress-bar.ts';

interface VerifyFlags {
  readonly org?: string;
  readonly publicKey?: string;
  readonly checkpoint?: string;
  readonly json?: boolean;
}

export function addArchive(program: Command): void {
  const archive = program.command('archive').description('Look after the archive of what was sent');
  archive
    .command('verify')
    .description('Compute every hash of every archived run anew, and name each fault')
    .option('--org <org>', 'only of this organization')
    .addOption(new Option('--public-key <file>', 'public keys to trust, PEM; those of DOCKET_SIGNING_KEY when absent'))
    .addOption(new Option('--checkpoint <file>', 'checkpoints that were kept elsewhere: a chain that was cut shows'))
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
Reads every byte of the archive: files, e-mails and the messages that left; and, where it is signed, the chain of each
organization. Needs no Redis and no private key. Without a key from outside, the archive's own public keys are used, which
prove nothing to who does not trust the archive.

Environment: DOCKET_ARCHIVE, DOCKET_SIGNING_KEY, LOG_LEVEL

Exit codes: 0 all is as it was sealed and sent; 1 it is not; 2 usage or configuration

Examples:
  docket archive verify --org acme
  docket archive verify --public-key docket.pub.pem --checkpoint checkpoints.jsonl`,
    )
    .action(verify);
  archive
    .command('checkpoint')
    .description('Print the newest signed checkpoint of each organization, to be kept elsewhere')
    .option('--org <org>', 'only of this organization')
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
One line for each organization: how far its chain goes. Keep it where nobody who may write to the archive can write;
\`docket archive verify --checkpoint FILE\` then shows whether the end of the chain was cut off.

Environment: DOCKET_ARCHIVE, LOG_LEVEL

Example:
  docket archive checkpoint --org acme`,
    )
    .action(printCheckpoints);
}

async function verify(flags: VerifyFlags): Promise<void> {
  const [{ readSurroundings }, { withArchive }, { readVerifyInput }, { openBars }] = await Promise.all([
    import('./surroundings.ts'),
    import('../compose/archive.ts'),
    import('../compose/verify-input.ts'),
    import('./progress-bar.ts'),
  ]);
  const bars = openBars();
  try {
    const around = readSurroundings();
    const input = await readVerifyInput(around, flags);
    await withArchive(around, ({ shelf }) => verifyAll(shelf, input, flags, bars));
  } finally {
    bars.close();
  }
}

async function verifyAll(shelf: Shelf, input: VerifyInput, flags: VerifyFlags, bars: Bars): Promise<void> {
  const [{ DocketError }, { verifyArchive }, print] = await Promise.all([
    import('../base/error.ts'),
    import('../deliver/verify-signed.ts'),
    import('./print.ts'),
  ]);
  const archive = shelf.place;
  const faulty: object[] = [];
  const notes: (ArchiveFinding & { readonly run?: string })[] = [];
  const ofArchive: ArchiveFinding[] = [];
  let [runs, signed, faults, faultyRuns] = [0, 0, 0, 0];
  const bar = bars.add('verifying');
  const say = (place: string, findings: readonly ArchiveFinding[]): void => {
    if (flags.json) return;
    for (const { code, text, note } of findings) print.printLine(`${place}: ${note ? 'note: ' : ''}${text} [${code}]`);
  };
  for await (const verified of verifyArchive(shelf, input)) {
    const wrong = verified.findings.filter(({ note }) => note === undefined);
    faults += wrong.length;
    if (verified.kind === 'archive') {
      ofArchive.push(...wrong);
      notes.push(...verified.findings.filter(({ note }) => note));
      bars.close();
      say(archive, verified.findings);
      continue;
    }
    const { id: run, org, report, box } = verified.run;
    runs += 1;
    if (verified.signed) signed += 1;
    bar.set(0, 0, `${runs} runs so far, ${org}/${report} now`);
    // Of unsigned runs there may be very many: their number says it.
    const said = verified.findings.filter(({ note, code }) => note && code !== 'run.unsigned');
    notes.push(...said.map((finding) => ({ run, ...finding })));
    say(box.place, [...wrong, ...said]);
    if (wrong.length === 0) continue;
    faultyRuns += 1;
    faulty.push({ run, org, report, folder: box.place, faults: wrong.map(({ text }) => text), findings: wrong });
  }
  if (runs === 0 && faults === 0 && flags.org !== undefined) {
    throw new DocketError('run.not_found', `The archive has no run of ${JSON.stringify(flags.org)}.`, {
      where: archive,
      next: 'Leave --org out to verify all of it; DOCKET_ARCHIVE names the archive.',
    });
  }
  process.exitCode = faults === 0 ? 0 : 1;
  if (flags.json) return print.printJson({ archive, runs, signed, faulty, archive_findings: ofArchive, notes });
  const inRuns = `in ${faultyRuns} of ${runs} runs`;
  print.printLine(
    faults === 0
      ? `${runs} runs in ${archive}, each as it was sealed and sent.`
      : `${faults} ${faults === 1 ? 'fault' : 'faults'} ${inRuns} in ${archive}.`,
  );
  if (signed > 0) print.printLine(`${signed} runs are in a signed chain, ${runs - signed} are not.`);
}

async function printCheckpoints(flags: { readonly org?: string; readonly json?: boolean }): Promise<void> {
  const [{ readSurroundings }, { withArchive }, { newestCheckpoints }, { DocketError }, print] = await Promise.all([
    import('./surroundings.ts'),
    import('../compose/archive.ts'),
    import('../deliver/chain.ts'),
    import('../base/error.ts'),
    import('./print.ts'),
  ]);
  await withArchive(readSurroundings(), async ({ shelf }) => {
    const texts = await newestCheckpoints(shelf, flags.org);
    if (texts.length === 0) {
      throw new DocketError('request.not_found', 'The archive has no checkpoint.', {
        where: shelf.place,
        expected: 'an archive that is signed: a worker with DOCKET_SIGNING_KEY writes one a day for each organization',
        next: 'Make a key with `docket init --signing-key FILE`, and name it to every worker.',
      });
    }
    if (flags.json) print.printJson({ archive: shelf.place, checkpoints: texts.map((text) => JSON.parse(text)) });
    else for (const text of texts) print.printLine(text.trim());
  });
}
