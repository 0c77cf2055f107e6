import type { XmlOpen, XmlToken } from '../../package/xml-tokens.ts';
import { MAX_ROW } from '../../workbook/addresses.ts';
import type { ReferenceMap } from '../growth.ts';
import { mapFormula } from '../map-formula.ts';
import { joinText, rewriteXml, tokenizePart, type XmlPart } from './rewrite-xml.ts';
import type { RowHeights } from './row-heights.ts';

/** Attributes that name the cells a shape or a picture shows, by element. */
const LINKS = new Map([
  ['sp', 'textlink'],
  ['cameraTool', 'cellRange'],
]);

/** A corner of an anchor: a row, counted from 0, and the distance from its upper edge in EMU. */
interface Corner {
  readonly row: number;
  readonly offset: number;
}

/**
 * Updates a drawing of a sheet: anchors move as `editAs` says ("Properties" in Excel), and shapes and pictures that
 * show cells follow them.
 * @param heights if given, a drawing that moves without being sized keeps its height among rows of other heights;
 * otherwise it covers as many rows as before
 */
export function mapDrawing(part: XmlPart, sheet: string, map: ReferenceMap, heights?: RowHeights): string | undefined {
  let from: Corner = { row: 0, offset: 0 };
  const move = (row: number): number => map.row(sheet, row + 1) - 1;
  const corner = (anchor: XmlOpen, local: string, old: Corner): Corner => {
    const moved = { row: move(old.row), offset: old.offset };
    if (local === 'from' || anchor.attributes.editAs !== 'oneCell') return moved;
    const shift = move(from.row) - from.row;
    if (moved.row - old.row === shift) return moved;
    return heights === undefined ? { ...old, row: old.row + shift } : lowerCorner(from, old, shift, heights);
  };
  return rewriteXml(tokenizePart(part), {
    attributes: (element) => mapLink(element, sheet, map),
    element: ({ local }, ancestors) => {
      const anchor = ancestors.at(-1);
      if (anchor === undefined || !isMoving(anchor) || (local !== 'from' && local !== 'to')) return undefined;
      return (tokens) => {
        const old = readCorner(tokens);
        if (local === 'from') from = old;
        const { row, offset } = corner(anchor, local, old);
        return rewriteXml(tokens, {
          text: (_, element) =>
            element.local === 'row' && row !== old.row
              ? String(row)
              : element.local === 'rowOff' && offset !== old.offset
                ? String(offset)
                : undefined,
        });
      };
    },
  });
}

/** Moves the references of shapes inside a chart, which have no anchors to cells. */
export const mapChartShapes = (part: XmlPart, map: ReferenceMap): string | undefined =>
  rewriteXml(tokenizePart(part), { attributes: (element) => mapLink(element, '', map) });

/**
 * The last row, counted from 1, of drawings that keep their size although rows are inserted between their corners; 0 if
 * there are none. Placing them needs the heights of rows.
 */
export function lastRowOfKeptSizes(part: XmlPart, sheet: string, map: ReferenceMap): number {
  let last = 0;
  let shift = 0;
  rewriteXml(tokenizePart(part), {
    element: ({ local }, ancestors) => {
      if (ancestors.at(-1)?.attributes.editAs !== 'oneCell' || (local !== 'from' && local !== 'to')) return undefined;
      return (tokens) => {
        const row = readCorner(tokens).row + 1;
        const moved = map.row(sheet, row) - row;
        if (local === 'from') shift = moved;
        else if (moved !== shift) last = Math.max(last, row);
        return undefined;
      };
    },
  });
  return last;
}

function mapLink({ local, attributes }: XmlOpen, sheet: string, map: ReferenceMap): Record<string, string> | undefined {
  const link = LINKS.get(local);
  const formula = link === undefined ? undefined : attributes[link];
  return link === undefined || !formula ? undefined : { [link]: mapFormula(formula, sheet, map) };
}

const isMoving = ({ local, attributes }: XmlOpen): boolean =>
  (local === 'twoCellAnchor' || local === 'oneCellAnchor') && attributes.editAs !== 'absolute';

function readCorner(tokens: readonly XmlToken[]): Corner {
  const numberIn = (local: string): number => {
    const start = tokens.findIndex((token) => token.kind === 'open' && token.local === local);
    const end = tokens.findIndex((token, place) => place > start && token.kind === 'close');
    const number = start < 0 ? 0 : Number(joinText(tokens.slice(start, end)));
    return Number.isInteger(number) && number >= 0 ? number : 0;
  };
  return { row: Math.min(numberIn('row'), MAX_ROW - 1), offset: numberIn('rowOff') };
}

/** The lower corner of a drawing that starts `shift` rows lower and keeps its height. */
function lowerCorner(from: Corner, to: Corner, shift: number, { before, after }: RowHeights): Corner {
  let left = to.offset;
  for (let row = from.row; row < to.row; row += 1) left += before(row + 1);
  let row = from.row + shift;
  for (; row < MAX_ROW - 1; row += 1) {
    const height = after(row + 1);
    if (left < height) break;
    left -= height;
  }
  return { row, offset: left };
}
