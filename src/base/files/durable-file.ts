import { randomUUID } from 'node:crypto';
import { link, mkdir, open, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isErrno } from '../errno.ts';

/** Syncs a file's bytes, or the names in a folder, to the disk. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Creates a folder with its parents, and makes their names durable. False if it exists. */
export async function createFolder(path: string): Promise<boolean> {
  const first = await mkdir(path, { recursive: true });
  if (first === undefined) return false;
  for (let made = path; made.length >= first.length; made = dirname(made)) await syncPath(dirname(made));
  return true;
}

/** Writes and syncs a new file. Its name becomes durable when its folder is synced. */
export const writeSynced = (path: string, bytes: string | Uint8Array): Promise<void> =>
  writeFile(path, bytes, { flag: 'wx', flush: true });

/** A name in the same folder that no other call uses. */
const temporaryPath = (path: string): string =>
  join(dirname(path), `.${basename(path).slice(0, 80)}.${randomUUID().slice(-12)}.tmp`);

/**
 * Creates a file atomically and durably. False if it exists: only one of several concurrent callers succeeds. On file
 * systems without hard links (FAT, some network shares), creates the file in place, where a crash may leave it
 * incomplete.
 */
export async function createFile(path: string, bytes: string | Uint8Array): Promise<boolean> {
  const temporary = temporaryPath(path);
  try {
    await writeSynced(temporary, bytes);
    await link(temporary, path);
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false;
    if (!isErrno(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS')) throw error;
    const written = await writeSynced(path, bytes).then(
      () => true,
      (thrown: unknown) => (isErrno(thrown, 'EEXIST') ? false : Promise.reject(thrown)),
    );
    if (!written) return false;
  } finally {
    await rm(temporary, { force: true });
  }
  await syncPath(dirname(path));
  return true;
}

/** Replaces a file atomically and durably. */
export const replaceFile = (path: string, bytes: string | Uint8Array): Promise<void> => replaceFiles([{ path, bytes }]);

/**
 * Replaces files in one folder, each atomically, in this order: a reader that sees one of them also sees those before
 * it. They are written in parallel. After a power cut, any of them may still be the old file.
 */
export async function replaceFiles(
  files: readonly { readonly path: string; readonly bytes: string | Uint8Array }[],
): Promise<void> {
  const made = files.map((file) => ({ ...file, temporary: temporaryPath(file.path) }));
  const folder = await open(dirname(files[0]?.path ?? '.'), 'r');
  try {
    const written = await Promise.allSettled(made.map(({ temporary, bytes }) => writeSynced(temporary, bytes)));
    for (const each of written) if (each.status === 'rejected') throw each.reason;
    for (const { temporary, path } of made) await rename(temporary, path);
    await folder.sync();
  } catch (error) {
    for (const { temporary } of made) await rm(temporary, { force: true });
    throw error;
  } finally {
    await folder.close();
  }
}

/** Size of the file that tests whether a folder is writable: a full disk still accepts an empty file. */
export const PROBE_BYTES = 64 * 1024;
