import { randomBytes } from 'node:crypto';
import { lstat, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DocketError } from '../base/error.ts';
import { makeFolder } from './durable-file.ts';
import { pathName, writing } from './sealed-folder.ts';

/** A staged folder that is this old belongs to a process that is gone. */
export const ABANDONED_MS = 24 * 60 * 60 * 1000;

/**
 * Throws away what dead processes were making in this folder, under names that begin so: what is a day older than `fresh`,
 * which was made just now. Ages are the file system's alone: by the clock of a process that runs ahead of it, whatever its
 * neighbours are making would be old.
 */
async function sweep(folder: string, prefix: string, fresh: string): Promise<void> {
  const { mtimeMs: now } = await stat(fresh);
  for (const name of await readdir(folder)) {
    if (!name.startsWith(prefix)) continue;
    const path = join(folder, name);
    // Another process may sweep, seal or discard at the same moment: what is gone is gone.
    const age = await stat(path)
      .then(({ mtimeMs }) => now - mtimeMs)
      .catch(() => 0);
    if (age > ABANDONED_MS) await rm(path, { recursive: true, force: true });
  }
}

/** A private, empty folder in this one, its name beginning so; what dead processes left there goes as well. */
export const stageIn = (folder: string, prefix: string, run: string): Promise<string> =>
  writing(join(folder, prefix), async () => {
    await makeFolder(folder);
    const staged = join(folder, `${prefix}${pathName(run, 'run')}-${randomBytes(6).toString('hex')}`);
    await mkdir(staged, { mode: 0o700 });
    await sweep(folder, prefix, staged);
    return staged;
  });

/**
 * As `stageIn`, in a folder that is this user's alone: the place for temporary files is open to all, and whoever made the
 * folder first could put other files in the place of ours.
 */
export const stageInOwn = (folder: string, run: string): Promise<string> =>
  writing(folder, async () => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const { uid, mode } = await lstat(folder);
    const own = process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0);
    if (own && (await lstat(folder)).isDirectory()) return stageIn(folder, '', run);
    throw new DocketError('archive.unwritable', `${folder} does not belong to Docket alone.`, {
      where: folder,
      expected: 'a folder of the user that Docket runs as, which nobody else may write to',
      next: 'Remove it, or name another one with staging= in DOCKET_ARCHIVE.',
    });
  });
