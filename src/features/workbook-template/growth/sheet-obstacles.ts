import type { XmlOpen, XmlToken } from '../package/xml-tokens.ts';
import { type CellAddress, type CellRange, formatCell, parseCell, parseRange } from '../workbook/addresses.ts';
import { isTooLong } from './formula-references.ts';
import { findNotFollowed, type NotFollowed } from './not-followed.ts';

/** What the growth of a worksheet depends on, apart from its tables. */
export interface SheetObstacles {
  readonly merged: readonly CellRange[];
  /** Formulas whose results fill a range. */
  readonly blocks: readonly BlockFormula[];
  /** References that do not follow growth, by kind: the first cell, and the number of formulas. */
  readonly notFollowed: ReadonlyMap<NotFollowed, FormulaCell & { readonly formulas: number }>;
  /** Cells with a formula, in the requested rows. */
  readonly formulaCells: readonly CellAddress[];
  /** Style indexes of the requested cells, if they have a style. */
  readonly styles: ReadonlyMap<string, number>;
  /** The first formula that is too long to be read. */
  readonly tooLong: FormulaCell | null;
  /** The first cell or row that comes too late in the file. A sheet with such an order cannot be filled. */
  readonly outOfOrder: string | null;
  /** The requested ones, from top to bottom. */
  readonly hiddenRows: ReadonlySet<number>;
}

/** Undefined for formulas outside of cells, e.g. in a validation. */
export interface FormulaCell {
  readonly cell: string | undefined;
}

export interface BlockFormula {
  readonly kind: 'array' | 'spill' | 'data table';
  readonly range: CellRange;
}

const FORMULAS = new Set(['f', 'formula', 'formula1', 'formula2']);

/**
 * @param rows rows whose formulas are collected
 * @param hides whether to collect a row if it is hidden
 * @param styled addresses of cells whose styles are collected
 */
export async function readObstacles(
  batches: AsyncIterable<readonly XmlToken[]>,
  rows: ReadonlySet<number>,
  hides: (row: number) => boolean = () => false,
  styled: ReadonlySet<string> = new Set(),
): Promise<SheetObstacles> {
  const merged: CellRange[] = [];
  const blocks: BlockFormula[] = [];
  const notFollowed = new Map<NotFollowed, FormulaCell & { readonly formulas: number }>();
  const formulaCells: CellAddress[] = [];
  const styles = new Map<string, number>();
  let tooLong = null as FormulaCell | null;
  let outOfOrder = null as string | null;
  const hiddenRows = new Set<number>();
  // Files may leave out addresses of rows and cells. Those follow the previous one.
  let cell: CellAddress = { row: 0, column: 0 };
  let dynamic = false;
  let inData = false;
  /** The text of the formula that is being read; null outside of formulas. */
  let formula = null as string | null;

  const open = (token: XmlOpen): void => {
    const { local, attributes } = token;
    if (local === 'sheetData') inData = true;
    else if (local === 'row' && inData) {
      const row = Number(attributes.r ?? cell.row + 1);
      if (!(row > cell.row)) outOfOrder ??= `${attributes.r}:${attributes.r}`;
      cell = { row, column: 0 };
      if (isTrue(attributes.hidden) && hides(cell.row)) hiddenRows.add(cell.row);
    } else if (local === 'c' && inData) {
      const column = attributes.r === undefined ? cell.column + 1 : (parseCell(attributes.r)?.column ?? 0);
      if (column <= cell.column) outOfOrder ??= `${attributes.r}`;
      cell = { row: cell.row, column };
      dynamic = attributes.cm !== undefined;
      if (attributes.s !== undefined && styled.size > 0 && styled.has(formatCell(cell)))
        styles.set(formatCell(cell), Number(attributes.s));
    } else if (local === 'mergeCell') {
      const range = parseRange(attributes.ref ?? '');
      if (range !== undefined) merged.push(range);
    } else if (FORMULAS.has(local)) {
      formula = '';
      if (local === 'f' && inData) readFormula(attributes);
    }
  };

  const readFormula = ({ t, ref }: XmlOpen['attributes']): void => {
    if (rows.has(cell.row)) formulaCells.push(cell);
    const range = parseRange(ref ?? '');
    if (range === undefined) return;
    if (t === 'array') blocks.push({ kind: dynamic ? 'spill' : 'array', range });
    else if (t === 'dataTable') blocks.push({ kind: 'data table', range });
  };

  const close = (): void => {
    const text = formula ?? '';
    const place = inData ? formatCell(cell) : undefined;
    if (isTooLong(text)) tooLong ??= { cell: place };
    else {
      for (const kind of findNotFollowed(text)) {
        const seen = notFollowed.get(kind);
        notFollowed.set(kind, { cell: seen === undefined ? place : seen.cell, formulas: (seen?.formulas ?? 0) + 1 });
      }
    }
    formula = null;
  };

  for await (const batch of batches) {
    for (const token of batch) {
      if (token.kind === 'open') open(token);
      else if (token.kind === 'text' && formula !== null) formula += token.text;
      else if (token.kind === 'close' && FORMULAS.has(token.local)) close();
      else if (token.kind === 'close' && token.local === 'sheetData') inData = false;
    }
  }
  return { merged, blocks, notFollowed, formulaCells, styles, tooLong, outOfOrder, hiddenRows };
}

const isTrue = (value: string | undefined): boolean => value === '1' || value === 'true';
