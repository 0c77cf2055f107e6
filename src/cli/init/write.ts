import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { access, copyFile, link, mkdir, readdir, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DocketError } from '../../base/error.ts';
import type { NewFile } from './files.ts';

/** What became of the files. */
export interface Written {
  readonly written: readonly string[];
  /** Files for all organizations that were there already and stay as they are. */
  readonly kept: readonly string[];
}

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error ? String(error.code) : undefined;

const there = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/**
 * What of these files is there already, and whatever else defines something in the folder of the organization. Nothing
 * of it is ever overwritten: throws `usage.invalid` with the list.
 */
export async function refuseExisting(files: readonly NewFile[], orgFolder: string): Promise<void> {
  const own = await readdir(orgFolder).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return [];
    throw unwritable(orgFolder, error);
  });
  const taken = [...own.filter((name) => /\.ya?ml$/i.test(name)).map((name) => join(orgFolder, name))];
  for (const { path, shared } of files) {
    if (!shared && !taken.includes(path) && (await there(path))) taken.push(path);
  }
  if (taken.length === 0) return;
  throw new DocketError(
    'usage.invalid',
    `${orgFolder} has definitions already; nothing was written:\n  ${taken.sort().join('\n  ')}`,
    {
      where: orgFolder,
      expected: 'an organization that is not there yet',
      next: 'Choose another --org or folder, or edit these files: `docket check` says what is wrong with them.',
    },
  );
}

const unwritable = (path: string, cause: unknown) =>
  new DocketError('usage.invalid', `Nothing was written: ${path} cannot be made.`, {
    where: path,
    got: cause instanceof Error ? cause.message : String(cause),
    next: 'Correct the rights, or choose another folder.',
    cause,
  });

/**
 * Writes all of the files or none, and replaces nothing, whoever else writes at the same moment. Each is whole from the
 * moment it has its name. Throws `usage.invalid`.
 */
export async function writeAll(files: readonly NewFile[]): Promise<Written> {
  const made: string[] = [];
  const folders: string[] = [];
  const staged: { readonly file: NewFile; readonly part: string }[] = [];
  const kept: string[] = [];
  let at = '';
  try {
    for (const file of files) {
      at = file.path;
      folders.push(...(await makeFolder(dirname(file.path))));
      // A dot in front: whoever watches the folder leaves it alone.
      const part = join(dirname(file.path), `.${basename(file.path)}.${randomBytes(4).toString('hex')}.part`);
      staged.push({ file, part });
      await writeFile(part, file.text, { flag: 'wx' });
    }
    for (const { file, part } of staged) {
      at = file.path;
      try {
        await give(part, file.path);
        made.push(file.path);
      } catch (error) {
        if (codeOf(error) !== 'EEXIST' || !file.shared) throw error;
        kept.push(file.path);
      }
    }
    return { written: made, kept };
  } catch (error) {
    for (const path of made) await rm(path, { force: true });
    for (const { part } of staged) await rm(part, { force: true });
    // The innermost first; one that somebody else uses by now stays.
    for (const folder of folders.reverse()) await rmdir(folder).catch(() => {});
    throw unwritable(at, error);
  } finally {
    for (const { part } of staged) await rm(part, { force: true }).catch(() => {});
  }
}

/** Gives the finished file its name, which must be free: `rename` would replace what has it. */
async function give(part: string, path: string): Promise<void> {
  try {
    await link(part, path);
  } catch (error) {
    // Some file systems know no links.
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(codeOf(error) ?? '')) throw error;
    await copyFile(part, path, constants.COPYFILE_EXCL);
  }
}

/** @returns the folders that were not there before, outermost first */
async function makeFolder(folder: string): Promise<string[]> {
  const missing: string[] = [];
  for (let at = folder; (await stat(at).catch(() => undefined)) === undefined; at = dirname(at)) {
    missing.unshift(at);
    if (at === dirname(at)) break;
  }
  await mkdir(folder, { recursive: true });
  return missing;
}
