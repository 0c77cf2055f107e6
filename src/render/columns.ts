import type { Granularity } from '../contract/report.ts';
import type { Column, Row, Table, Value } from '../fetch/dataset.ts';
import { rowsIn } from '../fetch/rows.ts';
import { DEFAULT_LOCALE, type Words, wordsOf } from '../words/words.ts';
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
import { rounder, usualDecimals } from './rounding.ts';

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
  /** What there is among its values in the rows. */
  readonly seen: { readonly undefined: boolean; readonly positive: boolean };
  /** The most that any of its figures is shown with, the total included. */
  readonly decimals: number;
}

const withUnit = (label: string, unit: string | undefined): string =>
  unit === undefined ? label : `${label} (${unit})`;

/** Learns from the values of a column what they are. */
interface Kind {
  readonly see: (value: Value | undefined) => void;
  readonly quantity: () => Quantity;
}

const known = (quantity: Quantity): Kind => ({ see: () => {}, quantity: () => quantity });

function kindOf({ kind, unit }: Column, granularity: Granularity): Kind {
  if (kind === 'time') return known({ kind: 'bucket', granularity });
  if (kind === 'dimension') return known({ kind: 'text' });
  if (kind === 'field') return fieldKind();
  if (unit === 'count' || unit === 'ratio') return known({ kind: unit });
  return unit === 'seconds' ? durationKind() : amountKind(unit);
}

function durationKind(): Kind {
  let longest = 0;
  return {
    see: (value) => {
      if (typeof value === 'number') longest = Math.max(longest, Math.abs(value));
    },
    quantity: () => ({ kind: 'duration', scale: durationScale([longest]) }),
  };
}

