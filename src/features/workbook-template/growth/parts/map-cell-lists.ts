import { type CellRange, formatCell, parseCell, parseRange } from '../../workbook/addresses.ts';
import type { ReferenceMap } from '../growth.ts';
import { mapFormula } from '../map-formula.ts';
import { mapRef } from './map-tables.ts';
import { rewriteXml, tokenizePart, type XmlPart } from './rewrite-xml.ts';

/** Moves single cells that are mapped to an XML schema. */
export const mapSingleXmlCells = (part: XmlPart, sheet: string, map: ReferenceMap): string | undefined =>
  rewriteXml(tokenizePart(part), {
    attributes: ({ local, attributes }) => {
      const cell = local === 'singleXmlCell' ? parseCell(attributes.r ?? '') : undefined;
      return cell && { r: formatCell(map.cell(sheet, cell)) };
    },
  });

/** Moves the cells that contain parameters of data connections. */
export const mapConnections = (part: XmlPart, map: ReferenceMap): string | undefined =>
  rewriteXml(tokenizePart(part), {
    attributes: ({ local, attributes }) =>
      local === 'parameter' && attributes.cell ? { cell: mapFormula(attributes.cell, '', map) } : undefined,
  });

/**
 * Moves the filters and sort orders of named sheet views.
 * @param bound ranges of the sheet's bound tables
 */
export const mapNamedViews = (
  part: XmlPart,
  sheet: string,
  bound: readonly CellRange[],
  map: ReferenceMap,
): string | undefined =>
  rewriteXml(tokenizePart(part), {
    attributes: ({ attributes }) => {
      const range = attributes.ref === undefined ? undefined : parseRange(attributes.ref);
      if (range === undefined || attributes.ref === undefined) return undefined;
      return {
        ref: mapRef(
          attributes.ref,
          sheet,
          bound.some((table) => isInside(range, table)),
          map,
        ),
      };
    },
  });

const isInside = (range: CellRange, table: CellRange): boolean =>
  table.from.row <= range.from.row &&
  range.to.row <= table.to.row &&
  table.from.column <= range.from.column &&
  range.to.column <= table.to.column;
