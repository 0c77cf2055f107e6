import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** The exact messages of a delivery in a run's folder, as absolute paths by name. */
export async function archivedMessagePaths(folder: string, delivery: string): Promise<readonly string[]> {
  const names = await readdir(join(folder, 'messages'));
  return names
    .filter((name) => name.startsWith(`${delivery}.`) && !name.endsWith('.sha256'))
    .sort()
    .map((name) => join(folder, 'messages', name));
}

/** The path of the only message of a delivery. */
export async function archivedMessagePath(folder: string, delivery: string): Promise<string> {
  const [path, ...others] = await archivedMessagePaths(folder, delivery);
  if (path === undefined || others.length > 0) throw new Error(`${others.length + (path ? 1 : 0)} messages are kept`);
  return path;
}
