import { readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { mapWithConcurrency } from '../../base/concurrency.ts';

/** Definitions, logos and templates of workbooks. */
const WATCHED_FILE = /\.(ya?ml|png|jpe?g|xl[st][xm])$/i;

const CONCURRENCY = 64;

/** The state of a jobs folder: differs after a change of any file in it. */
export interface DirectoryFingerprint {
  /** Equal texts: nothing was written, replaced, moved, added or removed in between. */
  readonly text: string;
  /** Real paths of the folders to watch. */
  readonly directories: readonly string[];
}

/** Uses names, sizes, times and inodes only, and follows links. Rejects if the folder cannot be read. */
export async function fingerprintDirectory(folder: string): Promise<DirectoryFingerprint> {
  const root = await realpath(folder);
  const directories = [root];
  const files: string[] = [];
  for (const name of (await readdir(root)).sort()) {
    if (name.startsWith('.')) continue;
    const path = join(root, name);
    const inner = await readdir(path).catch(() => undefined);
    // Files and unreadable folders count by their own state.
    files.push(path);
    if (inner === undefined) continue;
    directories.push(await realpath(path).catch(() => path));
    files.push(...inner.filter((file) => WATCHED_FILE.test(file)).map((file) => join(path, file)));
  }
  const lines = await mapWithConcurrency(files, CONCURRENCY, fileFingerprint);
  return { text: lines.sort().join('\n'), directories };
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
