import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { mapWithConcurrency } from '../../base/concurrency.ts';
import { readdir, realpath, stat } from './files.ts';

/** Definitions, logos and templates of workbooks. */
const WATCHED_FILE = /\.(ya?ml|png|jpe?g|xl[st][xm])$/i;

/** Files that may be in subfolders of an organization's folder. Definitions and logos are not read from there. */
const TEMPLATE_FILE = /\.xl[st][xm]$/i;
const MAX_DEPTH = 3;

const CONCURRENCY = 64;

/** The state of a jobs folder. It differs after a change to any file in it. */
export interface DirectoryFingerprint {
  /** A hash. If two are equal, nothing was written, replaced, moved, added or removed in between. */
  readonly text: string;
  /** Real paths of the folders to watch. */
  readonly directories: readonly string[];
}

/**
 * Fingerprints a folder by names, sizes, times and inodes only, and follows links. Rejects if the folder cannot be
 * read.
 */
export async function fingerprintDirectory(folder: string): Promise<DirectoryFingerprint> {
  const root = await realpath(folder);
  const directories = [root];
  const state = createHash('sha256');
  const add = async (files: readonly string[]) => {
    for (const line of await mapWithConcurrency(files.toSorted(), CONCURRENCY, fileFingerprint))
      state.update(`${line}\n`);
  };
  for (const name of (await readdir(root)).sort()) {
    if (name.startsWith('.')) continue;
    const path = join(root, name);
    const inner = await readdir(path, { withFileTypes: true }).catch(() => undefined);
    // For files and unreadable folders, their own state is enough.
    const files = [path];
    if (inner === undefined) {
      await add(files);
      continue;
    }
    directories.push(await realpath(path).catch(() => path));
    files.push(...inner.filter(({ name: file }) => WATCHED_FILE.test(file)).map((file) => join(path, file.name)));
    const below = inner.filter((file) => file.isDirectory() && !file.name.startsWith('.'));
    for (const { name: folderName } of below) {
      const deeper = await templatesBelow(join(path, folderName), MAX_DEPTH);
      files.push(...deeper.files);
      directories.push(...deeper.directories);
    }
    await add(files);
  }
  return { text: state.digest('hex'), directories };
}

interface FolderContent {
  readonly files: readonly string[];
  readonly directories: readonly string[];
}

/**
 * Finds templates of workbooks in a subfolder of an organization.
 * @param depth how many levels of folders below it are read
 */
async function templatesBelow(folder: string, depth: number): Promise<FolderContent> {
  const found = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const files = found.filter(({ name }) => TEMPLATE_FILE.test(name)).map(({ name }) => join(folder, name));
  const directories = [folder];
  const folders = found.filter((file) => depth > 0 && file.isDirectory() && !file.name.startsWith('.'));
  for (const { name } of folders) {
    const deeper = await templatesBelow(join(folder, name), depth - 1);
    files.push(...deeper.files);
    directories.push(...deeper.directories);
  }
  return { files, directories };
}

async function fileFingerprint(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs, mode } = await stat(path, { bigint: true });
    const isFolder = (mode & 0o170000n) === 0o040000n;
    return isFolder ? `${path} ${dev} ${ino} ${mode}` : `${path} ${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs} ${mode}`;
  } catch {
    return `${path} gone`;
  }
}
