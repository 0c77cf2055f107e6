import { randomBytes } from 'node:crypto';
import { lstat, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isErrno } from '../../../base/errno.ts';
import { DocketError } from '../../../base/error.ts';
import { createFolder } from '../../../base/files/durable-file.ts';
import { DAY_MS, HOUR_MS } from '../../../base/time.ts';
import { withWriteErrors } from '../archive-errors.ts';
import { requirePathName } from '../path-names.ts';

/** A staged folder older than this belongs to a dead process. */
export const ABANDONED_AFTER_MS = DAY_MS;

/**
 * Removes staged folders of dead processes: names that start with `prefix` and are a day older than `fresh`, a folder
 * that was just created. Both ages come from the file system: with its own clock, a process whose clock runs ahead
 * would remove folders in use.
 */
async function removeAbandoned(folder: string, prefix: string, fresh: string): Promise<void> {
  const { mtimeMs: now } = await stat(fresh);
  for (const name of await readdir(folder)) {
    if (!name.startsWith(prefix)) continue;
    const path = join(folder, name);
    // Another process may publish, discard or remove it at any moment.
    const age = await stat(path)
      .then(({ mtimeMs }) => now - mtimeMs)
      .catch(() => 0);
    if (age > ABANDONED_AFTER_MS) await rm(path, { recursive: true, force: true });
  }
}

/** How often to look for abandoned folders. Doing so for every run would cost more than creating the folder. */
const CLEANING_INTERVAL_MS = HOUR_MS;

/** Whether to look for abandoned folders now: at the first call, and after an hour. */
export type CleaningDue = () => boolean;

/** @param monotonic ms; the process's monotonic clock by default */
export function cleaningSchedule(monotonic: () => number = () => performance.now()): CleaningDue {
  let last: number | undefined;
  return () => {
    const now = monotonic();
    if (last !== undefined && now - last < CLEANING_INTERVAL_MS) return false;
    last = now;
    return true;
  };
}

/** Creates a private, empty folder `<folder>/<prefix><run>-<random>`. When due, also removes abandoned folders. */
export const createStagingFolder = (
  folder: string,
  prefix: string,
  run: string,
  isCleaningDue: CleaningDue = () => true,
): Promise<string> =>
  withWriteErrors(join(folder, prefix), async () => {
    const staged = join(folder, `${prefix}${requirePathName(run, 'run')}-${randomBytes(6).toString('hex')}`);
    const create = () => mkdir(staged, { mode: 0o700 });
    await create().catch(async (error: unknown) => {
      if (!isErrno(error, 'ENOENT')) throw error;
      await createFolder(folder);
      await create();
    });
    if (isCleaningDue()) await removeAbandoned(folder, prefix, staged);
    return staged;
  });

/**
 * Creates a staging folder inside a folder that only this user can write to. All users can write to the folder for
 * temporary files: another user could create this folder first and replace files in it. Throws `archive.unwritable`.
 */
export const createPrivateStagingFolder = (
  folder: string,
  run: string,
  isCleaningDue: CleaningDue = () => true,
): Promise<string> =>
  withWriteErrors(folder, async () => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const found = await lstat(folder);
    const isOwned = process.getuid === undefined || (found.uid === process.getuid() && (found.mode & 0o022) === 0);
    if (isOwned && found.isDirectory()) return createStagingFolder(folder, '', run, isCleaningDue);
    throw new DocketError('archive.unwritable', `${folder} is not private to Docket.`, {
      where: folder,
      expected: 'a folder of the user that Docket runs as, not writable by others',
      next: 'Remove it, or name another one with staging= in DOCKET_ARCHIVE.',
    });
  });
