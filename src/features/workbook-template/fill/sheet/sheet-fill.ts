import type { CellValue } from '../../binding/bindings.ts';
import { type GrowthPlan, insertedRows, type RowBand } from '../../growth/growth.ts';
import { MAX_ROW, sameName } from '../../workbook/addresses.ts';
import type { DefinedName, TemplateSheet, TemplateTable, TemplateWorkbook } from '../../workbook/workbook.ts';

/** What a sheet gets. */
export interface SheetFill {
  readonly sheet: TemplateSheet;
  /** From top to bottom. */
  readonly bands: readonly BandFill[];
  readonly names: NameValues;
}

/** The values of bound names by row and column of the template. */
export type NameValues = ReadonlyMap<number, ReadonlyMap<number, CellValue>>;

export interface BandFill {
  readonly band: RowBand;
  readonly tables: readonly TableFill[];
}

/** What a bound table gets. */
export interface TableFill {
  readonly table: TemplateTable;
  /** One for each column of the table: values are written into it. */
  readonly bound: readonly boolean[];
  /** The number of rows. */
  readonly length: number;
  /** Columns that are not bound lose what is no formula: of a list, which has other fields in each run. */
  readonly clearsSamples?: boolean;
  /** One value for each column of the table; those of columns that are not bound are not read. */
  readonly rows: Iterable<readonly CellValue[]>;
}

/** Rows of data in the template. */
export const templateRows = ({ first, last }: RowBand): number => last - first + 1;

/** The band has fewer rows than the template. */
export const shrinks = (band: RowBand): boolean => band.rows < templateRows(band);

export const hasTotals = ({ tables }: RowBand): boolean => tables.some(({ totalsRow }) => totalsRow);

/** The row is pushed below Excel's last one. */
export const fallsOff = (bands: readonly BandFill[], row: number): boolean =>
  bands.reduce((moved, { band }) => moved + (band.last < row ? insertedRows(band) : 0), row) > MAX_ROW;

/** The cells of a row that are not as in the template, by their column; an empty text leaves one out. */
export type NewCells = Map<number, string>;

/** One for each worksheet, in their order; most get nothing. */
export function collectFills(
  { sheets }: TemplateWorkbook,
  plan: GrowthPlan,
  tables: readonly TableFill[],
  values: readonly { readonly name: DefinedName; readonly value: CellValue }[],
): SheetFill[] {
  return sheets.flatMap((sheet): SheetFill[] => {
    if (sheet.kind !== 'worksheet') return [];
    const bands = (plan.get(sheet.name) ?? []).map((band) => ({
      band,
      tables: tables.filter(({ table }) => band.tables.some(({ name }) => sameName(name, table.name))),
    }));
    const names = new Map<number, Map<number, CellValue>>();
    for (const { name, value } of values) {
      if (name.target?.sheet !== sheet.name) continue;
      const { row, column } = name.target.range.from;
      const inRow = names.get(row) ?? new Map<number, CellValue>();
      names.set(row, inRow.set(column, value));
    }
    return [{ sheet, bands, names }];
  });
}
