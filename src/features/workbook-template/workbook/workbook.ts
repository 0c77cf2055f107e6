import type { CellRange } from './addresses.ts';

/** What of a template binding and growth depend on. Read once, before anything is filled. */
export interface TemplateWorkbook {
  readonly sheets: readonly TemplateSheet[];
  readonly tables: readonly TemplateTable[];
  readonly names: readonly DefinedName[];
  /** Days are counted from 1904 on, not from 1900. */
  readonly date1904: boolean;
  /** It has a part with macros. */
  readonly macros: boolean;
}

export interface TemplateSheet {
  readonly name: string;
  readonly part: string;
  /** Only worksheets have cells. */
  readonly kind: 'worksheet' | 'chartsheet' | 'other';
}

/** A table of Excel (ECMA-376 part 1, §18.5). */
export interface TemplateTable {
  readonly part: string;
  /** The name of its sheet. */
  readonly sheet: string;
  /** The name that formulas use. */
  readonly name: string;
  /** The title of its alternative text. */
  readonly title?: string;
  /** With its header and totals rows. */
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
  /** The sheet where it holds; null: the whole workbook. */
  readonly scope: string | null;
  /** As written in the file, without `=`. */
  readonly formula: string;
  /** Where it points to, if that is one cell or one range of a sheet. */
  readonly target?: { readonly sheet: string; readonly range: CellRange };
}

/** The rows of a table that hold data: without header and totals. A table has at least one. */
export const bodyRows = ({ range, headerRows, totalsRows }: TemplateTable): { first: number; last: number } => ({
  first: range.from.row + headerRows,
  last: range.to.row - totalsRows,
});
