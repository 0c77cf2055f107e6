import type { ReferenceMap } from '../growth.ts';
import { mapFormula } from '../map-formula.ts';
import { rewriteXml, tokensOf, type XmlPart } from './rewrite-xml.ts';

/**
 * The relationships of a drawing or a sheet: links of pictures and shapes to a place in the workbook (`#Board!B4`).
 * @param sheet Of what holds the relationships.
 */
export const mapLinks = (part: XmlPart, sheet: string, map: ReferenceMap): string | undefined =>
  rewriteXml(tokensOf(part), {
    attributes: ({ local, attributes }) => {
      const target = attributes.Target;
      if (local !== 'Relationship' || !target?.startsWith('#')) return undefined;
      return { Target: `#${encode(mapFormula(decode(target.slice(1)), sheet, map), target)}` };
    },
  });

/** Excel writes spaces of a sheet's name as `%20`, other programs as they are. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const encode = (text: string, like: string): string => (/%[0-9a-f]{2}/i.test(like) ? encodeURI(text) : text);
