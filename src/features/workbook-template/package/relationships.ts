import { posix } from 'node:path';
import type { Relationship } from './template-package.ts';
import { tokenizeXml } from './tokenize-xml.ts';
import { attributeOf } from './xml-tokens.ts';

/** The part with the relationships of a part; of the package itself for none. */
export const relationshipsPart = (part?: string): string =>
  part === undefined ? '_rels/.rels' : posix.join(posix.dirname(part), '_rels', `${posix.basename(part)}.rels`);

/** The part that a part of relationships belongs to; null for the package itself, undefined for any other part. */
export function ownerOfRelationships(part: string): string | null | undefined {
  const [, folder, name] = /^(.*?)_rels\/([^/]*)\.rels$/i.exec(part) ?? [];
  if (folder === undefined || name === undefined) return undefined;
  return folder === '' && name === '' ? null : `${folder}${name}`;
}

/**
 * The relationships in the text of a part, in their order. Targets within the package are names of parts.
 * @param actual the name of a part as the package writes it, if it has the part
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

/** Names in the zip may be written with `%20` or without; a fragment points into the part. */
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
    // A `%` that begins no escape is part of the name.
    return path;
  }
}

/** The last piece of a relationship's type, the same in transitional and strict files: `worksheet`, `table`. */
export const relationshipKind = ({ type }: Relationship): string => type.slice(type.lastIndexOf('/') + 1);
