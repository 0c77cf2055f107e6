import type { CellRange } from './addresses.ts';

/** What binding and growth need to know about a template. Read once, before anything is filled. */
export interface TemplateWorkbook {
  readonly sheets: readonly TemplateSheet[];
  readonly tables: readonly TemplateTable[];
  readonly names: readonly DefinedName[];
  /** Whether days are counted from 1904 on instead of 1900. */
  readonly date1904: boolean;
  /** Whether it has a part with macros. */
  readonly macros: boolean;
}

export interface TemplateSheet {
  readonly name: string;
  readonly part: string;
  /** Only worksheets have cells. */
  readonly kind: 'worksheet' | 'chartsheet' | 'other';
}

/** An Excel table (ECMA-376 part 1, §18.5). */
export interface TemplateTable {
  readonly part: string;
  /** The name of its sheet. */
  readonly sheet: string;
  /** The name that formulas use. */
  readonly name: string;
  /** The title in its alternative text. */
  readonly title?: string;
  /** Includes the header and totals rows. */
  readonly range: CellRange;
  /** 0 or 1 rows. */
  readonly headerRows: number;
  readonly totalsRows: number;
  /** From left to right. */
  readonly columns: readonly TemplateColumn[];
}

export interface TemplateColumn {
  readonly header: string;
  /** The formula of a calculated column, without `=`. */
  readonly formula?: string;
}

export interface DefinedName {
  readonly name: string;
  /** The sheet on which it is valid. Null: the whole workbook. */
  readonly scope: string | null;
  /** As written in the file, without `=`. */
  readonly formula: string;
  /** The cell or range it points to, if it is just one. */
  readonly target?: { readonly sheet: string; readonly range: CellRange };
}

/** The first and last row of a table's data, without header and totals. A table has at least one. */
export const bodyRows = ({ range, headerRows, totalsRows }: TemplateTable): { first: number; last: number } => ({
  first: range.from.row + headerRows,
  last: range.to.row - totalsRows,
});
