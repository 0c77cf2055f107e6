import type { SheetRow } from './sheet-rows.ts';

/** The style of empty cells in a range of columns. */
export interface ColumnStyle {
  readonly from: number;
  readonly to: number;
  readonly style: string;
}

/** Reads cell styles as attributes, ` s="3"`. Empty for the workbook's first style. */
export interface StyleReader {
  /** The style of a cell in the row, or of an empty cell in that column. */
  of(column: number, row: SheetRow | undefined): string;
}

export function createStyleReader(columns: readonly ColumnStyle[]): StyleReader {
  const attribute = (style: string | undefined): string =>
    style === undefined || !/^[1-9]\d*$/.test(style) ? '' : ` s="${style}"`;
  return {
    of: (column, row) => {
      const cell = row?.cells.find((each) => each.column === column);
      if (cell !== undefined) return attribute(cell.open.attributes.s);
      const { s, customFormat = '0' } = row?.open.attributes ?? {};
      if (s !== undefined && (customFormat === '1' || customFormat === 'true')) return attribute(s);
      return attribute(columns.find(({ from, to }) => from <= column && column <= to)?.style);
    },
  };
}
