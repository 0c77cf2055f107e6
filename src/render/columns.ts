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

/**
 * A table's column as renderers lay it out. One column of the dataset becomes one or more of these: a weekly bucket
 * also has its ISO week, and a metric with a comparison has what it was and how it changed beside it.
 */
export interface ViewColumn {
  readonly source: Column;
  /** `label` covers dimensions and the fields of a list. */
  readonly role: 'bucket' | 'week' | 'label' | 'value' | 'previous' | 'change';
  /** For the workbook, with the unit of what is shown, e.g. `Approval rate (%)`; unique in the table. */
  readonly header: string;
  /** For data files, with the unit of the raw value, e.g. `Approval rate (ratio 0–1)`; unique in the table. */
  readonly rawHeader: string;
  /** Without a unit, for values that are written with theirs; unique in the table. */
  readonly plainHeader: string;
  readonly quantity: Quantity;
  /** The row's value; enum values by their label, the rest raw. */
  readonly read: (row: Row) => Value;
  /** The service's total; undefined where a total has no meaning (labels) or was not asked for. */
  readonly total: Value | undefined;
}

type Draft = ViewColumn & { readonly name: string };

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
function fieldQuantities(table: Table): ReadonlyMap<string, Quantity> {
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
      if (could.number && !could.integer) decimals = Math.max(decimals, decimalsOf([Number(value)]));
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
  const labels = new Map(column.values?.map(({ value, label }) => [value, label]));
  return (row) => {
    const value = row.values[column.name] ?? null;
    return typeof value === 'string' ? (labels.get(value) ?? value) : value;
  };
}

function bucketColumns(column: Column, granularity: Granularity): Draft[] {
  const bucket: Draft = {
    name: column.name,
    source: column,
    role: 'bucket',
    header: BUCKET_HEADERS[granularity],
    rawHeader: column.label,
    plainHeader: column.label,
    quantity: { kind: 'bucket', granularity },
    read: (row) => row.values[column.name] ?? null,
    total: undefined,
  };
  if (granularity !== 'week') return [bucket];
  const week = (row: Row): Value => {
    const date = civilDate(row.values[column.name]);
    return date === undefined ? null : isoWeek(date);
  };
  return [
    {
      ...bucket,
      role: 'week',
      header: 'ISO week',
      rawHeader: 'ISO week',
      plainHeader: 'ISO week',
      quantity: { kind: 'text' },
      read: week,
    },
    bucket,
  ];
}

function labelColumn(column: Column, quantity: Quantity): Draft {
  return {
    name: column.name,
    source: column,
    role: 'label',
    header: withUnit(column.label, unitWord(quantity)),
    rawHeader: column.label,
    plainHeader: column.label,
    quantity,
    read: labelReader(column),
    total: undefined,
  };
}

function metricColumns(table: Table, column: Column): Draft[] {
  const quantity = metricQuantity(table, column);
  const rawUnit = rawUnitWord(column.unit);
  const now = (row: Row): Value => row.values[column.name] ?? null;
  const before = (row: Row): Value => row.compare?.[column.name] ?? null;
  const total = (values: Readonly<Record<string, number | null>> | undefined): Value | undefined =>
    table.totals === undefined ? undefined : (values?.[column.name] ?? null);
  const value: Draft = {
    name: column.name,
    source: column,
    role: 'value',
    header: withUnit(column.label, unitWord(quantity)),
    rawHeader: withUnit(column.label, rawUnit),
    plainHeader: column.label,
    quantity,
    read: now,
    total: total(table.totals?.values),
  };
  if (!table.compared) return [value];
  const kind = changeKind(column.unit);
  const change: Quantity =
    kind === 'difference'
      ? { kind, unit: column.unit, decimals: quantity.kind === 'amount' ? quantity.decimals : 0 }
      : { kind };
  return [
    value,
    {
      ...value,
      role: 'previous',
      header: `${withUnit(column.label, unitWord(quantity))}, previous period`,
      rawHeader: `${withUnit(column.label, rawUnit)}, previous period`,
      plainHeader: `${column.label}, previous period`,
      read: before,
      total: total(table.totals?.compare),
    },
    {
      ...value,
      role: 'change',
      header: withUnit(`${column.label}, change`, unitWord(change)),
      rawHeader: withUnit(`${column.label}, change`, unitWord(change)),
      plainHeader: `${column.label}, change`,
      quantity: change,
      read: (row) => changeOf(column.unit, now(row), before(row)).value,
      total:
        table.totals === undefined
          ? undefined
          : changeOf(column.unit, table.totals.values[column.name], table.totals.compare?.[column.name]).value,
    },
  ];
}

/** Two columns with one label are told apart by the API's own names: a reader who picks a column by its header gets that one. */
function unique(drafts: readonly Draft[], header: 'header' | 'rawHeader' | 'plainHeader'): string[] {
  const seen = new Map<string, number>();
  for (const draft of drafts) {
    const key = draft[header].toLowerCase();
    seen.set(key, (seen.get(key) ?? 0) + 1);
  }
  const taken = new Set<string>();
  return drafts.map((draft) => {
    const alone = seen.get(draft[header].toLowerCase()) === 1 && draft[header].trim() !== '';
    const stem = alone ? draft[header] : `${draft[header]} [${draft.name}]`.trim();
    let name = stem;
    for (let count = 2; taken.has(name.toLowerCase()); count += 1) name = `${stem} (${count})`;
    taken.add(name.toLowerCase());
    return name;
  });
}

/** The columns of a table in order, laid out for readers. Every renderer starts here, so their figures are the same. */
export function viewColumns(table: Table): readonly ViewColumn[] {
  const fields = fieldQuantities(table);
  const drafts = table.columns.flatMap((column): Draft[] => {
    if (column.kind === 'time') return bucketColumns(column, table.granularity ?? 'day');
    return column.kind === 'metric'
      ? metricColumns(table, column)
      : [labelColumn(column, fields.get(column.name) ?? { kind: 'text' })];
  });
  const headers = unique(drafts, 'header');
  const rawHeaders = unique(drafts, 'rawHeader');
  const plainHeaders = unique(drafts, 'plainHeader');
  return drafts.map(({ name: _, ...draft }, index) => ({
    ...draft,
    header: headers[index] ?? draft.header,
    rawHeader: rawHeaders[index] ?? draft.rawHeader,
    plainHeader: plainHeaders[index] ?? draft.plainHeader,
  }));
}
