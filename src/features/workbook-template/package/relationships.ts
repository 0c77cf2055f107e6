import { posix } from 'node:path';
import type { Relationship } from './template-package.ts';
import { tokenizeXml } from './tokenize-xml.ts';
import { attributeOf } from './xml-tokens.ts';

/** The part that has the relationships of a part, or of the package itself. */
export const relationshipsPart = (part?: string): string =>
  part === undefined ? '_rels/.rels' : posix.join(posix.dirname(part), '_rels', `${posix.basename(part)}.rels`);

/**
 * The part that a relationships part belongs to. Null for the package itself, undefined if it is not a relationships
 * part.
 */
export function ownerOfRelationships(part: string): string | null | undefined {
  const [, folder, name] = /^(.*?)_rels\/([^/]*)\.rels$/i.exec(part) ?? [];
  if (folder === undefined || name === undefined) return undefined;
  return folder === '' && name === '' ? null : `${folder}${name}`;
}

/**
 * Parses the relationships of a part, in their order. Targets inside the package become part names.
 * @param actual returns the part's name in the spelling of the package, if the part exists
 */
export function parseRelationships(
  text: string,
  owner: string | undefined,
  actual: (part: string) => string | undefined,
): readonly Relationship[] {
  const relationships: Relationship[] = [];
  for (const token of tokenizeXml(text, relationshipsPart(owner))) {
    if (token.kind !== 'open' || token.local !== 'Relationship') continue;
    const written = attributeOf(token, 'Target') ?? '';
    const external = attributeOf(token, 'TargetMode')?.toLowerCase() === 'external';
    relationships.push({
      id: attributeOf(token, 'Id') ?? '',
      type: attributeOf(token, 'Type') ?? '',
      target: external || written.startsWith('#') ? written : resolveTarget(written, owner, actual),
      external,
    });
  }
  return relationships;
}

/** The zip may have the name with or without `%20`. A fragment points into the part. */
function resolveTarget(
  written: string,
  owner: string | undefined,
  actual: (part: string) => string | undefined,
): string {
  const [path = ''] = written.split('#');
  // `..` above the root stays at the root, as in URIs.
  const resolved = posix.resolve('/', owner === undefined ? '' : posix.dirname(owner), path).slice(1);
  return actual(resolved) ?? actual(decoded(resolved)) ?? resolved;
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    // A `%` that starts no escape belongs to the name.
    return path;
  }
}

/**
 * The last segment of a relationship's type, which is the same in transitional and strict files: `worksheet`, `table`.
 */
export const relationshipKind = ({ type }: Relationship): string => type.slice(type.lastIndexOf('/') + 1);
