import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { diskError } from '../base/disk-error.ts';
import { DocketError } from '../base/error.ts';
import { directoryBox } from './directory-shelf.ts';
import { makeFolder } from './durable-file.ts';
import { digestOf } from './run-papers.ts';
import { corrupt, isCode } from './sealed-folder.ts';
import type { RunBox, RunName, Shelved } from './shelf.ts';
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
export async function takeOut(
  { box, ...run }: Pick<Shelved, keyof RunName | 'box'>,
  folder: string,
): Promise<readonly TakenFile[]> {
  await makeFolder(dirname(folder));
  const staged = join(dirname(folder), `.${basename(folder)}-${randomBytes(6).toString('hex')}`);
  try {
    await mkdir(staged);
    await copyOut(box, await box.names(), staged);
    const copy = directoryBox(staged);
    const faults = await verifyShelved({ id: run.id, org: run.org, report: run.report, box: copy });
    if (faults.length > 0) throw corrupt(box.place, faults.join('; '), {});
    const names = await copy.names();
    const files = await Promise.all(
      names.map(async (name) => ({ name, sha256: (await digestOf(copy, name)) ?? 'unreadable' })),
    );
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
  } catch (error) {
    throw await diskError(error, dirname(folder));
  } finally {
    await rm(staged, { recursive: true, force: true });
  }
}

/** Copies these files of a box, by their names, into a folder. What is not there (any more) is left out. */
export async function copyOut(box: RunBox, names: readonly string[], folder: string): Promise<void> {
  for (const name of names) {
    const steps = name.split('/');
    // Whoever may write into a bucket may call an object anything.
    if (steps.some((step) => step === '' || step === '.' || step === '..' || /[\\\p{Cc}]/u.test(step))) {
      throw corrupt(box.place, `it holds a file called ${JSON.stringify(name)}`, {});
    }
    const pieces = await box.pieces(name);
    if (pieces === undefined) continue;
    const path = join(folder, ...steps);
    await mkdir(dirname(path), { recursive: true });
    await pipeline(pieces, createWriteStream(path, { flags: 'wx' }));
  }
}
