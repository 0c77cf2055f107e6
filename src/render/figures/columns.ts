import type { Row, Table, Value } from '../../fetch/dataset.ts';
import { iterateRows } from '../../fetch/rows.ts';
import { DEFAULT_LOCALE, messagesFor, type Words } from '../../i18n/messages.ts';
import { unitLabel } from './format-value.ts';
import {
  createRounder,
  defaultDecimals,
  isNotComparable,
  type Quantity,
  type QuantityCollector,
  quantityCollector,
} from './quantity.ts';
import {
  changeQuantity,
  isRawFigure,
  labelReader,
  namedComparison,
  type RawColumn,
  tableColumns,
  uniqueHeaders,
  withUnit,
} from './raw-columns.ts';

/**
 * A table's column as people see it in reports. One column of the dataset becomes one or more of these: a weekly bucket
 * adds its ISO week, and a compared metric adds its previous value and its change for each comparison.
 */
export interface ViewColumn extends RawColumn {
  /** For the workbook, with the displayed unit, e.g. `Approval rate (%)`; unique in the table. */
  readonly header: string;
  readonly quantity: Quantity;
  /** Whether any value in the rows is undefined without a note of its own, and whether any value is positive. */
  readonly contents: { readonly undefined: boolean; readonly positive: boolean };
  /** The most decimals of any of its figures, including the total. */
  readonly decimals: number;
}

function formatHeader(column: RawColumn, quantity: Quantity, { comparisons, toDate }: Table, words: Words): string {
  const { role, source, rawHeader, comparison } = column;
  const { bucket, isoWeek: week, previous, change } = words.table;
  if (role === 'bucket') return quantity.kind === 'bucket' ? bucket[quantity.granularity] : rawHeader;
  if (role === 'week') return week;
  if (role === 'change' && comparison !== undefined) {
    return withUnit(change(source.label, namedComparison(comparison, comparisons)), unitLabel(quantity, words));
  }
  const header = withUnit(source.label, unitLabel(quantity, words));
  if (role === 'to_date' && toDate !== undefined) return words.table.toDate(header, toDate.unit);
  return role === 'previous' && comparison !== undefined ? previous(header, comparison) : header;
}

/** Collects the figures closest to zero and to one, which need the most decimals. (A ratio of one is 100 %.) */
function decimalsCollector() {
  let toZero = Number.POSITIVE_INFINITY;
  let toOne = Number.POSITIVE_INFINITY;
  return {
    add: (value: Value | undefined): void => {
      if (typeof value !== 'number' || value === 0) return;
      const size = Math.abs(value);
      if (size < toZero) toZero = size;
      const gap = Math.abs(size - 1);
      if (gap !== 0 && gap < Math.abs(toOne - 1)) toOne = size;
    },
    /** The most decimals that any of the added figures needs. */
    decimals: (quantity: Quantity): number => {
      const roundingOf = createRounder(quantity);
      const known = [toZero, toOne].filter(Number.isFinite);
      return Math.max(defaultDecimals(quantity), ...known.map((value) => roundingOf(value).decimals));
    },
  };
}

/** Scans the rows once for all columns, because a large table is in a file. */
function collectColumnStats(table: Table, columns: readonly RawColumn[]) {
  const quantities = new Map(
    table.columns.map((source) => [source.name, quantityCollector(source, table.granularity ?? 'day')]),
  );
  const stats = columns.map(({ source, role, comparison, read }) => ({
    read,
    isNoted: (row: Row) => isNotComparable({ source, role, comparison }, row),
    // Weeks and changes are computed from other columns, so they do not determine a quantity.
    addToQuantity: isRawFigure(role) || role === 'label' ? quantities.get(source.name)?.add : undefined,
    undefined: false,
    positive: false,
    decimals: decimalsCollector(),
  }));
  for (const [index, { role, source, total }] of columns.entries()) {
    if (isRawFigure(role)) quantities.get(source.name)?.add(total);
    stats[index]?.decimals.add(total);
  }
  for (const row of iterateRows(table.rows)) {
    for (const column of stats) {
      const value = column.read(row);
      if (value === null) column.undefined ||= !column.isNoted(row);
      else {
        if (typeof value === 'number' && value > 0) column.positive = true;
        column.addToQuantity?.(value);
        column.decimals.add(value);
      }
    }
  }
  return { quantities, stats };
}

function selectQuantity({ role, source }: RawColumn, collector: QuantityCollector | undefined): Quantity {
  const quantity = collector?.quantity() ?? { kind: 'text' };
  if (role === 'week') return { kind: 'text' };
  return role === 'change' ? changeQuantity(source, quantity) : quantity;
}

/**
 * The columns of a table, in order. Workbook, e-mail, charts and formatted CSV all use them, so that they show the same
 * figures. Scans all rows once: reuse the result.
 */
export function viewColumns(table: Table, locale: string = DEFAULT_LOCALE): readonly ViewColumn[] {
  const words = messagesFor(locale);
  const raw = tableColumns(table, words, labelReader);
  const { quantities, stats } = collectColumnStats(table, raw);
  const columns = raw.map((column, index) => {
    const quantity = selectQuantity(column, quantities.get(column.source.name));
    const found = stats[index];
    return {
      ...column,
      quantity,
      contents: { undefined: found?.undefined ?? false, positive: found?.positive ?? false },
      decimals: found?.decimals.decimals(quantity) ?? 0,
    };
  });
  const headers = uniqueHeaders(
    columns.map((column) => formatHeader(column, column.quantity, table, words)),
    columns,
  );
  return columns.map((column, index) => ({ ...column, header: headers[index] ?? column.rawHeader }));
}

export const isFigureColumn = ({ role }: ViewColumn): boolean => isRawFigure(role) || role === 'change';

/** The columns of the metrics' own values. */
export const valueColumns = (columns: readonly ViewColumn[]): readonly ViewColumn[] =>
  columns.filter(({ role }) => role === 'value');

/** Whether the section has a single row without bucket or group. */
export const isSingleRow = ({ rows, columns }: Table): boolean =>
  rows.length === 1 && columns.length > 0 && columns.every(({ kind }) => kind === 'metric');

/**
 * Whether the section's single row is shown transposed, with one row per metric. A bucket with totals is not: the
 * bucket and the totals are compared with different ranges.
 */
export function isTransposed({ rows, totals }: Table, columns: readonly ViewColumn[]): boolean {
  if (rows.length !== 1 || !columns.some(isFigureColumn) || columns.some(({ role }) => role === 'label')) return false;
  return totals === undefined || columns.every(isFigureColumn);
}

/** Whether the service's totals, or their previous values, differ from the section's single row. */
export const totalsDiffer = (columns: readonly ViewColumn[], row: Row | undefined): boolean =>
  columns.some(({ total, read }) => total !== undefined && total !== (row === undefined ? null : read(row)));
