import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';

/** The path with links resolved. Of a missing path, its nearest existing ancestor is resolved. */
export async function canonicalPath(path: string): Promise<string> {
  const full = resolve(path);
  const known = await realpath(full).catch(() => undefined);
  if (known !== undefined) return known;
  const above = dirname(full);
  return above === full ? full : join(await canonicalPath(above), basename(full));
}

/** Whether a canonical path equals another one or lies below it. */
export function isSubpath(inner: string, outer: string): boolean {
  const path = relative(outer, inner);
  // On Windows, the relative path to another drive is absolute.
  return path !== '..' && !path.startsWith(`..${sep}`) && !isAbsolute(path);
}

/** Whether a path is a folder or lies below it, across links, mounts and case-insensitive file systems. */
export async function isInsideFolder(path: string, folder: string): Promise<boolean> {
  const [inner, outer] = [await canonicalPath(path), await canonicalPath(folder)];
  return isSubpath(inner, outer) || hasAncestor(inner, await fileIdentity(outer));
}

/** Whether both paths are the same folder, existing or not. */
export async function isSameFolder(path: string, other: string): Promise<boolean> {
  const [one, two] = [await canonicalPath(path), await canonicalPath(other)];
  if (one === two) return true;
  const identity = await fileIdentity(two);
  return identity !== undefined && (await fileIdentity(one)) === identity;
}

async function hasAncestor(path: string, identity: string | undefined): Promise<boolean> {
  if (identity === undefined) return false;
  for (let folder = path; ; folder = dirname(folder)) {
    if ((await fileIdentity(folder)) === identity) return true;
    if (folder === dirname(folder)) return false;
  }
}

/** Device and inode; undefined for a missing file. */
async function fileIdentity(path: string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  return found === undefined ? undefined : `${found.dev}:${found.ino}`;
}
