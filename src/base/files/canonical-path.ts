import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';

/** The path with links resolved. For a missing path, resolves its nearest existing ancestor. */
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

/** A path for comparisons with several folders, resolved only once. */
export interface ResolvedPath {
  /** Whether the path is this folder or below it. Works across links, mounts and case-insensitive file systems. */
  isInside(folder: string): Promise<boolean>;
  /** Whether both paths are the same folder, existing or not. */
  isSame(folder: string): Promise<boolean>;
}

/** Resolves a path for immediate comparisons, which reuse what was read. */
export async function resolvePath(path: string): Promise<ResolvedPath> {
  const inner = await canonicalPath(path);
  let identities: Promise<ReadonlySet<string>> | undefined;
  return {
    isInside: async (folder) => {
      const outer = await canonicalPath(folder);
      if (isSubpath(inner, outer)) return true;
      const identity = await fileIdentity(outer);
      if (identity === undefined) return false;
      identities ??= identitiesAbove(inner);
      return (await identities).has(identity);
    },
    isSame: async (folder) => {
      const other = await canonicalPath(folder);
      if (inner === other) return true;
      const identity = await fileIdentity(other);
      return identity !== undefined && (await fileIdentity(inner)) === identity;
    },
  };
}

/** The identities of a path and of all folders above it. */
async function identitiesAbove(path: string): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for (let folder = path; ; folder = dirname(folder)) {
    const identity = await fileIdentity(folder);
    if (identity !== undefined) found.add(identity);
    if (folder === dirname(folder)) return found;
  }
}

/** Device and inode; undefined for a missing file. */
async function fileIdentity(path: string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  return found === undefined ? undefined : `${found.dev}:${found.ino}`;
}
