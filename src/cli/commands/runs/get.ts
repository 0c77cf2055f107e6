import { resolve } from 'node:path';
import type { AppContext } from '../../../base/context.ts';
import { DocketError } from '../../../base/error.ts';
import { withArchive } from '../../../compose/archive.ts';
import { withDecisions } from '../../../compose/decisions.ts';
import { exportRun } from '../../../deliver/archive/export.ts';
import type { RunRef } from '../../../deliver/archive/storage/archive-storage.ts';
import { loadReview } from '../../../run/review/load-review.ts';
import { runNotFoundError } from '../../../run/run-record.ts';
import { reviewedFiles } from '../../../services/reviews/reviewed-files.ts';
import { createContext } from '../../context.ts';
import type { CommandIo } from '../../io.ts';
import { findRunId } from '../../options/run-id.ts';
import { createPrinter } from '../../terminal/print.ts';

export async function get(
  text: string,
  flags: { readonly out?: string; readonly review?: boolean; readonly json?: boolean },
  io: CommandIo,
): Promise<void> {
  const print = createPrinter(io);
  const context = await createContext(io);
  const id = await findRunId(context, text);
  const folder = resolve(io.cwd ?? '', flags.out ?? id ?? '.');
  const { run, files } = await (flags.review
    ? exportReview(context, id ?? text, folder)
    : withArchive(context, async ({ storage, signing }) => {
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
      }));
  if (flags.json) return print.printJson({ run: run.id, org: run.org, report: run.report, folder, files });
  print.printLine(`${files.length} ${files.length === 1 ? 'file' : 'files'}, unchanged, in ${folder}`);
  for (const { name, sha256 } of files) print.printLine(`  ${sha256}  ${name}`);
}

/**
 * Copies the content under review. Throws `run.not_found` if there is no record, `run.conflict` if there is no content
 * yet.
 */
const exportReview = (context: AppContext, id: string, folder: string) =>
  withDecisions(context, async ({ runs, reviews }) => {
    const record = await runs.get(id);
    if (record === undefined) throw runNotFoundError(id);
    const run: RunRef = { id, org: record.org, report: record.report };
    const { content } = (await loadReview(reviews, run)).state;
    const files = content === null ? undefined : reviewedFiles(reviews, run, content);
    if (files === undefined || (await files.get('manifest.json')) === undefined) {
      throw new DocketError('run.conflict', `Run ${id} has no files to review.`, {
        expected: 'a run that waits for comments or approval and has created its files',
        got: record.state,
        next: `See \`docket runs show ${id.slice(0, 8)}\`.`,
      });
    }
    return { run, files: await exportRun({ ...run, files }, folder) };
  });
