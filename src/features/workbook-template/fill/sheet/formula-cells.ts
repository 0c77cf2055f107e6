import type { ReferenceMap } from '../../growth/growth.ts';
import { createFillDown, mapFormula } from '../../growth/map-formula.ts';
import { changeAttributes, escapeXmlText } from '../../package/tokenize-xml.ts';
import type { XmlOpen } from '../../package/xml-tokens.ts';
import { type CellRange, formatCell, formatRange, parseCell, parseRange } from '../../workbook/addresses.ts';
import type { CellFormula, SheetCell } from './sheet-rows.ts';

/** A formula that several cells share (`t="shared"`). The first of them has its text. */
export interface SharedFormula {
  readonly text: string;
  readonly row: number;
  readonly column: number;
  /** Growth changes one of its cells, or a value replaces one. Then each of the others gets its own text. */
  readonly changes: boolean;
}

/** The shared and array formulas of a sheet. */
export interface SheetFormulas {
  /** By the id of the shared formula (`si`). */
  readonly shared: ReadonlyMap<string, SharedFormula>;
  /** Ranges that a single array formula or data table computes. Only the first cell has the formula. */
  readonly arrays: readonly CellRange[];
}

/** Where a cell of the template moves to. */
export interface CellMove {
  readonly row: number;
  readonly newRow: number;
  /** Whether it is in the body of a bound table. */
  readonly filled: boolean;
}

/** The full formula of a cell. A cell that shares the formula of another one has no text of its own. */
export function formulaText(
  { open, text }: CellFormula,
  row: number,
  column: number,
  shared: SheetFormulas['shared'],
): string {
  if (open.attributes.t !== 'shared' || text !== '') return text;
  const first = shared.get(open.attributes.si ?? '');
  return first === undefined ? '' : createFillDown(first.text)(row - first.row, column - first.column);
}

/** Writes a template cell at its new place. */
export type CellWriter = (cell: SheetCell, move: CellMove) => string;

/**
 * Writes cells without the results of formulas, because those are of the template's sample.
 * @param sheet its name
 */
export function createCellWriter(sheet: string, map: ReferenceMap, { shared, arrays }: SheetFormulas): CellWriter {
  const formulaXml = (formula: CellFormula, column: number, { row, filled }: CellMove): string => {
    const { open, text } = formula;
    const { t: kind, si = '' } = open.attributes;
    const place = { row, filled };
    if (kind === 'shared') {
      if (shared.get(si)?.changes !== true) return rawFormula(formula, text);
      const own = formulaText(formula, row, column, shared);
      return rawFormula({ open, text }, mapFormula(own, sheet, map, place), { t: null, ref: null, si: null });
    }
    const mapped = text === '' ? '' : mapFormula(text, sheet, map, place);
    return rawFormula(formula, mapped, mappedAddresses(open, sheet, map));
  };
  const isResult = (row: number, column: number): boolean =>
    arrays.some(({ from, to }) => from.row <= row && row <= to.row && from.column <= column && column <= to.column);
  return (cell, move) => {
    const { column, open, formula, tokens } = cell;
    const changes: Record<string, string | null> = {};
    if (move.newRow !== move.row || open.attributes.r === undefined) {
      changes.r = formatCell({ row: move.newRow, column });
    }
    if (formula === undefined && !isResult(move.row, column)) {
      const rest = tokens.slice(1).map(({ raw }) => raw);
      return (changes.r === undefined ? open.raw : changeAttributes(open, changes)) + rest.join('');
    }
    if (open.attributes.t !== undefined) changes.t = null;
    return (
      (Object.keys(changes).length === 0 ? open.raw : changeAttributes(open, changes)) +
      contentXml(cell, formula === undefined ? '' : formulaXml(formula, column, move))
    );
  };
}

/** The content of a cell after its start tag, with another formula and no result. */
function contentXml({ tokens, formula }: SheetCell, formulaXml: string): string {
  let xml = '';
  let depth = 0;
  let skips = false;
  for (const token of tokens.slice(1)) {
    if (token.kind === 'open') {
      depth += 1;
      if (depth === 1 && token === formula?.open) xml += formulaXml;
      if (depth === 1) skips = token === formula?.open || token.local === 'v' || token.local === 'is';
    }
    if (!skips) xml += token.raw;
    if (token.kind === 'close') {
      depth -= 1;
      if (depth === 0) skips = false;
    }
  }
  return xml;
}

/** The element of a formula with its text. Unchanged if nothing changes. */
function rawFormula({ open }: CellFormula, text: string, attributes: Record<string, string | null> = {}): string {
  const tag = Object.keys(attributes).length === 0 ? open.raw : changeAttributes(open, attributes);
  if (text === '') return open.selfClosing ? tag : `${tag}</${open.name}>`;
  return `${open.selfClosing ? tag.replace(/\s*\/>$/, '>') : tag}${escapeXmlText(text)}</${open.name}>`;
}

/** The addresses of an array formula or a data table, which are attributes besides its text. */
function mappedAddresses(open: XmlOpen, sheet: string, map: ReferenceMap): Record<string, string | null> {
  const changes: Record<string, string | null> = {};
  const { ref, r1, r2 } = open.attributes;
  const range = ref === undefined ? undefined : parseRange(ref);
  if (range !== undefined) {
    const mapped = formatRange(map.range(sheet, range, 'cell'));
    if (mapped !== formatRange(range)) changes.ref = mapped;
  }
  for (const [name, text] of Object.entries({ r1, r2 })) {
    const cell = text === undefined ? undefined : parseCell(text);
    if (cell === undefined) continue;
    const mapped = formatCell(map.cell(sheet, cell));
    if (mapped !== formatCell(cell)) changes[name] = mapped;
  }
  return changes;
}
