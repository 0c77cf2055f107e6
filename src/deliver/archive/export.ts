import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { isErrno } from '../../base/errno.ts';
import { DocketError } from '../../base/error.ts';
import { toDiskError } from '../../base/files/disk-error.ts';
import { createFolder } from '../../base/files/durable-file.ts';
import { archiveCorrupt } from './archive-errors.ts';
import { sha256OfRunFile } from './run-folder/run-metadata.ts';
import type { RunFiles, RunRef, StoredRun } from './storage/archive-storage.ts';
import { directoryRunFiles } from './storage/directory-storage.ts';
import { runProblems } from './verify/verify-run.ts';

export interface ExportedFile {
  /** Relative to the folder, separated by `/`. */
  readonly name: string;
  readonly sha256: string;
}

/**
 * Copies an archived run into a new or empty folder, whole or not at all, and verifies the copy. Throws
 * `archive.corrupt` with every problem found, and `usage.invalid` when the folder is not empty.
 */
export async function exportRun(
  { files, id, org, report }: Pick<StoredRun, keyof RunRef | 'files'>,
  folder: string,
): Promise<readonly ExportedFile[]> {
  await createFolder(dirname(folder));
  const staged = join(dirname(folder), `.${basename(folder)}-${randomBytes(6).toString('hex')}`);
  try {
    await mkdir(staged);
    await copyRunFiles(files, await files.list(), staged);
    const copy = directoryRunFiles(staged);
    const problems = await runProblems({ id, org, report, files: copy });
    if (problems.length > 0) throw archiveCorrupt(files.location, problems.join('; '));
    const exported = await Promise.all(
      (await copy.list()).map(async (name) => ({
        name,
        sha256: (await sha256OfRunFile(copy, name)) ?? 'unreadable',
      })),
    );
    try {
      // `rename` replaces a folder only if it is empty.
      await rename(staged, folder);
    } catch (error) {
      if (!isErrno(error, 'ENOTEMPTY', 'EEXIST', 'ENOTDIR')) throw error;
      throw new DocketError('usage.invalid', `${folder} is not empty.`, {
        where: folder,
        expected: 'a folder that does not exist or is empty',
        next: 'Choose another one with --out; nothing in this one was changed.',
      });
    }
    return exported;
  } catch (error) {
    throw await toDiskError(error, dirname(folder));
  } finally {
    await rm(staged, { recursive: true, force: true });
  }
}

/**
 * Copies these files of a run into a folder, in this order. Skips absent files. Throws `archive.corrupt` for an unsafe
 * name.
 */
export async function copyRunFiles(
  files: RunFiles,
  names: readonly string[],
  folder: string,
  pathOf = (name: string) => name,
): Promise<void> {
  for (const name of names) {
    const steps = name.split('/');
    // Names in a bucket are arbitrary: another program may have written them.
    if (steps.some((step) => step === '' || step === '.' || step === '..' || /[\\\p{Cc}]/u.test(step))) {
      throw archiveCorrupt(files.location, `it contains a file named ${JSON.stringify(name)}`);
    }
    const stream = await files.stream(name);
    if (stream === undefined) continue;
    const path = join(folder, pathOf(name));
    await mkdir(dirname(path), { recursive: true });
    await pipeline(stream, createWriteStream(path, { flags: 'wx' }));
  }
}
