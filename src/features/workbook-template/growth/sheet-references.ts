import type { XmlOpen } from '../package/xml-tokens.ts';
import type { ReferenceMap } from './growth.ts';
import { mapCorners, mapFormula } from './map-formula.ts';

/** The path of an element in a worksheet: the local names of the elements around it, outermost first. */
export type ElementPath = readonly string[];

/** What an attribute contains. */
type Reference =
  /** Ranges separated by spaces. A cell is a table of one row. */
  | 'areas'
  /** Cells and ranges separated by spaces. A cell stays a cell. */
  | 'cells'
  /** Cells and ranges that never grow. */
  | 'corners'
  | 'formula'
  /** A formula for a list. A cell is a table of one row. */
  | 'list'
  /** The row above a break, counted from 1. */
  | 'break'
  /** A row, counted from 0. */
  | 'row';

/** Attributes with references, by element: ECMA-376 part 1, §18.3.1. */
const ATTRIBUTES: Readonly<Record<string, Readonly<Record<string, Reference>>>> = {
  sheetPr: { syncRef: 'corners' },
  dimension: { ref: 'areas' },
  selection: { activeCell: 'corners', sqref: 'corners' },
  pivotSelection: { activeRow: 'row', previousRow: 'row' },
  protectedRange: { sqref: 'areas' },
  scenarios: { sqref: 'cells' },
  inputCells: { r: 'cells' },
  autoFilter: { ref: 'areas' },
  sortState: { ref: 'areas' },
  sortCondition: { ref: 'areas' },
  mergeCell: { ref: 'corners' },
  conditionalFormatting: { sqref: 'areas' },
  cfvo: { val: 'formula' },
  dataValidation: { sqref: 'areas' },
  hyperlink: { ref: 'cells', location: 'formula' },
  cellWatch: { r: 'cells' },
  ignoredError: { sqref: 'areas' },
  cellSmartTags: { r: 'cells' },
  controlPr: { linkedCell: 'formula', listFillRange: 'list' },
  webPublishItem: { sourceRef: 'cells' },
  dataRef: { ref: 'areas' },
};

/** The moved references of an element's attributes, for `changeAttributes`; null if none has moved. */
export function mapAttributes(
  open: XmlOpen,
  path: ElementPath,
  sheet: string,
  map: ReferenceMap,
): Readonly<Record<string, string>> | null {
  const { attributes, local } = open;
  const rules = local === 'brk' && path.at(-1) === 'rowBreaks' ? { id: 'break' as const } : ATTRIBUTES[local];
  if (rules === undefined) return null;
  // Data to consolidate may be on another sheet.
  const target = (local === 'dataRef' ? attributes.sheet : undefined) ?? sheet;
  const changes: Record<string, string> = {};
  for (const [name, reference] of Object.entries(rules)) {
    const value = attributes[name];
    if (value === undefined || isElsewhere(open, name)) continue;
    const mapped = mapValue(value, reference, target, map);
    if (mapped !== value) changes[name] = mapped;
  }
  return Object.keys(changes).length === 0 ? null : changes;
}

/** A relationship then names the document that the reference belongs to. */
const isElsewhere = ({ local, attributes }: XmlOpen, name: string): boolean =>
  (name === 'location' || local === 'dataRef') && Object.keys(attributes).some((one) => one.endsWith(':id'));

function mapValue(value: string, reference: Reference, sheet: string, map: ReferenceMap): string {
  switch (reference) {
    case 'areas':
      return mapAreas(value, sheet, map);
    case 'cells':
      return mapEach(value, (one) => mapFormula(one, sheet, map));
    case 'corners':
      return mapEach(value, (one) => mapCorners(one, sheet, map));
    case 'formula':
      return mapFormula(value, sheet, map);
    case 'list':
      return mapFormula(value, sheet, map, undefined, 'body');
    case 'break':
      return mapRow(value, (id) => map.row(sheet, id + 1) - 1);
    case 'row':
      return mapRow(value, (row) => map.row(sheet, row + 1) - 1);
  }
}

/** Maps ranges separated by spaces (`sqref`). A cell is a table of one row. */
export const mapAreas = (list: string, sheet: string, map: ReferenceMap): string =>
  mapEach(list, (one) => mapFormula(one, sheet, map, undefined, 'body'));

/** Keeps the separators. */
const mapEach = (list: string, mapOne: (reference: string) => string): string => list.replace(/\S+/g, mapOne);

const mapRow = (value: string, mapOne: (row: number) => number): string =>
  /^\d+$/.test(value) ? String(mapOne(Number(value))) : value;
