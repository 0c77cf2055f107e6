import type { XmlOpen } from '../package/xml-tokens.ts';
import type { ReferenceMap } from './growth.ts';
import { mapCorners, mapFormula } from './map-formula.ts';

/** Where an element of a worksheet stands: the local names of the elements around it, from the outside. */
export type ElementPath = readonly string[];

/** What an attribute holds. */
type Reference =
  /** Ranges, separated by spaces; a cell is a table of one row. */
  | 'areas'
  /** Cells and ranges, separated by spaces; a cell is a cell. */
  | 'cells'
  /** Cells and ranges that never grow. */
  | 'corners'
  | 'formula'
  /** A formula for a list: a cell is a table of one row. */
  | 'list'
  /** The row above a break, from 1. */
  | 'break'
  /** A row, from 0. */
  | 'row';

/** Of ECMA-376 part 1, §18.3.1: attributes that hold references, by element. */
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

/** Attributes of an element whose references have moved, for `changeAttributes`; null where none has. */
export function mapAttributes(
  open: XmlOpen,
  path: ElementPath,
  sheet: string,
  map: ReferenceMap,
): Readonly<Record<string, string>> | null {
  const { attributes, local } = open;
  const rules = local === 'brk' && path.at(-1) === 'rowBreaks' ? { id: 'break' as const } : ATTRIBUTES[local];
  if (rules === undefined) return null;
  // Data to consolidate may be of another sheet.
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

/** A relationship names the document that the reference is of. */
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

/** Ranges, separated by spaces (`sqref`); a cell is a table of one row. */
export const mapAreas = (list: string, sheet: string, map: ReferenceMap): string =>
  mapEach(list, (one) => mapFormula(one, sheet, map, undefined, 'body'));

/** The separators stay as they are. */
const mapEach = (list: string, mapOne: (reference: string) => string): string => list.replace(/\S+/g, mapOne);

const mapRow = (value: string, mapOne: (row: number) => number): string =>
  /^\d+$/.test(value) ? String(mapOne(Number(value))) : value;
