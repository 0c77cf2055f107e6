import { randomBytes } from 'node:crypto';
import { readdir, rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { makeFolder } from './durable-file.ts';
import { isCode, pathName } from './sealed-folder.ts';

/** A run's place in the archive. */
export interface Shelved {
  readonly id: string;
  readonly org: string;
  readonly report: string;
  /** Absolute. */
  readonly folder: string;
}

/** Names of folders in a folder, in order; those with a dot in front are the archive's own. */
async function foldersIn(folder: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
      .map(({ name }) => name)
      .sort();
  } catch (error) {
    // Somebody may sweep at the same moment; an archive in which nothing was sealed yet has no folder.
    if (isCode(error, 'ENOENT')) return [];
    throw error;
  }
}

/** Every run in the archive's directory, by organization and report, one after the other. */
export async function* shelvedRuns(root: string, org?: string): AsyncGenerator<Shelved> {
  const base = resolve(root);
  for (const one of org === undefined ? await foldersIn(base) : [pathName(org, 'organization')]) {
    for (const report of await foldersIn(join(base, one))) {
      for (const id of await foldersIn(join(base, one, report))) {
        yield { id, org: one, report, folder: join(base, one, report, id) };
      }
    }
  }
}

/** Where a run stands of which nothing but its id is known; undefined when it is not there. */
export async function findShelved(root: string, id: string): Promise<Shelved | undefined> {
  const base = resolve(root);
  const name = pathName(id, 'run');
  for (const org of await foldersIn(base)) {
    for (const report of await foldersIn(join(base, org))) {
      const folder = join(base, org, report, name);
      if (await stat(folder).catch(() => undefined)) return { id, org, report, folder };
    }
  }
  return undefined;
}

/**
 * Takes a run out of the archive: out of sight in one step, then gone. A process that dies in between leaves it in
 * `.staging`, which is swept. False when somebody else has taken it.
 */
export async function removeShelved(root: string, { id, folder }: Shelved): Promise<boolean> {
  const staging = join(resolve(root), '.staging');
  await makeFolder(staging);
  const aside = join(staging, `${pathName(id, 'run')}-removed-${randomBytes(6).toString('hex')}`);
  try {
    await rename(folder, aside);
  } catch (error) {
    if (isCode(error, 'ENOENT')) return false;
    throw error;
  }
  await rm(aside, { recursive: true, force: true });
  return true;
}
