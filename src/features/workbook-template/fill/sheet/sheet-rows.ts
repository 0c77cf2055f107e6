import { DocketError } from '../../../../base/error.ts';
import type { XmlOpen, XmlToken } from '../../package/xml-tokens.ts';
import { parseCell } from '../../workbook/addresses.ts';

/** A cell of the template with all of its tokens. */
export interface SheetCell {
  readonly column: number;
  /** The text between the previous cell and this one: white space, usually none. */
  readonly before: string;
  readonly open: XmlOpen;
  readonly tokens: readonly XmlToken[];
  readonly formula?: CellFormula;
}

export interface CellFormula {
  readonly open: XmlOpen;
  /** Without `=`. Empty for a cell that shares the formula of another one. */
  readonly text: string;
}

/** A row of the template. */
export interface SheetRow {
  readonly row: number;
  readonly open: XmlOpen;
  readonly cells: readonly SheetCell[];
  /** The text after the last cell, before the end of the row. */
  readonly after: string;
  /** Empty if the row is written as `<row/>`. */
  readonly close: string;
}

/** Groups the tokens inside `sheetData` into rows. */
export interface RowReader {
  /** Returns a row when the token ends it, the token if it is outside of rows, and null while a row is incomplete. */
  push(token: XmlToken): SheetRow | XmlToken | null;
}

/**
 * Whether somebody has set the row's height. Otherwise it was computed from the sample's texts, and must be computed
 * again.
 */
export const hasOwnHeight = ({ attributes: { customHeight } }: XmlOpen): boolean =>
  customHeight === '1' || customHeight === 'true';

/** Whether the cell has only a style. */
export const isEmpty = ({ tokens }: SheetCell): boolean => !tokens.slice(1).some(({ kind }) => kind === 'open');

export const isRow = (piece: SheetRow | XmlToken): piece is SheetRow => 'cells' in piece;

/**
 * @param where file and sheet, for errors
 * @throws DocketError `template.invalid` if rows or cells are out of order
 */
export function createRowReader(where: string): RowReader {
  let row: { number: number; open: XmlOpen; cells: SheetCell[] } | null = null;
  let cell: { column: number; before: string; open: XmlOpen; tokens: XmlToken[]; formula?: CellFormula } | null = null;
  let formula: { open: XmlOpen; text: string } | null = null;
  let between = '';
  let depth = 0;
  let lastRow = 0;
  let lastColumn = 0;

  const openRow = (open: XmlOpen): void => {
    const number = open.attributes.r === undefined ? lastRow + 1 : Number(open.attributes.r);
    if (!Number.isInteger(number) || number <= lastRow) throw outOfOrder(where, `row ${open.attributes.r}`, lastRow);
    row = { number, open, cells: [] };
    depth = 1;
    between = '';
    lastRow = number;
    lastColumn = 0;
  };
  const openCell = (open: XmlOpen): void => {
    const address = open.attributes.r;
    const column = address === undefined ? lastColumn + 1 : (parseCell(address)?.column ?? 0);
    if (column <= lastColumn) throw outOfOrder(where, `the cell ${address}`, lastRow);
    cell = { column, before: between, open, tokens: [] };
    between = '';
    lastColumn = column;
  };
  const inCell = (token: XmlToken): void => {
    if (cell === null) {
      between += token.raw;
      return;
    }
    cell.tokens.push(token);
    if (token.kind === 'open' && depth === 3 && token.local === 'f') formula = { open: token, text: '' };
    else if (token.kind === 'text' && formula !== null) formula.text += token.text;
    else if (token.kind === 'close' && depth === 2 && formula !== null) {
      cell.formula = formula;
      formula = null;
    }
  };

  return {
    push: (token) => {
      if (row === null) {
        if (token.kind !== 'open' || token.local !== 'row') return token;
        openRow(token);
        return null;
      }
      if (token.kind === 'open') {
        depth += 1;
        if (depth === 2 && token.local === 'c') openCell(token);
      }
      if (token.kind === 'close') depth -= 1;
      if (depth === 0) {
        const { number, open, cells } = row;
        row = null;
        return { row: number, open, cells, after: between, close: token.raw };
      }
      inCell(token);
      if (token.kind === 'close' && depth === 1 && cell !== null) {
        row.cells.push(cell);
        cell = null;
      }
      return null;
    },
  };
}

const outOfOrder = (where: string, what: string, row: number): DocketError =>
  new DocketError('template.invalid', `The template has cells out of order.`, {
    where,
    expected: 'rows and cells in ascending order',
    got: `${what} after row ${row}`,
    next: 'Open the template in Excel and save it again.',
  });
