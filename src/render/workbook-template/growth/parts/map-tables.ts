import { formatRange, parseRange } from '../../workbook/addresses.ts';
import type { ReferenceMap } from '../growth.ts';
import { mapFormula } from '../map-formula.ts';
import { rewriteXml } from './rewrite-xml.ts';
import { tokensOf, type XmlPart } from './xml-part.ts';

/** Elements that say which cells a table, its filter or its order covers. */
const WITH_RANGE = new Set(['table', 'autoFilter', 'sortState', 'sortCondition']);
const WITH_FORMULA = new Set(['calculatedColumnFormula', 'totalsRowFormula']);

/**
 * The part of a table: its ranges and the formulas of its columns.
 * @param bound Its rows are written; otherwise it only moves, even if it ends with a band.
 */
export const mapTable = (part: XmlPart, sheet: string, bound: boolean, map: ReferenceMap): string | undefined =>
  rewriteXml(tokensOf(part), {
    attributes: ({ local, attributes }) =>
      WITH_RANGE.has(local) && attributes.ref !== undefined
        ? { ref: mapRef(attributes.ref, sheet, bound, map) }
        : undefined,
    text: (formula, { local }) => (WITH_FORMULA.has(local) ? mapFormula(formula, sheet, map) : undefined),
  });

/**
 * A range without sheet and `$`, as attributes name it. What is no range stays.
 * @param grows It ends with the rows of a bound table; otherwise it moves with its rows and never grows.
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