function amountKind(unit: string | null): Kind {
  let decimals = 0;
  return {
    see: (value) => {
      if (typeof value === 'number') decimals = decimalsOf([value], decimals);
    },
    quantity: () => ({ kind: 'amount', unit, decimals }),
  };
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
function fieldKind(): Kind {
  const could = { number: true, integer: true, day: true, instant: true };
  let decimals = 0;
  let empty = true;
  return {
    see: (value) => {
      if (value === null || value === undefined) return;
      empty = false;
      // Excel keeps 15 digits: a longer id would become another one.
      could.number &&= typeof value === 'number' && Math.abs(value) < 1e15;
      could.integer &&= Number.isInteger(value);
      could.day &&= civilDate(value) !== undefined;
      could.instant &&= instant(value) !== undefined;
      if (could.number && !could.integer) decimals = decimalsOf([Number(value)], decimals);
    },
    quantity: () => {
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
    const date = civilDate(row.values[source.name]);
    return date === undefined ? null : isoWeek(date);
  };
  return [{ ...bucket, role: 'week', rawHeader: week, plainHeader: week, read }, bucket];
}

const labelColumn = (source: Column): RawColumn => ({
  source,
  role: 'label',
  rawHeader: source.label,
  plainHeader: source.label,
  read: labelReader(source),
  total: undefined,
});

function metricColumns({ totals, compared }: Table, source: Column, words: Words): RawColumn[] {
  const { name, label, unit } = source;
  const { previous, change } = words.table;
  const rawUnit = rawUnitWord(unit, words);
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
      rawHeader: previous(value.rawHeader),
      plainHeader: previous(label),
      read: before,
      total: totals === undefined ? undefined : (totals.compare?.[name] ?? null),
    },
    {
      ...value,
      role: 'change',
      rawHeader: withUnit(change(label), unitWord(changeQuantity(source, undefined), words)),
      plainHeader: change(label),
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

function headerOf({ role, source, rawHeader }: RawColumn, quantity: Quantity, words: Words): string {
  const { bucket, isoWeek: week, previous, change } = words.table;
  if (role === 'bucket') return quantity.kind === 'bucket' ? bucket[quantity.granularity] : rawHeader;
  if (role === 'week') return week;
  if (role === 'change') return withUnit(change(source.label), unitWord(quantity, words));
  const header = withUnit(source.label, unitWord(quantity, words));
  return role === 'previous' ? previous(header) : header;
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

/**
 * The columns of a table in order, for data files.
 * @param words English when absent: programs that read raw files must find the same headers whoever the readers are
 */
export function rawColumns(table: Table, words: Words = wordsOf()): readonly RawColumn[] {
  const columns = table.columns.flatMap((column) => {
    if (column.kind === 'time') return bucketColumns(column, table.granularity ?? 'day', words);
    return column.kind === 'metric' ? metricColumns(table, column, words) : [labelColumn(column)];
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

/** Learns which figures of a column are closest to zero, and to one. A ratio of one is 100 %; other units need no more for it. */
function closestKind() {
  let toZero = Number.POSITIVE_INFINITY;
  let toOne = Number.POSITIVE_INFINITY;
  return {
    see: (value: Value | undefined): void => {
      if (typeof value !== 'number' || value === 0) return;
      const size = Math.abs(value);
      if (size < toZero) toZero = size;
      const gap = Math.abs(size - 1);
      if (gap !== 0 && gap < Math.abs(toOne - 1)) toOne = size;
    },
    /** Decimals of the figures seen, at most. */
    decimals: (quantity: Quantity): number => {
      const roundingOf = rounder(quantity);
      const known = [toZero, toOne].filter(Number.isFinite);
      return Math.max(usualDecimals(quantity), ...known.map((value) => roundingOf(value).decimals));
    },
  };
}

/**
 * What there is to learn from the rows, for all columns in one reading: the rows may be in a file, and a large table is
 * read for long enough as it is.
 */
function learn(table: Table, columns: readonly RawColumn[]) {
  const kinds = new Map(table.columns.map((source) => [source.name, kindOf(source, table.granularity ?? 'day')]));
  const learners = columns.map(({ source, role, read }) => ({
    read,
    // Weeks and changes are computed from the others, and say nothing of their kind.
    see: role === 'value' || role === 'previous' || role === 'label' ? kinds.get(source.name)?.see : undefined,
    undefined: false,
    positive: false,
    closest: closestKind(),
  }));
  for (const [index, { role, source, total }] of columns.entries()) {
    if (role === 'value' || role === 'previous') kinds.get(source.name)?.see(total);
    learners[index]?.closest.see(total);
  }
  for (const row of rowsIn(table.rows)) {
    for (const learner of learners) {
      const value = learner.read(row);
      if (value === null) learner.undefined = true;
      else {
        if (typeof value === 'number' && value > 0) learner.positive = true;
        learner.see?.(value);
        learner.closest.see(value);
      }
    }
  }
  return { kinds, learners };
}

function quantityOf({ role, source }: RawColumn, kind: Kind | undefined): Quantity {
  const quantity = kind?.quantity() ?? { kind: 'text' };
  if (role === 'week') return { kind: 'text' };
  return role === 'change' ? changeQuantity(source, quantity) : quantity;
}

/**
 * The columns of a table in order, laid out for readers. All that people read starts here, so its figures are the same.
 * Reads all rows, once: keep what it returns.
 */
export function viewColumns(table: Table, locale: string = DEFAULT_LOCALE): readonly ViewColumn[] {
  const words = wordsOf(locale);
  const raw = rawColumns(table, words);
  const { kinds, learners } = learn(table, raw);
  const columns = raw.map((column, index) => {
    const quantity = quantityOf(column, kinds.get(column.source.name));
    const learner = learners[index];
    return {
      ...column,
      quantity,
      seen: { undefined: learner?.undefined ?? false, positive: learner?.positive ?? false },
      decimals: learner?.closest.decimals(quantity) ?? 0,
    };
  });
  const headers = unique(
    columns.map((column) => headerOf(column, column.quantity, words)),
    columns,
  );
  return columns.map((column, index) => ({ ...column, header: headers[index] ?? column.rawHeader }));
}
