import { CONTENT_TYPES_PART, partKey } from './content-types.ts';
import { ownerOfRelationships, parseRelationships, relationshipsPart } from './relationships.ts';
import type { PackageChanges, PartChange, TemplatePackage } from './template-package.ts';
import { tokenizeXml } from './tokenize-xml.ts';
import { attributeOf, type XmlOpen } from './xml-tokens.ts';

/** The changes, with those of content types and relationships where they leave parts out. */
export async function changesOfLeftOut(pack: TemplatePackage, changes: PackageChanges): Promise<PackageChanges> {
  const leftOut = new Set([...changes].filter(([, change]) => change === null).map(([part]) => partKey(part)));
  if (leftOut.size === 0) return changes;
  const all = new Map<string, PartChange>(changes);
  for (const part of leftOut) all.set(relationshipsPart(part), null);
  for (const part of pack.parts) {
    const isTypes = partKey(part) === partKey(CONTENT_TYPES_PART);
    const owner = isTypes ? null : ownerOfRelationships(part);
    if (owner === undefined || (owner !== null && leftOut.has(partKey(owner)))) continue;
    const text = await textOf(pack, part, all);
    const without = isTypes
      ? withoutElements(text, part, (open) => leftOut.has(partKey(attributeOf(open, 'PartName') ?? '')))
      : withoutRelationships(pack, text, owner ?? undefined, part, leftOut);
    if (without !== text) all.set(part, without);
  }
  return all;
}

async function textOf(pack: TemplatePackage, part: string, changes: PackageChanges): Promise<string> {
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

/** The text without the elements that are `gone`, and all within them. */
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
