import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { toDiskError } from '../../base/files/disk-error.ts';
import { DocketError } from '../../base/error.ts';
import { directoryRunFiles } from './storage/directory-storage.ts';
import { createFolder } from '../../base/files/durable-file.ts';
import { sha256OfRunFile } from './run-metadata.ts';
import { archiveCorrupt, hasErrnoCode } from './run-folder.ts';
import type { RunFiles, RunRef, StoredRun } from './storage/archive-storage.ts';
import { runProblems } from './verify/verify-run.ts';

/** A file that was taken out. */
export interface ExportedFile {
  /** Relative to the folder, with `/`. */
  readonly name: string;
  readonly sha256: string;
}

/**
 * Copies an archived run into a folder that is not there yet or empty, whole or not at all: what is verified is the copy.
 * Throws `archive.corrupt` with every fault, `usage.invalid` when the folder holds something.
 */
export async function exportRun(
  { files, ...run }: Pick<StoredRun, keyof RunRef | 'files'>,
  folder: string,
): Promise<readonly ExportedFile[]> {
  await createFolder(dirname(folder));
  const staged = join(dirname(folder), `.${basename(folder)}-${randomBytes(6).toString('hex')}`);
  try {
    await mkdir(staged);
    await copyRunFiles(files, await files.list(), staged);
    const copy = directoryRunFiles(staged);
    const faults = await runProblems({ id: run.id, org: run.org, report: run.report, files: copy });
    if (faults.length > 0) throw archiveCorrupt(files.location, faults.join('; '), {});
    const names = await copy.list();
    const exported = await Promise.all(
      names.map(async (name) => ({ name, sha256: (await sha256OfRunFile(copy, name)) ?? 'unreadable' })),
    );
    try {
      // Replaces an empty folder, and no other.
      await rename(staged, folder);
    } catch (error) {
      if (!hasErrnoCode(error, 'ENOTEMPTY', 'EEXIST', 'ENOTDIR')) throw error;
      throw new DocketError('usage.invalid', `${folder} holds something already.`, {
        where: folder,
        expected: 'a folder that is not there yet, or empty',
        next: 'Choose another one with --out; nothing in it was touched.',
      });
    }
    return exported;
  } catch (error) {
    throw await toDiskError(error, dirname(folder));
  } finally {
    await rm(staged, { recursive: true, force: true });
  }
}

/** Copies these files of a box, by their names, into a folder. What is not there (any more) is left out. */
export async function copyRunFiles(box: RunFiles, names: readonly string[], folder: string): Promise<void> {
  for (const name of names) {
    const steps = name.split('/');
    // Whoever may write into a bucket may call an object anything.
    if (steps.some((step) => step === '' || step === '.' || step === '..' || /[\\\p{Cc}]/u.test(step))) {
      throw archiveCorrupt(box.location, `it holds a file called ${JSON.stringify(name)}`, {});
    }
    const pieces = await box.stream(name);
    if (pieces === undefined) continue;
    const path = join(folder, ...steps);
    await mkdir(dirname(path), { recursive: true });
    await pipeline(pieces, createWriteStream(path, { flags: 'wx' }));
  }
}
