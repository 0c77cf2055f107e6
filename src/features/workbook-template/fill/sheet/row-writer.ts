import type { ReferenceMap } from '../../growth/growth.ts';
import { changeAttributes } from '../../package/tokenize-xml.ts';
import { columnLetters } from '../../workbook/addresses.ts';
import { createBandWriter } from './band-writer.ts';
import { type ColumnStyle, createStyleReader } from './cell-styles.ts';
import { type CellFormat, cellXml } from './cell-xml.ts';
import { type CellWriter, createCellWriter } from './formula-cells.ts';
import { isFilled, type SheetScan } from './scan-sheet.ts';
import { fallsOff, hasTotals, type NewCells, type SheetFill, shrinks, templateRows } from './sheet-fill.ts';
import { hasOwnHeight, type SheetCell, type SheetRow } from './sheet-rows.ts';

export interface RowFormat {
  readonly format: CellFormat;
  readonly columnStyles: readonly ColumnStyle[];
}

/** Writes the rows of a sheet, by their numbers in the template. The numbers must ascend. */
export type RowWriter = ReturnType<typeof createRowWriter>;

export function createRowWriter(fill: SheetFill, scan: SheetScan, map: ReferenceMap, look: RowFormat) {
  const { sheet, bands, names } = fill;
  const { format } = look;
  const writeCell = createCellWriter(sheet.name, map, scan);
  const styles = createStyleReader(look.columnStyles);
  const writers = bands.map((band) =>
    createBandWriter(band, { sheet: sheet.name, scan, map, names, format, styles, writeCell }),
  );
  const named = [...names.keys()].sort((one, other) => one - other);

  /** Puts the values of names over any existing cells. */
  const putNames = (number: number, newRow: number, row: SheetRow | undefined, cells: NewCells): void => {
    for (const [column, value] of names.get(number) ?? []) {
      const style = styles.of(column, row);
      // The totals row of a shrinking table has moved up, together with its names.
      if (map.cell(sheet.name, { row: number, column }).row !== newRow) continue;
      cells.set(column, cellXml(`${columnLetters(column)}${newRow}`, style, value, format));
    }
  };

  return {
    /** The first row after this one that gets values, even if the template does not contain it. */
    nextNeeded: (after: number): number | undefined => {
      const first = named.find((row) => row > after);
      return bands.reduce<number | undefined>((next, { band }) => {
        const lastNeeded =
          band.first + Math.min(band.rows, templateRows(band)) - (shrinks(band) && hasTotals(band) ? 0 : 1);
        const inBand = Math.max(band.first, after + 1);
        return inBand > lastNeeded || (next !== undefined && next < inBand) ? next : inBand;
      }, first);
    },
    /** Writes a row of the template. After the last row of a band, also writes the inserted rows. */
    *write(number: number, row: SheetRow | undefined): Iterable<string> {
      // These rows only lose their formats: the scan has refused rows with content.
      if (fallsOff(bands, number)) return;
      const newRow = map.row(sheet.name, number);
      const cells: NewCells = new Map();
      const writer = writers.find((each) => each.covers(number));
      writer?.putCells(number, newRow, row, cells);
      putNames(number, newRow, row, cells);
      const filled = (cell: SheetCell) => isFilled(bands, number, cell.column);
      yield rowXml(row, { number, newRow, cells, prefix: format.prefix, writeCell, filled });
      if (writer?.band.last === number) yield* writer.insertedRows(newRow, row);
    },
    /** Closes the rows of tables. Can be called repeatedly. */
    close: (): void => {
      for (const writer of writers) writer.close();
    },
  };
}

interface NewRow {
  readonly number: number;
  readonly newRow: number;
  readonly cells: NewCells;
  readonly prefix: string;
  readonly writeCell: CellWriter;
  readonly filled: (cell: SheetCell) => boolean;
}

function rowXml(row: SheetRow | undefined, { number, newRow, cells, prefix, writeCell, filled }: NewRow): string {
  const added = [...cells.keys()].sort((one, other) => one - other);
  if (row === undefined) {
    const xml = added.map((column) => cells.get(column)).join('');
    return xml === '' ? '' : `<${prefix}row r="${newRow}">${xml}</${prefix}row>`;
  }
  let xml = '';
  let at = 0;
  for (const cell of row.cells) {
    for (; at < added.length && (added[at] ?? 0) < cell.column; at += 1) xml += cells.get(added[at] ?? 0) ?? '';
    const own = cells.get(cell.column);
    if (own !== undefined) at += 1;
    xml += cell.before + (own ?? writeCell(cell, { row: number, newRow, filled: filled(cell) }));
  }
  for (; at < added.length; at += 1) xml += cells.get(added[at] ?? 0) ?? '';
  xml += row.after;
  const changes: Record<string, string | null> = {};
  if (newRow !== number) changes.r = String(newRow);
  if (cells.size > 0) {
    const { spans, ht } = row.open.attributes;
    if (spans !== undefined) changes.spans = null;
    if (ht !== undefined && !hasOwnHeight(row.open)) changes.ht = null;
  }
  const open = Object.keys(changes).length === 0 ? row.open.raw : changeAttributes(row.open, changes);
  if (!row.open.selfClosing) return `${open}${xml}${row.close}`;
  return xml === '' ? open : `${open.replace(/\s*\/>$/, '>')}${xml}</${row.open.name}>`;
}
