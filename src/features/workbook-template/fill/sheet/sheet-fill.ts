import type { CellValue } from '../../binding/bindings.ts';
import { type GrowthPlan, insertedRows, type RowBand } from '../../growth/growth.ts';
import { MAX_ROW, sameName } from '../../workbook/addresses.ts';
import type { DefinedName, TemplateSheet, TemplateTable, TemplateWorkbook } from '../../workbook/workbook.ts';

/** The values for a sheet. */
export interface SheetFill {
  readonly sheet: TemplateSheet;
  /** From top to bottom. */
  readonly bands: readonly BandFill[];
  readonly names: NameValues;
}

/** The values of bound names, by row and column in the template. */
export type NameValues = ReadonlyMap<number, ReadonlyMap<number, CellValue>>;

export interface BandFill {
  readonly band: RowBand;
  readonly tables: readonly TableFill[];
}

/** The rows for a bound table. */
export interface TableFill {
  readonly table: TemplateTable;
  /** One per column of the table: whether it is filled. */
  readonly bound: readonly boolean[];
  /** The number of rows. */
  readonly length: number;
  /** Whether unbound columns lose everything but formulas. For a list, whose fields differ between runs. */
  readonly clearsSamples?: boolean;
  /** One value per column of the table. Values of unbound columns are ignored. */
  readonly rows: Iterable<readonly CellValue[]>;
}

/** Number of data rows in the template. */
export const templateRows = ({ first, last }: RowBand): number => last - first + 1;

/** Whether the band has fewer rows than the template. */
export const shrinks = (band: RowBand): boolean => band.rows < templateRows(band);

export const hasTotals = ({ tables }: RowBand): boolean => tables.some(({ totalsRow }) => totalsRow);

/** Whether the row is pushed below Excel's last row. */
export const fallsOff = (bands: readonly BandFill[], row: number): boolean =>
  bands.reduce((moved, { band }) => moved + (band.last < row ? insertedRows(band) : 0), row) > MAX_ROW;

/** The changed cells of a row, by column. An empty text removes the cell. */
export type NewCells = Map<number, string>;

/** The fills of all worksheets, in order. Most are empty. */
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
