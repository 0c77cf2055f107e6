import { relationshipKind, relationshipsPart } from '../../package/relationships.ts';
import type { TemplatePackage } from '../../package/template-package.ts';
import { formatCell, parseCell } from '../../workbook/addresses.ts';
import type { TemplateSheet, TemplateTable } from '../../workbook/workbook.ts';
import type { ReferenceMap, RowBand } from '../growth.ts';
import { mapFormula } from '../map-formula.ts';
import { mapPivotTable } from './cached/map-pivot.ts';
import { mapNamedViews, mapSingleXmlCells } from './map-cell-lists.ts';
import { lastRowOfKeptSizes, mapDrawing } from './map-drawing.ts';
import { mapTable } from './map-tables.ts';
import { mapVml } from './map-vml.ts';
import { readPart, rewriteXml, tokenizePart, type XmlPart } from './rewrite-xml.ts';
import { readRowHeights } from './row-heights.ts';

export interface SheetSources {
  readonly template: TemplatePackage;
  readonly sheet: TemplateSheet;
  readonly bands: readonly RowBand[];
  /** The bound tables of the sheet. */
  readonly boundTables: readonly TemplateTable[];
  readonly map: ReferenceMap;
}

/**
 * Updates the parts of a sheet that have references or anchors: tables, drawings, comments, controls, pivot tables and
 * others. Does not include the part of the sheet itself.
 */
export async function mapSheetParts({
  template,
  sheet: { name: sheet, part: own },
  bands,
  boundTables,
  map,
}: SheetSources): Promise<ReadonlyMap<string, string>> {
  const changes = new Map<string, string>();
  const put = (part: string, text: string | undefined): void => {
    if (text !== undefined) changes.set(part, text);
  };
  const putLinks = async (owner: string): Promise<void> => {
    const part = relationshipsPart(owner);
    if (template.has(part)) put(part, mapLinks(await readPart(template, part), sheet, map));
  };

  const parts = (await template.relationships(own))
    .filter(({ target, external }) => !external && template.has(target))
    .map((relationship) => ({ kind: relationshipKind(relationship), name: relationship.target }));
  const cells: string[] = [];
  for (const { kind, name } of parts) {
    if (kind === 'comments') cells.push(...commentedCells(await readPart(template, name)));
  }
  const comments = moveComments(cells, sheet, map);
  const isBound = (part: string): boolean => boundTables.some((table) => table.part === part);
  const boundRanges = boundTables.map(({ range }) => range);

  const mappers: Readonly<Record<string, (part: XmlPart) => string | undefined>> = {
    table: (part) => mapTable(part, sheet, isBound(part.name), map),
    comments: (part) => mapComments(part, comments),
    threadedComment: (part) => mapComments(part, comments),
    vmlDrawing: ({ text }) => mapVml(text, sheet, comments, map),
    ctrlProp: (part) => mapControl(part, sheet, map),
    pivotTable: (part) => mapPivotTable(part, sheet, map),
    tableSingleCells: (part) => mapSingleXmlCells(part, sheet, map),
    namedSheetView: (part) => mapNamedViews(part, sheet, boundRanges, map),
    namedSheetViews: (part) => mapNamedViews(part, sheet, boundRanges, map),
  };
  await putLinks(own);
  for (const { kind, name } of parts) {
    const mapper = Object.hasOwn(mappers, kind) ? mappers[kind] : undefined;
    if (mapper !== undefined) put(name, mapper(await readPart(template, name)));
    if (kind !== 'drawing') continue;
    const drawing = await readPart(template, name);
    const last = lastRowOfKeptSizes(drawing, sheet, map);
    const heights = last === 0 ? undefined : await readRowHeights(template, own, bands, last);
    put(name, mapDrawing(drawing, sheet, map, heights));
    await putLinks(name);
  }
  return changes;
}

const FORMULAS = ['fmlaLink', 'fmlaRange', 'fmlaTxbx', 'fmlaGroup'];

/** Moves the cells that a form control reads and writes. For a list, a single cell is a table of one row. */
export const mapControl = (part: XmlPart, sheet: string, map: ReferenceMap): string | undefined =>
  rewriteXml(tokenizePart(part), {
    attributes: ({ local, attributes }) => {
      if (local !== 'formControlPr') return undefined;
      const changes: Record<string, string> = {};
      for (const name of FORMULAS) {
        const formula = attributes[name];
        const single = name === 'fmlaRange' ? 'body' : 'cell';
        if (formula) changes[name] = mapFormula(formula, sheet, map, undefined, single);
      }
      return changes;
    },
  });

/**
 * Moves links of pictures and shapes to a place in the workbook (`#Board!B4`), in the relationships of a drawing or a
 * sheet.
 * @param sheet of the drawing
 */
const mapLinks = (part: XmlPart, sheet: string, map: ReferenceMap): string | undefined =>
  rewriteXml(tokenizePart(part), {
    attributes: ({ local, attributes }) => {
      const target = attributes.Target;
      if (local !== 'Relationship' || !target?.startsWith('#')) return undefined;
      return { Target: `#${encode(mapFormula(decode(target.slice(1)), sheet, map), target)}` };
    },
  });

/** Excel writes spaces in a sheet's name as `%20`; other programs do not. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const encode = (text: string, like: string): string => (/%[0-9a-f]{2}/i.test(like) ? encodeURI(text) : text);

const COMMENTS = new Set(['comment', 'threadedComment']);

/** The cells of a part with comments or threaded comments. */
function commentedCells(part: XmlPart): string[] {
  const cells: string[] = [];
  for (const token of tokenizePart(part)) {
    if (token.kind === 'open' && COMMENTS.has(token.local) && token.attributes.ref) cells.push(token.attributes.ref);
  }
  return cells;
}

/**
 * Where the comments of a sheet move, by their cells. Null removes a comment: another cell with a comment moves to its
 * place, as a totals row does when its table shrinks, and a cell has only one comment.
 * @param cells all cells of the sheet with comments
 */
export function moveComments(
  cells: Iterable<string>,
  sheet: string,
  map: ReferenceMap,
): ReadonlyMap<string, string | null> {
  const moved = new Map<string, string | null>();
  for (const ref of cells) {
    const cell = parseCell(ref);
    if (cell !== undefined) moved.set(ref, formatCell(map.cell(sheet, cell)));
  }
  const taken = new Set([...moved].filter(([from, to]) => from !== to).map(([, to]) => to));
  for (const ref of moved.keys()) if (moved.get(ref) === ref && taken.has(ref)) moved.set(ref, null);
  return moved;
}

/** Moves the comments of a part with comments or threaded comments. */
export const mapComments = (part: XmlPart, moved: ReadonlyMap<string, string | null>): string | undefined =>
  rewriteXml(tokenizePart(part), {
    element: ({ local, attributes }) =>
      COMMENTS.has(local) && moved.get(attributes.ref ?? '') === null ? () => '' : undefined,
    attributes: ({ local, attributes }) => {
      const ref = COMMENTS.has(local) ? moved.get(attributes.ref ?? '') : undefined;
      return ref ? { ref } : undefined;
    },
  });
