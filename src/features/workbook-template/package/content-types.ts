import { tokenizeXml } from './tokenize-xml.ts';
import { attributeOf } from './xml-tokens.ts';

export const CONTENT_TYPES_PART = '[Content_Types].xml';

/** Media types of parts (ECMA-376 part 2, §10.1.2), by part name and by extension, both in lower case. */
export interface ContentTypes {
  readonly overrides: ReadonlyMap<string, string>;
  readonly defaults: ReadonlyMap<string, string>;
}

/** Parses the text of `[Content_Types].xml`. Throws `template.invalid` if it is not well-formed. */
export function parseContentTypes(text: string): ContentTypes {
  const overrides = new Map<string, string>();
  const defaults = new Map<string, string>();
  for (const token of tokenizeXml(text, CONTENT_TYPES_PART)) {
    if (token.kind !== 'open') continue;
    const type = attributeOf(token, 'ContentType');
    if (type === undefined) continue;
    const part = attributeOf(token, 'PartName');
    const extension = attributeOf(token, 'Extension');
    if (token.local === 'Override' && part !== undefined) overrides.set(partKey(part), type);
    if (token.local === 'Default' && extension !== undefined) defaults.set(extension.toLowerCase(), type);
  }
  return { overrides, defaults };
}

export const contentTypeOf = ({ overrides, defaults }: ContentTypes, part: string): string | undefined =>
  overrides.get(partKey(part)) ?? defaults.get(/\.([^./]+)$/.exec(part)?.[1]?.toLowerCase() ?? '');

/** The name of a part in lower case, without the leading slash. Part names do not depend on case. */
export const partKey = (part: string): string => part.replace(/^\//, '').toLowerCase();
