import { randomBytes } from 'node:crypto';
import { cp, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DocketError } from '../base/error.ts';
import type { Shelved } from './archive-shelf.ts';
import { makeFolder } from './durable-file.ts';
import { corrupt, fileDigest, isCode } from './sealed-folder.ts';
import { verifyShelved } from './verify-archive.ts';

/** A file that was taken out. */
export interface TakenFile {
  /** Relative to the folder, with `/`. */
  readonly name: string;
  readonly sha256: string;
}

/**
 * Copies an archived run into a folder that is not there yet or empty, whole or not at all: what is verified is the copy.
 * Throws `archive.corrupt` with every fault, `usage.invalid` when the folder holds something.
 */
export async function takeOut(run: Shelved, folder: string): Promise<readonly TakenFile[]> {
  await makeFolder(dirname(folder));
  const staged = join(dirname(folder), `.${basename(folder)}-${randomBytes(6).toString('hex')}`);
  try {
    await cp(run.folder, staged, { recursive: true, errorOnExist: true });
    const faults = await verifyShelved({ ...run, folder: staged });
    if (faults.length > 0) throw corrupt(run.folder, faults.join('; '), {});
    const files = await digestsOf(staged);
    try {
      // Replaces an empty folder, and no other.
      await rename(staged, folder);
    } catch (error) {
      if (!isCode(error, 'ENOTEMPTY', 'EEXIST', 'ENOTDIR')) throw error;
      throw new DocketError('usage.invalid', `${folder} holds something already.`, {
        where: folder,
        expected: 'a folder that is not there yet, or empty',
        next: 'Choose another one with --out; nothing in it was touched.',
      });
    }
    return files;
  } finally {
    await rm(staged, { recursive: true, force: true });
  }
}

async function digestsOf(folder: string): Promise<TakenFile[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(folder.length + 1)
        .replaceAll('\\', '/'),
    )
    .sort();
  return Promise.all(names.map(async (name) => ({ name, sha256: await fileDigest(join(folder, name)) })));
}
