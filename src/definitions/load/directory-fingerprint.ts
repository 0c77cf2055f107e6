import { readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Definitions, and the logos beside them. */
const WATCHED_FILE = /\.(ya?ml|png|jpe?g)$/i;
/** Files whose state is asked for at the same time. */
const CONCURRENCY = 64;

/** How a jobs folder looks from outside: what a change of any file in it changes. */
export interface DirectoryFingerprint {
  /** Equal prints: nothing was written, replaced, moved, added or removed in between. */
  readonly text: string;
  /** Real paths of the folders in which a change can be heard of. */
  readonly directories: readonly string[];
}

/** Looks at names, sizes, times and inodes alone, and through links. Rejects when the folder itself cannot be read. */
export async function fingerprintDirectory(folder: string): Promise<DirectoryFingerprint> {
  const root = await realpath(folder);
  const directories = [root];
  const files: string[] = [];
  for (const name of (await readdir(root)).sort()) {
    if (name.startsWith('.')) continue;
    const path = join(root, name);
    const inner = await readdir(path).catch(() => undefined);
    // A file, or what cannot be read: then its own state has to tell.
    files.push(path);
    if (inner === undefined) continue;
    directories.push(await realpath(path).catch(() => path));
    files.push(...inner.filter((file) => WATCHED_FILE.test(file)).map((file) => join(path, file)));
  }
  const lines: string[] = [];
  for (let from = 0; from < files.length; from += CONCURRENCY) {
    lines.push(...(await Promise.all(files.slice(from, from + CONCURRENCY).map(fileFingerprint))));
  }
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
