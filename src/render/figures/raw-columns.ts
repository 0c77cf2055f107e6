import type { Granularity } from '../../contract/report.ts';
import type { ComparisonKind } from '../../definitions/schema/comparison.ts';
import type { Column, Row, Table, TableComparison, Value } from '../../fetch/dataset.ts';
import { messagesFor, type Words } from '../../i18n/messages.ts';
import { formatIsoWeek } from './format-date.ts';
import { rawUnitLabel, unitLabel } from './format-value.ts';
import { changeIn, changeKind, parseCivilDate, type Quantity } from './quantity.ts';

/** A table's column as data files show it, with raw values. It is built without reading the rows. */
export interface RawColumn {
  readonly source: Column;
  /** `label`: a dimension, or a field of a list. */
  readonly role: 'bucket' | 'week' | 'label' | 'value' | 'previous' | 'change' | 'to_date';
  /** Set for compared figures and changes. */
  readonly comparison?: ComparisonKind;
  /** With the unit of the raw value, e.g. `Approval rate (ratio 0–1)`. Unique in the table. */
  readonly rawHeader: string;
  /** Without the unit, for values that are written with theirs. Unique in the table. */
  readonly plainHeader: string;
  /**
   * Reads the row's value. Enum values of dimensions are read as labels; fields of a list as codes or labels, depending
   * on the file.
   */
  readonly read: (row: Row) => Value;
  /** The service's total; undefined for labels, and if no total was requested. */
  readonly total: Value | undefined;
}

/** A header, followed by its unit if it has one. */
export const withUnit = (label: string, unit: string | undefined): string =>
  unit === undefined ? label : `${label} (${unit})`;

const valueReader =
  ({ name }: Column): RawColumn['read'] =>
  (row) =>
    row.values[name] ?? null;

/** Reads a code as its label. */
export function labelReader(column: Column): RawColumn['read'] {
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

/** The comparison that the header of a change names: none if the previous period is the only comparison. */
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

/** The quantity of a metric's change, as shown beside figures of `quantity`. */
export function changeQuantity({ unit }: Column, quantity: Quantity | undefined): Quantity {
  const kind = changeKind(unit);
  if (kind !== 'difference') return { kind };
  return { kind, unit, decimals: quantity?.kind === 'amount' ? quantity.decimals : 0 };
}

/**
 * Makes headers unique regardless of case, because tables in Excel and programs that look up columns by name require
 * it. Columns with the same label, or without one, also get the API's name.
 */
export function uniqueHeaders(headers: readonly string[], columns: readonly RawColumn[]): readonly string[] {
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

/** The columns of a table for data files, in order. Fields of a list keep their codes. */
export const rawColumns = (table: Table): readonly RawColumn[] =>
  // In English, because programs expect the same headers in raw files of every locale.
  tableColumns(table, messagesFor(), (column) => (column.kind === 'field' ? valueReader(column) : labelReader(column)));

/** The columns of a table, in order; `readerOf` decides how labels and fields are read. */
export function tableColumns(
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

/** Whether the column has the service's own values, in the unit of the metric. */
export const isRawFigure = (role: RawColumn['role']): boolean => ['value', 'previous', 'to_date'].includes(role);
