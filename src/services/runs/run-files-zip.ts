import { DocketError } from '../../base/error.ts';
import { MAX_ZIP_BYTES, zipChunks } from '../../render/formats/csv/zip.ts';
import type { RunFile } from './run-file-reader.ts';

/** Space per file for its name and its directory entry. */
const ENTRY_BYTES = 1_024;

/**
 * Yields a run's files as one zip, in chunks, with their names in the archive. Compresses texts; workbooks and PDFs are
 * compressed already. Throws `archive.corrupt` for a missing or changed file, so that the chunks yielded before form an
 * incomplete zip. Throws `usage.invalid` before the first chunk for files of more than 4 GB.
 *
 * @param at epoch ms; its day is the date of each file
 */
export async function* zipRunFiles(
  files: readonly Pick<RunFile, 'name' | 'type' | 'bytes' | 'open'>[],
  at: number,
): AsyncGenerator<Uint8Array, void> {
  assertFits(files);
  yield* zipChunks(
    files.map(({ name, type, open }) => ({ name, open, isCompressed: !type.startsWith('text/') })),
    at,
  );
}

function assertFits(files: readonly Pick<RunFile, 'bytes'>[]): void {
  const bytes = files.reduce((sum, file) => sum + file.bytes + ENTRY_BYTES, 0);
  if (bytes <= MAX_ZIP_BYTES) return;
  throw new DocketError('usage.invalid', 'The files of the run are too large for one zip.', {
    expected: `at most ${MAX_ZIP_BYTES} bytes together`,
    got: `${bytes} bytes`,
    next: 'Download them one by one.',
  });
}
