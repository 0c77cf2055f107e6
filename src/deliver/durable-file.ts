import { randomBytes } from 'node:crypto';
import { link, mkdir, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** Makes what was written so far survive a power cut: a file's bytes, or the names in a folder. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Creates a folder with its parents, and makes their names durable. */
export async function makeFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true });
  if (first === undefined) return;
  for (let made = path; made.length >= first.length; made = dirname(made)) await syncPath(dirname(made));
}

/** Writes a new file and syncs it; its name becomes durable with its folder's sync. */
export async function writeSynced(path: string, bytes: string | Uint8Array): Promise<void> {
  const handle = await open(path, 'wx');
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined);

/**
 * Writes a file where none is yet, whole and durable; false when one is there. Of many who do so at once one succeeds. A file
 * system without hard links (FAT, some network shares) creates it in place: there a crash amid it may leave half a file.
 */
export async function createFile(path: string, bytes: string | Uint8Array): Promise<boolean> {
  const temporary = join(dirname(path), `.${basename(path).slice(0, 80)}.${randomBytes(6).toString('hex')}.tmp`);
  try {
    await writeSynced(temporary, bytes);
    await link(temporary, path);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EEXIST') return false;
    if (typeof code !== 'string' || !['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(code)) throw error;
    const written = await writeSynced(path, bytes).then(
      () => true,
      (thrown: unknown) => (codeOf(thrown) === 'EEXIST' ? false : Promise.reject(thrown)),
    );
    if (!written) return false;
  } finally {
    await rm(temporary, { force: true });
  }
  await syncPath(dirname(path));
  return true;
}

/** Replaces a file in one step: a reader sees the old one or the whole new one, and so does a power cut. */
export const replaceFile = (path: string, bytes: string | Uint8Array): Promise<void> => replaceFiles([{ path, bytes }]);

/**
 * Replaces files of one folder, each in one step, in this order: whoever finds one finds those before it. Written side by
 * side, which costs a disk little more than one; a power cut meanwhile may leave any of them as it was.
 */
export async function replaceFiles(
  files: readonly { readonly path: string; readonly bytes: string | Uint8Array }[],
): Promise<void> {
  const folder = dirname(files[0]?.path ?? '.');
  const made = files.map(({ path, bytes }) => ({
    path,
    bytes,
    temporary: join(folder, `.${basename(path).slice(0, 80)}.${randomBytes(6).toString('hex')}.tmp`),
  }));
  try {
    const written = await Promise.allSettled(made.map(({ temporary, bytes }) => writeSynced(temporary, bytes)));
    for (const each of written) if (each.status === 'rejected') throw each.reason;
    for (const { temporary, path } of made) await rename(temporary, path);
  } catch (error) {
    for (const { temporary } of made) await rm(temporary, { force: true });
    throw error;
  }
  await syncPath(folder);
}
