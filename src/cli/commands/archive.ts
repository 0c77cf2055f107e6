import { DocketError } from '../../base/error.ts';
import { withArchive } from '../../compose/archive.ts';
import { newestCheckpoints } from '../../deliver/archive/chain/chain.ts';
import type { ArchiveStorage, StoredRun } from '../../deliver/archive/storage/archive-storage.ts';
import { type VerifyInput, verifyArchive } from '../../deliver/archive/verify/verify-archive.ts';
import type { ArchiveFinding } from '../../deliver/archive/verify/verify-run.ts';
import { createContext } from '../context.ts';
import type { CommandIo } from '../io.ts';
import { findRunId } from '../options/run-id.ts';
import { createPrinter } from '../terminal/print.ts';
import { openProgressBars, type ProgressBars } from '../terminal/progress-bar.ts';
import { readVerifyInput } from '../verify-input.ts';

interface VerifyFlags {
  readonly org?: string;
  readonly run?: string;
  readonly publicKey?: string;
  readonly checkpoint?: string;
  readonly json?: boolean;
}

export async function verify(flags: VerifyFlags, io: CommandIo): Promise<void> {
  const bars = openProgressBars(io);
  try {
    const context = await createContext(io);
    const input = await readVerifyInput(context, flags);
    const id = flags.run === undefined ? undefined : await findRunId(context, flags.run);
    await withArchive(context, async ({ storage }) => {
      const run = flags.run === undefined ? undefined : await storedRun(storage, id, flags.run, flags.org);
      await verifyAll(storage, { ...input, run }, flags, bars, io);
    });
  } finally {
    bars.close();
  }
}

/** Throws `run.not_found`. */
async function storedRun(
  storage: ArchiveStorage,
  id: string | undefined,
  text: string,
  org: string | undefined,
): Promise<StoredRun> {
  const found = id === undefined ? undefined : await storage.find(id);
  if (found !== undefined && (org ?? found.org) === found.org) return found;
  throw new DocketError('run.not_found', `The archive has no run ${JSON.stringify(text)}.`, {
    where: storage.location,
    expected: 'the id of a run that created files, or its first 8 digits or more',
    next: '`docket runs` lists runs; DOCKET_ARCHIVE names the archive.',
  });
}

async function verifyAll(
  storage: ArchiveStorage,
  input: VerifyInput,
  flags: VerifyFlags,
  bars: ProgressBars,
  io: CommandIo,
): Promise<void> {
  const print = createPrinter(io);
  const archive = storage.location;
  const faulty: object[] = [];
  const notes: (ArchiveFinding & { readonly run?: string })[] = [];
  const archiveFindings: ArchiveFinding[] = [];
  let [runs, signed, faults, faultyRuns] = [0, 0, 0, 0];
  const bar = bars.add('verifying');
  const report = (location: string, findings: readonly ArchiveFinding[]): void => {
    if (flags.json) return;
    for (const { code, text, note } of findings)
      print.printText(`${location}: ${note ? 'note: ' : ''}${text} [${code}]`);
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
    // There may be thousands of unsigned runs, so only their number is printed.
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
  print.printText(
    faults === 0
      ? `${runs === 1 ? '1 run' : `${runs} runs`} in ${archive}, all unchanged.`
      : `${faults} ${faults === 1 ? 'error' : 'errors'} in ${archive}, in ${faultyRuns} of its runs (${runs} in all).`,
  );
  if (signed > 0) print.printText(`In a signed chain: ${signed}. Outside of one: ${runs - signed}.`);
}

export async function printNewestCheckpoints(flags: Pick<VerifyFlags, 'org' | 'json'>, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  await withArchive(await createContext(io), async ({ storage }) => {
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
