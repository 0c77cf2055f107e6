import { resolve } from 'node:path';
import { DocketError } from '../../../base/error.ts';
import { withArchive } from '../../../compose/archive.ts';
import { exportRun } from '../../../deliver/archive/export.ts';
import { createContext } from '../../context.ts';
import type { CommandIo } from '../../io.ts';
import { findRunId } from '../../options/run-id.ts';
import { createPrinter } from '../../terminal/print.ts';

export async function get(
  text: string,
  flags: { readonly out?: string; readonly json?: boolean },
  io: CommandIo,
): Promise<void> {
  const print = createPrinter(io);
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
