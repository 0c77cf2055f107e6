import type { Command } from 'commander';
import type { CommandIo } from '../../io.ts';
import { createPrinter } from '../../terminal/print.ts';

export function addRunsGetCommand(runs: Command, io: CommandIo): void {
  runs
    .command('get')
    .description('Copy everything that a run created and sent from the archive: files, e-mail, messages, receipts')
    .argument('<id>', 'id of the run, or its first 8 digits or more')
    .option('--out <dir>', 'a new or empty folder; default: the id of the run')
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
Every hash is recomputed; if one differs, nothing is copied. Needs no Redis, which only speeds up the look-up of short ids.

Environment: DOCKET_ARCHIVE, DOCKET_SIGNING_KEY, REDIS_URL, LOG_LEVEL

Example:
  docket runs get 2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e --out /tmp/pack`,
    )
    .action((text: string, flags: { readonly out?: string; readonly json?: boolean }) => get(text, flags, io));
}

async function get(
  text: string,
  flags: { readonly out?: string; readonly json?: boolean },
  io: CommandIo,
): Promise<void> {
  const print = createPrinter(io);
  const [{ resolve }, { createContext }, { DocketError }, { withArchive }, { exportRun }, { findRunId }] =
    await Promise.all([
      import('node:path'),
      import('../../context.ts'),
      import('../../../base/error.ts'),
      import('../../../compose/archive.ts'),
      import('../../../deliver/archive/export.ts'),
      import('../../options/run-id.ts'),
    ]);
  const context = createContext(io);
  const id = await findRunId(context, text);
  const folder = resolve(io.cwd ?? '', flags.out ?? id ?? '.');
  const { run, files } = await withArchive(context, async ({ storage, signing }) => {
    const found = id === undefined ? undefined : await storage.find(id);
    if (found === undefined) {
      throw new DocketError('run.not_found', `The archive has no run ${JSON.stringify(text)}.`, {
        where: storage.location,
        expected: 'the id of a run that created files, or its first 8 digits or more',
        next: '`docket runs` lists runs; DOCKET_ARCHIVE names the archive.',
      });
    }
    // Detects files that were changed together with their hashes.
    await signing?.verifyManifest(found);
    return { run: found, files: await exportRun(found, folder) };
  });
  if (flags.json) return print.printJson({ run: run.id, org: run.org, report: run.report, folder, files });
  print.printLine(`${files.length} files, all unchanged, in ${folder}`);
  for (const { name, sha256 } of files) print.printLine(`  ${sha256}  ${name}`);
}
