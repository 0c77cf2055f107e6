import type { Granularity } from '../contract/report.ts';
import type { Column, Row, Table, Value } from '../fetch/dataset.ts';
import { rowsIn } from '../fetch/rows.ts';
import { changeKind, changeOf } from './compare.ts';
import {
  civilDate,
  decimalsOf,
  durationScale,
  instant,
  isoWeek,
  type Quantity,
  rawUnitWord,
  unitWord,
} from './format.ts';

/** A table's column as data files show it: every value raw. Nothing of it has to be learnt from the rows. */
export interface RawColumn {
  readonly source: Column;
  /** `label` covers dimensions and the fields of a list. */
  readonly role: 'bucket' | 'week' | 'label' | 'value' | 'previous' | 'change';
  /** With the unit of the raw value, e.g. `Approval rate (ratio 0–1)`; unique in the table. */
  readonly rawHeader: string;
  /** Without a unit, for values that are written with theirs; unique in the table. */
  readonly plainHeader: string;
  /** The row's value; enum values by their label, the rest raw. */
  readonly read: (row: Row) => Value;
  /** The service's total; undefined where a total has no meaning (labels) or was not asked for. */
  readonly total: Value | undefined;
}

/**
 * A table's column as renderers for people lay it out. One column of the dataset becomes one or more of these: a weekly
 * bucket also has its ISO week, and a metric with a comparison has what it was and how it changed beside it.
 */
export interface ViewColumn extends RawColumn {
  /** For the workbook, with the unit of what is shown, e.g. `Approval rate (%)`; unique in the table. */
  readonly header: string;
  readonly quantity: Quantity;
}

const withUnit = (label: string, unit: string | undefined): string =>
  unit === undefined ? label : `${label} (${unit})`;

const BUCKET_HEADERS = { day: 'Day', week: 'Week starting', month: 'Month' } as const;

const numbersOf = (table: Table, column: Column): number[] => {
  const values: (Value | undefined)[] = [table.totals?.values[column.name], table.totals?.compare?.[column.name]];
  for (const row of rowsIn(table.rows)) values.push(row.values[column.name], row.compare?.[column.name]);
  return values.filter((value) => typeof value === 'number');
};

function metricQuantity(table: Table, column: Column): Quantity {
  switch (column.unit) {
    case 'count':
      return { kind: 'count' };
    case 'ratio':
      return { kind: 'ratio' };
    case 'seconds':
      return { kind: 'duration', scale: durationScale(numbersOf(table, column)) };
    default:
      return { kind: 'amount', unit: column.unit, decimals: decimalsOf(numbersOf(table, column)) };
  }
}

/**
 * The kinds of a list's fields by their values, not by name or type alone: one value that does not fit makes the column
 * text. All fields in one reading, because the rows may be in a file.
 */
export function fieldQuantities(table: Table): Map<string, Quantity> {
  const fields = table.columns.filter(({ kind }) => kind === 'field').map(({ name }) => ({ name, seen: fieldKind() }));
  if (fields.length === 0) return new Map();
  for (const { values } of rowsIn(table.rows)) for (const { name, seen } of fields) seen.see(values[name]);
  return new Map(fields.map(({ name, seen }) => [name, seen.quantity()]));
}

/** What all values seen so far can be. */
function fieldKind() {
  const could = { number: true, integer: true, day: true, instant: true };
  let decimals = 0;
  let empty = true;
  return {
    see: (value: Value | undefined): void => {
      if (value === null || value === undefined) return;
      empty = false;
      // Excel keeps 15 digits: a longer id would become another one.
      could.number &&= typeof value === 'number' && Math.abs(value) < 1e15;
      could.integer &&= Number.isInteger(value);
      could.day &&= civilDate(value) !== undefined;
      could.instant &&= instant(value) !== undefined;
      if (could.number && !could.integer) decimals = decimalsOf([Number(value)], decimals);
    },
    quantity: (): Quantity => {
      if (empty) return { kind: 'text' };
      if (could.number) return could.integer ? { kind: 'identifier' } : { kind: 'amount', unit: null, decimals };
      if (could.day) return { kind: 'day' };
      return { kind: could.instant ? 'instant' : 'text' };
    },
  };
}

function labelReader(column: Column): (row: Row) => Value {
  if (column.values === undefined || column.values.length === 0) return (row) => row.values[column.name] ?? null;
  const labels = new Map(column.values.map(({ value, label }) => [value, label]));
  return (row) => {
    const value = row.values[column.name] ?? null;
    return typeof value === 'string' ? (labels.get(value) ?? value) : value;
  };
}

function bucketColumns(source: Column, granularity: Granularity): RawColumn[] {
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
    const date = civilDate(row.values[source.name]);
    return date === undefined ? null : isoWeek(date);
  };
  return [{ ...bucket, role: 'week', rawHeader: 'ISO week', plainHeader: 'ISO week', read }, bucket];
}

const labelColumn = (source: Column): RawColumn => ({
  source,
  role: 'label',
  rawHeader: source.label,
  plainHeader: source.label,
  read: labelReader(source),
  total: undefined,
});

