import type { CellValue } from '../../binding/bindings.ts';
import { insertedRows, type ReferenceMap, type RowBand } from '../../growth/growth.ts';
import { createFillDown, mapFormula } from '../../growth/map-formula.ts';
import { escapeXmlAttribute, escapeXmlText } from '../../package/tokenize-xml.ts';
import { columnLetters } from '../../workbook/addresses.ts';
import type { StyleReader } from './cell-styles.ts';
import { type CellFormat, cellXml } from './cell-xml.ts';
import { formulaText } from './formula-cells.ts';
import type { SheetScan } from './scan-sheet.ts';
import { templateRows } from './sheet-fill.ts';
import { hasOwnHeight, isEmpty, type SheetRow } from './sheet-rows.ts';
import type { TableCursor } from './table-cursor.ts';

export interface InsertedContext {
  /** The name of the sheet. */
  readonly sheet: string;
  readonly scan: SheetScan;
  readonly map: ReferenceMap;
  readonly format: CellFormat;
  readonly styles: StyleReader;
}

/** How to write the cells of a column in every inserted row. */
interface ColumnPlan {
  readonly letters: string;
  readonly style: string;
  /** For a column of a bound table: the index of the table, and of the column in it. */
  readonly table: number;
  readonly offset: number;
  /** `rows`: number of rows below the last row of the template. */
  readonly formula?: (address: string, rows: number) => string;
}

/**
 * Writes the rows below the last row of data of a band. They copy its attributes and styles, and fill its formulas
 * down.
 * @param newLast where the template's last row of data is in the filled sheet
 */
export function* writeInsertedRows(
  band: RowBand,
  newLast: number,
  last: SheetRow | undefined,
  cursors: readonly TableCursor[],
  context: InsertedContext,
): Iterable<string> {
  const count = insertedRows(band);
  if (count === 0) return;
  const { format } = context;
  const columns = planColumns(band, last, cursors, context);
  const attributes = rowAttributes(last);
  for (let inserted = 1; inserted <= count; inserted += 1) {
    const index = templateRows(band) - 1 + inserted;
    const row = newLast + inserted;
    const values = cursors.map((cursor) => cursor.next());
    let xml = `<${format.prefix}row r="${row}"${attributes}>`;
    for (const { letters, style, table, offset, formula } of columns) {
      const address = letters + row;
      if (formula !== undefined && cursors[table]?.has(index) === true) {
        xml += formula(address, inserted);
        continue;
      }
      const value: CellValue = table < 0 ? null : (values[table]?.[offset] ?? null);
      if (value !== null || style !== '') xml += cellXml(address, style, value, format);
    }
    yield `${xml}</${format.prefix}row>`;
  }
}

function planColumns(
  band: RowBand,
  last: SheetRow | undefined,
  cursors: readonly TableCursor[],
  { sheet, scan, map, format, styles }: InsertedContext,
): ColumnPlan[] {
  const plans = new Map<number, ColumnPlan>();
  for (const { column } of last?.cells ?? []) {
    plans.set(column, { letters: columnLetters(column), style: styles.of(column, last), table: -1, offset: 0 });
  }
  const buildFormula = (cursor: TableCursor, offset: number, style: string): ColumnPlan['formula'] => {
    const column = cursor.from + offset;
    const cell = last?.cells.find((each) => each.column === column);
    if (cell?.formula === undefined) {
      const calculated = cell === undefined || isEmpty(cell) ? cursor.calculated(offset) : undefined;
      if (calculated === undefined) return undefined;
      return (address, rows) => formulaXml(address, style, calculated(templateRows(band) - 1 + rows, 0), format);
    }
    const place = { row: band.last, filled: true };
    const fill = createFillDown(
      mapFormula(formulaText(cell.formula, band.last, column, scan.shared), sheet, map, place),
    );
    const array = cell.formula.open.attributes.t === 'array';
    const dynamic = cell.open.attributes.cm;
    return (address, rows) => formulaXml(address, style, fill(rows, 0), format, array ? { dynamic } : undefined);
  };
  for (const [table, cursor] of cursors.entries()) {
    for (const [offset, bound] of cursor.fill.bound.entries()) {
      const column = cursor.from + offset;
      const style = styles.of(column, last);
      const formula = bound ? undefined : buildFormula(cursor, offset, style);
      plans.set(column, {
        letters: columnLetters(column),
        style,
        table: bound || formula !== undefined ? table : -1,
        offset,
        ...(formula === undefined ? {} : { formula }),
      });
    }
  }
  return [...plans].sort(([one], [other]) => one - other).map(([, plan]) => plan);
}

/** The attributes of a row, for a new row, each with a leading space. */
function rowAttributes(row: SheetRow | undefined): string {
  if (row === undefined) return '';
  const left = new Set(['r', 'spans', ...(hasOwnHeight(row.open) ? [] : ['ht'])]);
  return Object.entries(row.open.attributes)
    .filter(([name]) => !left.has(name))
    .map(([name, value]) => ` ${name}="${escapeXmlAttribute(value)}"`)
    .join('');
}

/** A formula without a result. Excel computes it when it opens the workbook. */
export function formulaXml(
  address: string,
  style: string,
  formula: string,
  { prefix }: CellFormat,
  array?: { readonly dynamic: string | undefined },
): string {
  const metadata = array?.dynamic === undefined ? '' : ` cm="${escapeXmlAttribute(array.dynamic)}"`;
  const kind = array === undefined ? '' : ` t="array" ref="${address}"`;
  return `<${prefix}c r="${address}"${style}${metadata}><${prefix}f${kind}>${escapeXmlText(formula)}</${prefix}f></${prefix}c>`;
}
