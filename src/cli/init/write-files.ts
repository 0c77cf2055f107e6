import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { access, copyFile, link, mkdir, readdir, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isErrno } from '../../base/errno.ts';
import { DocketError, errorMessage } from '../../base/error.ts';
import type { NewFile } from './files.ts';

export interface WriteResult {
  readonly written: readonly string[];
  /** Shared files that already existed, and stay unchanged. */
  readonly kept: readonly string[];
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/**
 * Throws `usage.invalid` with a list if the organization's folder has definitions or any of the files exists: nothing
 * is ever overwritten.
 */
export async function assertNoExistingFiles(files: readonly NewFile[], orgFolder: string): Promise<void> {
  const own = await readdir(orgFolder).catch((error: unknown) => {
    if (isErrno(error, 'ENOENT')) return [];
    throw unwritable(orgFolder, error);
  });
  const taken = [...own.filter((name) => /\.ya?ml$/i.test(name)).map((name) => join(orgFolder, name))];
  for (const { path, shared } of files) {
    if (!shared && !taken.includes(path) && (await exists(path))) taken.push(path);
  }
  if (taken.length === 0) return;
  throw new DocketError(
    'usage.invalid',
    `${orgFolder} already has definitions; nothing was written:\n  ${taken.sort().join('\n  ')}`,
    {
      where: orgFolder,
      expected: 'a new organization',
      next: 'Choose another --org or folder, or edit these files: `docket check` validates them.',
    },
  );
}

const unwritable = (path: string, cause: unknown) =>
  new DocketError('usage.invalid', `Nothing was written: ${path} cannot be created.`, {
    where: path,
    got: errorMessage(cause),
    next: 'Correct the permissions, or choose another folder.',
    cause,
  });

/**
 * Writes all files or none. Replaces nothing, even if other processes write at the same time. Each file only appears
 * once it is complete. Throws `usage.invalid`.
 */
export async function writeFiles(files: readonly NewFile[]): Promise<WriteResult> {
  const written: string[] = [];
  const folders: string[] = [];
  const staged: { readonly file: NewFile; readonly part: string }[] = [];
  const kept: string[] = [];
  let at = '';
  try {
    for (const file of files) {
      at = file.path;
      folders.push(...(await createMissingFolders(dirname(file.path))));
      // Watchers of the folder ignore files whose names start with a dot.
      const part = join(dirname(file.path), `.${basename(file.path)}.${randomBytes(4).toString('hex')}.part`);
      staged.push({ file, part });
      await writeFile(part, file.text, { flag: 'wx' });
    }
    for (const { file, part } of staged) {
      at = file.path;
      try {
        await moveToFinalName(part, file.path);
        written.push(file.path);
      } catch (error) {
        if (!isErrno(error, 'EEXIST') || !file.shared) throw error;
        kept.push(file.path);
      }
    }
    return { written, kept };
  } catch (error) {
    for (const path of written) await rm(path, { force: true });
    for (const { part } of staged) await rm(part, { force: true });
    // Innermost first. rmdir fails for a folder that is in use by now.
    for (const folder of folders.reverse()) await rmdir(folder).catch(() => {});
    throw unwritable(at, error);
  } finally {
    for (const { part } of staged) await rm(part, { force: true }).catch(() => {});
  }
}

/** Fails if the name exists, unlike `rename`. */
async function moveToFinalName(part: string, path: string): Promise<void> {
  try {
    await link(part, path);
  } catch (error) {
    // Some file systems have no hard links.
    if (!isErrno(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK')) throw error;
    await copyFile(part, path, constants.COPYFILE_EXCL);
  }
}

/** Returns the created folders, outermost first. */
async function createMissingFolders(folder: string): Promise<string[]> {
  const missing: string[] = [];
  for (let at = folder; (await stat(at).catch(() => undefined)) === undefined; at = dirname(at)) {
    missing.unshift(at);
    if (at === dirname(at)) break;
  }
  await mkdir(folder, { recursive: true });
  return missing;
}
