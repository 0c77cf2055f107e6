import type { Entry } from 'yauzl';
import { writeChunks } from '../../../render/formats/format.ts';
import { CONTENT_TYPES_PART, partKey } from './content-types.ts';
import type { OpenedPackage } from './open-package.ts';
import { ownerOfRelationships, parseRelationships, relationshipsPart } from './relationships.ts';
import type { PackageChanges, PartChange, TemplatePackage } from './template-package.ts';
import { tokenizeXml } from './tokenize-xml.ts';
import { attributeOf, type XmlOpen } from './xml-tokens.ts';
import { type ZipEntry, type ZipHeader, zipChunks } from './zip-chunks.ts';

/** New parts get the date 1 January 1980, the first one that the format allows. */
const FIRST_DAY = (1 << 5) | 1;

/**
 * Writes a package with changes. Entries keep their order, times and attributes; unchanged parts are copied compressed.
 * A removed part also disappears from the content types and all relationships, together with its own relationships. The
 * same package and changes give the same bytes.
 * @param path must not exist; after an error the incomplete file remains
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
    if (change !== null) entries.push({ header: buildHeader(entry), content: change ?? copyEntry(pack, entry) });
  }
  for (const [part, change] of all) {
    if (change !== null && !pack.has(part)) entries.push({ header: newHeader(part), content: change });
  }
  await writeChunks(path, zipChunks(entries), signal);
}

const buildHeader = (entry: Entry): ZipHeader => ({
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

const copyEntry = (pack: OpenedPackage, entry: Entry): Exclude<ZipEntry['content'], PartChange> => ({
  compressionMethod: entry.compressionMethod,
  crc32: entry.crc32,
  compressedSize: entry.compressedSize,
  uncompressedSize: entry.uncompressedSize,
  open: () => pack.openCompressed(entry),
});

/** The changes, plus those of content types and relationships for removed parts. */
async function changesOfLeftOut(pack: TemplatePackage, changes: PackageChanges): Promise<PackageChanges> {
  const leftOut = new Set([...changes].filter(([, change]) => change === null).map(([part]) => partKey(part)));
  if (leftOut.size === 0) return changes;
  const all = new Map<string, PartChange>(changes);
  for (const part of leftOut) all.set(relationshipsPart(part), null);
  for (const part of pack.parts) {
    const isTypes = partKey(part) === partKey(CONTENT_TYPES_PART);
    const owner = isTypes ? null : ownerOfRelationships(part);
    if (owner === undefined || (owner !== null && leftOut.has(partKey(owner)))) continue;
    const text = await readText(pack, part, all);
    const without = isTypes
      ? withoutElements(text, part, (open) => leftOut.has(partKey(attributeOf(open, 'PartName') ?? '')))
      : withoutRelationships(pack, text, owner ?? undefined, part, leftOut);
    if (without !== text) all.set(part, without);
  }
  return all;
}

async function readText(pack: TemplatePackage, part: string, changes: PackageChanges): Promise<string> {
  const change = changes.get(part);
  if (typeof change === 'function') throw new Error(`${part} is changed as a text, not as a stream.`);
  return change ?? (await pack.readText(part));
}

function withoutRelationships(
  pack: TemplatePackage,
  text: string,
  owner: string | undefined,
  part: string,
  leftOut: ReadonlySet<string>,
): string {
  const actual = (name: string): string | undefined => (pack.has(name) ? name : undefined);
  const gone = new Set(
    parseRelationships(text, owner, actual)
      .filter(({ external, target }) => !external && leftOut.has(partKey(target)))
      .map(({ id }) => id),
  );
  if (gone.size === 0) return text;
  return withoutElements(
    text,
    part,
    (open) => open.local === 'Relationship' && gone.has(attributeOf(open, 'Id') ?? ''),
  );
}

/** The text without the elements that are `gone`, including their content. */
function withoutElements(text: string, part: string, gone: (open: XmlOpen) => boolean): string {
  let kept = '';
  let within = 0;
  for (const token of tokenizeXml(text, part)) {
    if (token.kind === 'open' && (within > 0 || gone(token))) within += 1;
    else if (token.kind === 'close' && within > 0) within -= 1;
    else if (within === 0) kept += token.raw;
  }
  return kept;
}
