import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';

/** The path without links; of what does not exist yet, the nearest folder above that does, and the rest as it is. */
export async function canonicalPath(path: string): Promise<string> {
  const full = resolve(path);
  const known = await realpath(full).catch(() => undefined);
  if (known !== undefined) return known;
  const above = dirname(full);
  return above === full ? full : join(await canonicalPath(above), basename(full));
}

/** Whether a canonical path is another one or lies below it. */
export function isBelow(inner: string, outer: string): boolean {
  const way = relative(outer, inner);
  // On Windows the way to another drive is absolute.
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** Whether a path is a folder or lies below it, whatever links, mounts and a file system without case call the two. */
export async function isWithin(path: string, folder: string): Promise<boolean> {
  const [inner, outer] = [await canonicalPath(path), await canonicalPath(folder)];
  return isBelow(inner, outer) || hasAbove(inner, await identityOf(outer));
}

/** Whether both are one folder, or will be. */
export async function isSameFolder(path: string, other: string): Promise<boolean> {
  const [one, two] = [await canonicalPath(path), await canonicalPath(other)];
  if (one === two) return true;
  const identity = await identityOf(two);
  return identity !== undefined && (await identityOf(one)) === identity;
}

async function hasAbove(path: string, identity: string | undefined): Promise<boolean> {
  if (identity === undefined) return false;
  for (let folder = path; ; folder = dirname(folder)) {
    if ((await identityOf(folder)) === identity) return true;
    if (folder === dirname(folder)) return false;
  }
}

/** The same for the same file under all of its names; undefined for what is not there. */
async function identityOf(path: string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  return found === undefined ? undefined : `${found.dev}:${found.ino}`;
}
