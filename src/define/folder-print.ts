import { readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Definitions, and the logos beside them. */
const READ = /\.(ya?ml|png|jpe?g)$/i;
/** Files whose state is asked for at the same time. */
const ABREAST = 64;

/** How a jobs folder looks from outside: what a change of any file in it changes. */
export interface FolderPrint {
  /** Equal prints: nothing was written, replaced, moved, added or removed in between. */
  readonly text: string;
  /** Real paths of the folders in which a change can be heard of. */
  readonly folders: readonly string[];
}

/** Looks at names, sizes, times and inodes alone, and through links. Rejects when the folder itself cannot be read. */
export async function printOf(folder: string): Promise<FolderPrint> {
  const root = await realpath(folder);
  const folders = [root];
  const files: string[] = [];
  for (const name of (await readdir(root)).sort()) {
    if (name.startsWith('.')) continue;
    const path = join(root, name);
    const inner = await readdir(path).catch(() => undefined);
    // A file, or what cannot be read: then its own state has to tell.
    files.push(path);
    if (inner === undefined) continue;
    folders.push(await realpath(path).catch(() => path));
    files.push(...inner.filter((file) => READ.test(file)).map((file) => join(path, file)));
  }
  const lines: string[] = [];
  for (let from = 0; from < files.length; from += ABREAST) {
    lines.push(...(await Promise.all(files.slice(from, from + ABREAST).map(lineOf))));
  }
  return { text: lines.sort().join('\n'), folders };
}

async function lineOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs, mode } = await stat(path, { bigint: true });
    const isFolder = (mode & 0o170000n) === 0o040000n;
    return isFolder ? `${path} ${dev} ${ino} ${mode}` : `${path} ${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs} ${mode}`;
  } catch {
    return `${path} gone`;
  }
}
