import { formatRange, parseRange } from '../../workbook/addresses.ts';
import type { ReferenceMap } from '../growth.ts';
import { mapFormula } from '../map-formula.ts';
import { rewriteXml, tokenizePart, type XmlPart } from './rewrite-xml.ts';

/** Elements with the cells that a table, its filter or its sort order covers. */
const WITH_RANGE = new Set(['table', 'autoFilter', 'sortState', 'sortCondition']);
const WITH_FORMULA = new Set(['calculatedColumnFormula', 'totalsRowFormula']);

/**
 * Updates the part of a table: its ranges and the formulas of its columns.
 * @param bound whether its rows are written. If not, it only moves, even if it ends with a band
 */
export const mapTable = (part: XmlPart, sheet: string, bound: boolean, map: ReferenceMap): string | undefined =>
  rewriteXml(tokenizePart(part), {
    attributes: ({ local, attributes }) =>
      WITH_RANGE.has(local) && attributes.ref !== undefined
        ? { ref: mapRef(attributes.ref, sheet, bound, map) }
        : undefined,
    text: (formula, { local }) => {
      if (!WITH_FORMULA.has(local)) return undefined;
      // As in the cells of the column, a range that ends with the row of its formula does not grow.
      const place = bound && local === 'calculatedColumnFormula' ? { row: 0, filled: true } : undefined;
      return mapFormula(formula, sheet, map, place);
    },
  });

/** Removes the mark that the row below the header is an empty one to type into, because the table now has rows. */
export const withoutInsertRow = (part: XmlPart): string | undefined =>
  rewriteXml(tokenizePart(part), {
    attributes: (_, ancestors) => (ancestors.length === 0 ? { insertRow: null } : undefined),
  });

/**
 * Maps a range without sheet and `$`, the form used in attributes. Other texts stay unchanged.
 * @param grows whether it ends with the rows of a bound table. If not, it moves with its rows, and never grows
 */
export function mapRef(ref: string, sheet: string, grows: boolean, map: ReferenceMap): string {
  const range = parseRange(ref);
  if (range === undefined) return ref;
  const mapped = grows
    ? map.range(sheet, range, 'body')
    : {
        from: { row: map.row(sheet, range.from.row), column: range.from.column },
        to: { row: map.row(sheet, range.to.row), column: range.to.column },
      };
  return formatRange(mapped) === formatRange(range) ? ref : formatRange(mapped);
}