function metricColumns({ totals, compared }: Table, source: Column): RawColumn[] {
  const { name, label, unit } = source;
  const rawUnit = rawUnitWord(unit);
  const now = (row: Row): Value => row.values[name] ?? null;
  const before = (row: Row): Value => row.compare?.[name] ?? null;
  const value: RawColumn = {
    source,
    role: 'value',
    rawHeader: withUnit(label, rawUnit),
    plainHeader: label,
    read: now,
    total: totals === undefined ? undefined : (totals.values[name] ?? null),
  };
  if (!compared) return [value];
  return [
    value,
    {
      ...value,
      role: 'previous',
      rawHeader: `${value.rawHeader}, previous period`,
      plainHeader: `${label}, previous period`,
      read: before,
      total: totals === undefined ? undefined : (totals.compare?.[name] ?? null),
    },
    {
      ...value,
      role: 'change',
      rawHeader: withUnit(`${label}, change`, unitWord(changeQuantity(source, undefined))),
      plainHeader: `${label}, change`,
      read: (row) => changeOf(unit, now(row), before(row)).value,
      total: totals === undefined ? undefined : changeOf(unit, totals.values[name], totals.compare?.[name]).value,
    },
  ];
}

/** How the change of a metric is shown, beside figures of `quantity`. */
function changeQuantity({ unit }: Column, quantity: Quantity | undefined): Quantity {
  const kind = changeKind(unit);
  if (kind !== 'difference') return { kind };
  return { kind, unit, decimals: quantity?.kind === 'amount' ? quantity.decimals : 0 };
}

function headerOf({ role, source, rawHeader }: RawColumn, quantity: Quantity): string {
  if (role === 'bucket') return quantity.kind === 'bucket' ? BUCKET_HEADERS[quantity.granularity] : rawHeader;
  if (role === 'week') return 'ISO week';
  if (role === 'change') return withUnit(`${source.label}, change`, unitWord(quantity));
  const header = withUnit(source.label, unitWord(quantity));
  return role === 'previous' ? `${header}, previous period` : header;
}

/**
 * Every column has a name of its own, whatever its case: a reader who picks a column by its header gets that one, and a
 * table of Excel has no other columns. What shares its label, or has none, is told apart by the API's own name.
 */
function unique(headers: readonly string[], columns: readonly RawColumn[]): readonly string[] {
  const seen = new Map<string, number>();
  for (const header of headers) seen.set(header.toLowerCase(), (seen.get(header.toLowerCase()) ?? 0) + 1);
  const taken = new Set<string>();
  return headers.map((header, index) => {
    const alone = seen.get(header.toLowerCase()) === 1 && header.trim() !== '';
    const stem = alone ? header : `${header} [${columns[index]?.source.name}]`.trim();
    let name = stem;
    for (let count = 2; taken.has(name.toLowerCase()); count += 1) name = `${stem} (${count})`;
    taken.add(name.toLowerCase());
    return name;
  });
}

/** The columns of a table in order, for data files. */
export function rawColumns(table: Table): readonly RawColumn[] {
  const columns = table.columns.flatMap((column) => {
    if (column.kind === 'time') return bucketColumns(column, table.granularity ?? 'day');
    return column.kind === 'metric' ? metricColumns(table, column) : [labelColumn(column)];
  });
  const rawHeaders = unique(
    columns.map(({ rawHeader }) => rawHeader),
    columns,
  );
  const plainHeaders = unique(
    columns.map(({ plainHeader }) => plainHeader),
    columns,
  );
  return columns.map((column, index) => ({
    ...column,
    rawHeader: rawHeaders[index] ?? column.rawHeader,
    plainHeader: plainHeaders[index] ?? column.plainHeader,
  }));
}

/** What the values of each column are. Reads the rows: once for all fields of a list, else once for some metrics. */
function quantitiesOf(table: Table): (column: RawColumn) => Quantity {
  const known = fieldQuantities(table);
  const metric = (source: Column): Quantity => {
    const quantity = known.get(source.name) ?? metricQuantity(table, source);
    known.set(source.name, quantity);
    return quantity;
  };
  return ({ role, source }) => {
    switch (role) {
      case 'bucket':
        return { kind: 'bucket', granularity: table.granularity ?? 'day' };
      case 'week':
        return { kind: 'text' };
      case 'label':
        return known.get(source.name) ?? { kind: 'text' };
      case 'change':
        return changeQuantity(source, metric(source));
      default:
        return metric(source);
    }
  };
}

/** The columns of a table in order, laid out for readers. All that people read starts here, so its figures are the same. */
export function viewColumns(table: Table): readonly ViewColumn[] {
  const quantityOf = quantitiesOf(table);
  const columns = rawColumns(table).map((column) => ({ ...column, quantity: quantityOf(column) }));
  const headers = unique(
    columns.map((column) => headerOf(column, column.quantity)),
    columns,
  );
  return columns.map((column, index) => ({ ...column, header: headers[index] ?? column.rawHeader }));
}
