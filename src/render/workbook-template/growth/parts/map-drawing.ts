import type { XmlOpen } from '../../package/xml-tokens.ts';
import type { ReferenceMap } from '../growth.ts';
import { mapFormula } from '../map-formula.ts';
import { rewriteXml } from './rewrite-xml.ts';
import { tokensOf, type XmlPart } from './xml-part.ts';

/** Attributes with the cells that a shape or a picture shows, by element. */
const LINKS = new Map([
  ['sp', 'textlink'],
  ['cameraTool', 'cellRange'],
]);

/**
 * A drawing of a sheet, or the shapes inside a chart: anchors move as `editAs` says ("Properties" in Excel), and shapes and
 * pictures that show cells follow them.
 * @param sheet Of the drawing; null: a chart's, without anchors to cells.
 */
export function mapDrawing(part: XmlPart, sheet: string | null, map: ReferenceMap): string | undefined {
  /** Rows that the top of the current anchor moves by. */
  let moved = 0;
  return rewriteXml(tokensOf(part), {
    attributes: ({ local, attributes }) => {
      const link = LINKS.get(local);
      const formula = link === undefined ? undefined : attributes[link];
      return link === undefined || !formula ? undefined : { [link]: mapFormula(formula, sheet ?? '', map) };
    },
    text: (text, { local }, ancestors) => {
      const corner = ancestors.at(-1);
      const anchor = ancestors.at(-2);
      if (sheet === null || local !== 'row' || corner === undefined || anchor === undefined) return undefined;
      const row = Number(text);
      if (!Number.isInteger(row) || !isAnchor(anchor) || anchor.attributes.editAs === 'absolute') return undefined;
      const own = map.row(sheet, row + 1) - (row + 1);
      if (corner.local === 'from') moved = own;
      // With `oneCell` it keeps its height.
      return String(row + (anchor.attributes.editAs === 'oneCell' ? moved : own));
    },
  });
}

const isAnchor = ({ local }: XmlOpen): boolean => local === 'twoCellAnchor' || local === 'oneCellAnchor';
