import type { Entry } from 'yauzl';
import { writeChunks } from '../../formats/format.ts';
import { partKey } from './content-types.ts';
import { changesOfLeftOut } from './leave-out.ts';
import type { OpenedPackage } from './open-package.ts';
import type { PackageChanges, PartChange } from './template-package.ts';
import { type ZipEntry, type ZipHeader, zipChunks } from './zip-chunks.ts';

/** New parts are dated 1 January 1980, the first day of the format. */
const FIRST_DAY = (1 << 5) | 1;

/**
 * Writes a package with changes. Entries keep their order, times and attributes; the compressed bytes of parts without a
 * change are copied. Parts that are left out also leave the content types and all relationships, and take their own
 * relationships with them. The same package and changes give the same bytes.
 * @param path must not exist; what was written until an error remains
 * @throws what a change throws, `template.invalid`, `render.failed` above 4 GB, the signal's reason
 */
export async function writePackage(
  path: string,
  pack: OpenedPackage,
  changes: PackageChanges,
  signal: AbortSignal,
): Promise<void> {
  const all = await changesOfLeftOut(pack, changes);
  const byKey = new Map([...all].map(([part, change]) => [partKey(part), change]));
  const entries: ZipEntry[] = [];
  for (const entry of pack.entries) {
    const change = byKey.get(partKey(entry.fileName));
    if (change !== null) entries.push({ header: headerOf(entry), content: change ?? copyOf(pack, entry) });
  }
  for (const [part, change] of all) {
    if (change !== null && !pack.has(part)) entries.push({ header: newHeader(part), content: change });
  }
  await writeChunks(path, zipChunks(entries), signal);
}

const headerOf = (entry: Entry): ZipHeader => ({
  name: entry.fileName,
  versionMadeBy: entry.versionMadeBy,
  lastModFileTime: entry.lastModFileTime,
  lastModFileDate: entry.lastModFileDate,
  internalFileAttributes: entry.internalFileAttributes,
  externalFileAttributes: entry.externalFileAttributes,
});

const newHeader = (name: string): ZipHeader => ({
  name,
  versionMadeBy: 20,
  lastModFileTime: 0,
  lastModFileDate: FIRST_DAY,
  internalFileAttributes: 0,
  externalFileAttributes: 0,
});

const copyOf = (pack: OpenedPackage, entry: Entry): Exclude<ZipEntry['content'], PartChange> => ({
  compressionMethod: entry.compressionMethod,
  crc32: entry.crc32,
  compressedSize: entry.compressedSize,
  uncompressedSize: entry.uncompressedSize,
  open: () => pack.openCompressed(entry),
});
