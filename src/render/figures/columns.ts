import type { Granularity } from '../../contract/report.ts';
import type { ComparisonKind } from '../../definitions/schema/comparison.ts';
import type { Column, Row, Table, TableComparison, Value } from '../../fetch/dataset.ts';
import { iterateRows } from '../../fetch/rows.ts';
import { DEFAULT_LOCALE, messagesFor, type Words } from '../../i18n/messages.ts';
import { formatIsoWeek, rawUnitLabel, unitLabel } from './format-value.ts';
import {
  changeIn,
  changeKind,
  createRounder,
  defaultDecimals,
  isUnlike,
  parseCivilDate,
  type Quantity,
  type QuantityCollector,
  quantityCollector,
} from './quantity.ts';

/** A table's column as data files show it, with raw values. Built without reading the rows. */
export interface RawColumn {
  readonly source: Column;
  /** `label` covers dimensions and the fields of a list. */
  readonly role: 'bucket' | 'week' | 'label' | 'value' | 'previous' | 'change' | 'to_date';
  /** Of compared figures and changes. */
  readonly comparison?: ComparisonKind;
  /** With the unit of the raw value, e.g. `Approval rate (ratio 0–1)`; unique in the table. */
  readonly rawHeader: string;
  /** Without a unit, for values written with theirs; unique in the table. */
  readonly plainHeader: string;
  /** The row's value: enum values of dimensions by their label, those of a list as raw files or readers need them. */
  readonly read: (row: Row) => Value;
  /** The service's total; undefined for labels and where none was requested. */
  readonly total: Value | undefined;
}

/**
 * A table's column as reports for people show it. One column of the dataset becomes one or more of these: a weekly bucket
 * adds its ISO week, and a compared metric adds its previous value and its change, for each comparison.
 */
export interface ViewColumn extends RawColumn {
  /** For the workbook, with the displayed unit, e.g. `Approval rate (%)`; unique in the table. */
  readonly header: string;
  readonly quantity: Quantity;
  /** Whether any value in the rows is undefined without a note of its own, and whether any is positive. */
  readonly contents: { readonly undefined: boolean; readonly positive: boolean };
  /** The maximum decimals of its figures, the total included. */
  readonly decimals: number;
}

const withUnit = (label: string, unit: string | undefined): string =>
  unit === undefined ? label : `${label} (${unit})`;

const valueReader =
  ({ name }: Column): RawColumn['read'] =>
  (row) =>
    row.values[name] ?? null;

/** Reads the label of a code. */
function labelReader(column: Column): RawColumn['read'] {
  if (column.values === undefined || column.values.length === 0) return valueReader(column);
  const labels = new Map(column.values.map(({ value, label }) => [value, label]));
  return (row) => {
    const value = row.values[column.name] ?? null;
    return typeof value === 'string' ? (labels.get(value) ?? value) : value;
  };
}

function bucketColumns(source: Column, granularity: Granularity, { table: { isoWeek: week } }: Words): RawColumn[] {
  const bucket: RawColumn = {
    source,
    role: 'bucket',
    rawHeader: source.label,
    plainHeader: source.label,
    read: (row) => row.values[source.name] ?? null,
    total: undefined,
  };
  if (granularity !== 'week') return [bucket];
  const read = (row: Row): Value => {
    const date = parseCivilDate(row.values[source.name]);
    return date === undefined ? null : formatIsoWeek(date);
  };
  return [{ ...bucket, role: 'week', rawHeader: week, plainHeader: week, read }, bucket];
}

const labelColumn = (source: Column, read: RawColumn['read']): RawColumn => ({
  source,
  role: 'label',
  rawHeader: source.label,
  plainHeader: source.label,
  read,
  total: undefined,
});

/** The comparison that the header of a change names: none where the previous period is the only one. */
export const namedComparison = (
  kind: ComparisonKind,
  comparisons: readonly TableComparison[],
): ComparisonKind | undefined => (comparisons.length === 1 && kind === 'previous_period' ? undefined : kind);

function metricColumns(table: Table, source: Column, words: Words): RawColumn[] {
  const { totals, comparisons, toDate } = table;
  const { name, label, unit } = source;
  const rawUnit = rawUnitLabel(unit, words);
  const value: RawColumn = {
    source,
    role: 'value',
    rawHeader: withUnit(label, rawUnit),
    plainHeader: label,
    read: (row) => row.values[name] ?? null,
    total: totals === undefined ? undefined : (totals.values[name] ?? null),
  };
  const compared = comparisons.flatMap(({ kind }): RawColumn[] => {
    const change = words.table.change(label, namedComparison(kind, comparisons));
    return [
      {
        ...value,
        role: 'previous',
        comparison: kind,
        rawHeader: words.table.previous(value.rawHeader, kind),
        plainHeader: words.table.previous(label, kind),
        read: (row) => row.compare?.[kind]?.values[name] ?? null,
        total: totals === undefined ? undefined : (totals.compare?.[kind]?.values[name] ?? null),
      },
      {
        ...value,
        role: 'change',
        comparison: kind,
        rawHeader: withUnit(change, unitLabel(changeQuantity(source, undefined), words)),
        plainHeader: change,
        read: (row) => changeIn(source, row.values, row.compare?.[kind]).value,
        total: totals === undefined ? undefined : changeIn(source, totals.values, totals.compare?.[kind]).value,
      },
    ];
  });
  if (toDate === undefined) return [value, ...compared];
  const { unit: from } = toDate;
  const figure: RawColumn = {
    ...value,
    role: 'to_date',
    rawHeader: words.table.toDate(value.rawHeader, from),
    plainHeader: words.table.toDate(label, from),
    read: (row) => row.toDate?.[name] ?? null,
    total: totals === undefined ? undefined : (totals.toDate?.[name] ?? null),
  };
  return [value, ...compared, figure];
}

