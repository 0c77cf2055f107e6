import type { Dirent } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { atStart, type Fault } from './fault.ts';
import { codeOf } from './read-file.ts';

export interface Entry {
  readonly name: string;
  /** As faults name it. */
  readonly file: string;
  /** `file` is whatever is no folder. */
  readonly kind: 'folder' | 'file';
}

/**
 * What is in a folder, by name, without hidden entries. A link out of the jobs folder, or into nothing, is a fault and is
 * not followed: what is deployed with the folder, and nothing else, decides what is sent to whom.
 * @param root the jobs folder's real path
 */
export async function entriesOf(folder: string, root: string, faults: Fault[]): Promise<Entry[]> {
  let found: Dirent[];
  try {
    found = await readdir(folder, { withFileTypes: true });
  } catch (error) {
    faults.push(atStart(folder, 'a folder that can be read', codeOf(error), 'correct its permissions'));
    return [];
  }
  const entries: Entry[] = [];
  for (const { name } of found.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (name.startsWith('.')) continue;
    const file = join(folder, name);
    try {
      const real = await realpath(file);
      if (!real.startsWith(root.endsWith(sep) ? root : root + sep)) {
        faults.push(
          atStart(file, 'a file inside the jobs folder', 'a link out of it', 'copy the file into the folder'),
        );
      } else {
        entries.push({ name, file, kind: (await stat(real)).isDirectory() ? 'folder' : 'file' });
      }
    } catch (error) {
      const got = `a link that leads nowhere (${codeOf(error)})`;
      faults.push(atStart(file, 'a file or folder', got, 'remove or correct the link'));
    }
  }
  return entries;
}