/** The quantity of a metric's change, shown beside figures of `quantity`. */
function changeQuantity({ unit }: Column, quantity: Quantity | undefined): Quantity {
  const kind = changeKind(unit);
  if (kind !== 'difference') return { kind };
  return { kind, unit, decimals: quantity?.kind === 'amount' ? quantity.decimals : 0 };
}

function headerOf(column: RawColumn, quantity: Quantity, { comparisons, toDate }: Table, words: Words): string {
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

/**
 * Makes headers unique regardless of case, as tables of Excel and readers by column name require. Columns with the same
 * label, or none, get the API's name added.
 */
function uniqueHeaders(headers: readonly string[], columns: readonly RawColumn[]): readonly string[] {
  const occurrences = new Map<string, number>();
  for (const header of headers) occurrences.set(header.toLowerCase(), (occurrences.get(header.toLowerCase()) ?? 0) + 1);
  const taken = new Set<string>();
  return headers.map((header, index) => {
    const unique = occurrences.get(header.toLowerCase()) === 1 && header.trim() !== '';
    const stem = unique ? header : `${header} [${columns[index]?.source.name}]`.trim();
    let name = stem;
    for (let count = 2; taken.has(name.toLowerCase()); count += 1) name = `${stem} (${count})`;
    taken.add(name.toLowerCase());
    return name;
  });
}

/** The columns of a table in order, for data files. The fields of a list keep their codes. */
export const rawColumns = (table: Table): readonly RawColumn[] =>
  // English: programs expect the same headers in raw files of every locale.
  tableColumns(table, messagesFor(), (column) => (column.kind === 'field' ? valueReader(column) : labelReader(column)));

function tableColumns(
  table: Table,
  words: Words,
  readerOf: (column: Column) => RawColumn['read'],
): readonly RawColumn[] {
  const columns = table.columns.flatMap((column) => {
    if (column.kind === 'time') return bucketColumns(column, table.granularity ?? 'day', words);
    return column.kind === 'metric' ? metricColumns(table, column, words) : [labelColumn(column, readerOf(column))];
  });
  const rawHeaders = uniqueHeaders(
    columns.map(({ rawHeader }) => rawHeader),
    columns,
  );
  const plainHeaders = uniqueHeaders(
    columns.map(({ plainHeader }) => plainHeader),
    columns,
  );
  return columns.map((column, index) => ({
    ...column,
    rawHeader: rawHeaders[index] ?? column.rawHeader,
    plainHeader: plainHeaders[index] ?? column.plainHeader,
  }));
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
    /** The maximum decimals of the figures added. */
    decimals: (quantity: Quantity): number => {
      const roundingOf = createRounder(quantity);
      const known = [toZero, toOne].filter(Number.isFinite);
      return Math.max(defaultDecimals(quantity), ...known.map((value) => roundingOf(value).decimals));
    },
  };
}

/** Whether its values are the service's own, with the unit of the metric. */
export const isRawFigure = (role: RawColumn['role']): boolean => ['value', 'previous', 'to_date'].includes(role);

/** Scans the rows once for all columns: a large table is in a file. */
function collectColumnStats(table: Table, columns: readonly RawColumn[]) {
  const quantities = new Map(
    table.columns.map((source) => [source.name, quantityCollector(source, table.granularity ?? 'day')]),
  );
  const stats = columns.map(({ source, role, comparison, read }) => ({
    read,
    isNoted: (row: Row) => isUnlike({ source, role, comparison }, row),
    // Weeks and changes are computed from other columns and do not determine a quantity.
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

function quantityOf({ role, source }: RawColumn, collector: QuantityCollector | undefined): Quantity {
  const quantity = collector?.quantity() ?? { kind: 'text' };
  if (role === 'week') return { kind: 'text' };
  return role === 'change' ? changeQuantity(source, quantity) : quantity;
}

/**
 * The columns of a table in order, for workbook, e-mail, charts and formatted CSV, which therefore show the same figures.
 * Scans all rows once: reuse the result.
 */
export function viewColumns(table: Table, locale: string = DEFAULT_LOCALE): readonly ViewColumn[] {
  const words = messagesFor(locale);
  const raw = tableColumns(table, words, labelReader);
  const { quantities, stats } = collectColumnStats(table, raw);
  const columns = raw.map((column, index) => {
    const quantity = quantityOf(column, quantities.get(column.source.name));
    const found = stats[index];
    return {
      ...column,
      quantity,
      contents: { undefined: found?.undefined ?? false, positive: found?.positive ?? false },
      decimals: found?.decimals.decimals(quantity) ?? 0,
    };
  });
  const headers = uniqueHeaders(
    columns.map((column) => headerOf(column, column.quantity, table, words)),
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
 * Whether the section's single row is shown transposed, one row per metric. A bucket with totals is not: the previous
 * period of the bucket and that of the totals are different ranges.
 */
export function isTransposed({ rows, totals }: Table, columns: readonly ViewColumn[]): boolean {
  if (rows.length !== 1 || !columns.some(isFigureColumn) || columns.some(({ role }) => role === 'label')) return false;
  return totals === undefined || columns.every(isFigureColumn);
}

/** Whether the service's totals, or their previous values, differ from the section's single row. */
export const totalsDiffer = (columns: readonly ViewColumn[], row: Row | undefined): boolean =>
  columns.some(({ total, read }) => total !== undefined && total !== (row === undefined ? null : read(row)));
