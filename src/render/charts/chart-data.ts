import { isolateBidi } from '../../base/text/bidi.ts';
import { intlDateTimeFormat } from '../../base/text/intl.ts';
import { isSum } from '../../contract/catalog.ts';
import type { Granularity } from '../../contract/report.ts';
import type { ChartKind } from '../../definitions/schema/report-definition.ts';
import type { Row, Rows, Table, Value } from '../../fetch/dataset.ts';
import { firstRows, iterateRows } from '../../fetch/rows.ts';
import { messagesFor } from '../../i18n/messages.ts';
import type { ViewColumn } from '../figures/columns.ts';
import { formatBucket, formatIsoWeek } from '../figures/format-date.ts';
import { UNDEFINED_TEXT, valueFormatter } from '../figures/format-value.ts';
import { numberOrNull, parseCivilDate, type Quantity } from '../figures/quantity.ts';
import { isClipped } from '../figures/whole-period.ts';

/** The most series that readers can tell apart. */
export const MAX_SERIES = 8;

export interface Series {
  readonly name: string;
  /** The metric's id. */
  readonly metric: string;
  /** Raw values, one per category. Null is undefined and leaves a gap. */
  readonly values: readonly (number | null)[];
  readonly quantity: Quantity;
  /** Whether these are the figures of the first comparison. */
  readonly previous: boolean;
}

/** Formats a bucket's first day along an axis: `16 Nov`, `2026-W47`, `Nov 2026`. */
export function shortBucketFormatter(granularity: Granularity, locale: string): (date: Date) => string {
  if (granularity === 'month') return (date) => formatBucket(date, granularity, locale);
  if (granularity === 'week') return formatIsoWeek;
  const day = intlDateTimeFormat(locale, { timeZone: 'UTC', day: 'numeric', month: 'short' });
  return (date) => day.format(date);
}

function categoryFormatter({ quantity }: ViewColumn, locale: string): (value: Value) => string {
  const other = valueFormatter(quantity, locale);
  if (quantity.kind !== 'bucket') return other;
  const bucket = shortBucketFormatter(quantity.granularity, locale);
  return (value) => {
    const date = parseCivilDate(value);
    return date === undefined ? other(value) : bucket(date);
  };
}

/**
 * Reads a row's value as the name of a category. Cached, because many rows share a day, and formatting a date is slow.
 */
function categoryReader(column: ViewColumn, locale: string): (row: Row) => string {
  const format = categoryFormatter(column, locale);
  const formatted = new Map<Value, string>();
  return (row) => {
    const value = column.read(row);
    const text = formatted.get(value) ?? format(value);
    formatted.set(value, text);
    return text;
  };
}

/**
 * Joins texts and isolates the direction of each, so that it does not affect the others. A single text stays unchanged.
 */
export const joinLabels = (texts: readonly string[], between: string): string =>
  texts.length === 1 ? (texts[0] ?? '') : texts.map(isolateBidi).join(between);

function groupReader(labels: readonly ViewColumn[], locale: string): (row: Row) => string {
  const readers = labels.map((column) => categoryReader(column, locale));
  return (row) =>
    joinLabels(
      readers.map((read) => read(row) || UNDEFINED_TEXT),
      ' · ',
    );
}

/** The rows in order of time, whatever their order in the section. */
function sortedByTime(rows: Rows, bucket: ViewColumn): Row[] {
  const at = (row: Row) => String(bucket.read(row));
  return [...iterateRows(rows)].sort((one, other) => (at(one) < at(other) ? -1 : at(one) > at(other) ? 1 : 0));
}

/**
 * Compares groups by the catalog's order of their values. Unknown values follow in the order of their appearance; null
 * is last.
 */
function catalogOrder(groups: readonly ViewColumn[], rows: readonly Row[]): (one: Row, other: Row) => number {
  const orders = groups.map(({ source: { name, values = [] } }) => {
    const received = rows.flatMap((row) => row.values[name] ?? []);
    const inOrder = new Set<Value>([...values.map(({ value }) => value), ...received]);
    return { name, ranks: new Map([...inOrder].map((value, index) => [value, index])) };
  });
  return (one, other) => {
    for (const { name, ranks } of orders) {
      const rankOf = (row: Row): number => ranks.get(row.values[name] ?? null) ?? Number.MAX_SAFE_INTEGER;
      const difference = rankOf(one) - rankOf(other);
      if (difference !== 0) return difference;
    }
    return 0;
  };
}

export interface ChartContent {
  readonly categories: readonly string[];
  /** By category: whether its time is cut off or has not ended. */
  readonly partial: readonly boolean[];
  readonly series: readonly Series[];
  /** Its groups cannot be added up, so they stand side by side. */
  readonly unstacked?: true;
  readonly omitted: readonly string[];
}

/** The API's values that identify a group. Labels do not: several groups may have the same one. */
const groupKey = (labels: readonly ViewColumn[], row: Row): readonly Value[] =>
  labels.map(({ source }) => row.values[source.name] ?? null);

/** The names of these rows' groups. Groups with the same name also show the API's values. */
function groupNames(labels: readonly ViewColumn[], rows: readonly Row[], locale: string): readonly string[] {
  const keyText = (row: Row) => joinLabels(groupKey(labels, row).map(String), ' · ');
  return disambiguateNames(rows.map(groupReader(labels, locale)), (name, index) => {
    const row = rows[index];
    return row === undefined ? name : `${name} [${keyText(row)}]`;
  });
}

/** Reads whether the time of a row is cut off or has not ended. Rows without a bucket have no time of their own. */
function partialReader(table: Table, bucket: ViewColumn | undefined): (row: Row) => boolean {
  const { granularity } = table;
  if (bucket === undefined || granularity === null) return () => false;
  return (row) => {
    const day = bucket.read(row);
    return row.partial || (typeof day === 'string' && isClipped(table, day, granularity));
  };
}

/**
 * A chart with one category per row and one series per metric. The first comparison of the table is only drawn beside a
 * single metric.
 */
export function byMetric(
  table: Table,
  labels: readonly ViewColumn[],
  figures: readonly ViewColumn[],
  kind: ChartKind,
  maxGroups: number,
  locale: string,
): ChartContent {
  const { table: words, chart } = messagesFor(locale);
  const bucket = labels.find((column) => column.role === 'bucket');
  const rows = bucket === undefined ? largestRows(table, figures[0], maxGroups) : sortedByTime(table.rows, bucket);
  // A stacked chart would add the previous period to the current one, and sparklines have a chart per metric.
  const single = figures.filter((column) => column.role === 'value').length === 1;
  const compared = kind === 'sparkline' || (single && kind !== 'stacked_column');
  const drawn = figures.filter(
    (column) =>
      column.role === 'value' ||
      (compared && column.role === 'previous' && column.comparison === table.comparisons[0]?.kind),
  );
  const labelled = drawn.filter(({ role }) => role === 'value').map(({ source }) => source);
  const names = disambiguateNames(
    labelled.map(({ label }) => label),
    (name, index) => `${name} [${labelled[index]?.name}]`,
  );
  const all = drawn.map((column): Series & { readonly unlike: boolean } => {
    const { comparison, source } = column;
    const isNotComparable = (row: Row): boolean =>
      comparison !== undefined && (source.provisional === true || row.compare?.[comparison]?.unlike !== undefined);
    return {
      name:
        comparison === undefined ? (names[labelled.indexOf(source)] ?? source.label) : words.previousName[comparison],
      metric: source.name,
      values: rows.map((row) => (isNotComparable(row) ? null : numberOrNull(column.read(row)))),
      quantity: column.quantity,
      previous: comparison !== undefined,
      unlike: rows.some(isNotComparable),
    };
  });
  // A line beside figures compares them. It has gaps where the two are not comparable, and is left out if they never
  // are.
  const series = all
    .filter(({ unlike, values }) => !unlike || values.some((value) => value !== null))
    .map(({ unlike: _, ...each }) => each);
  const gaps = [...new Set(all.filter(({ unlike }) => unlike).map(({ name }) => name))];
  const omitted = [
    ...(rows.length < table.rows.length
      ? [chart[table.ordered ? 'firstGroups' : 'largestGroups'](rows.length, table.rows.length)]
      : []),
    ...(gaps.length > 0 ? [chart.onlyAlike(gaps)] : []),
  ];
  const categories = bucket === undefined ? groupNames(labels, rows, locale) : rows.map(groupReader(labels, locale));
  return { categories, partial: rows.map(partialReader(table, bucket)), series, omitted };
}

/** A chart of the first metric, with one category per bucket and one series per group. */
export function byGroup(
  table: Table,
  bucket: ViewColumn,
  groups: readonly ViewColumn[],
  figures: readonly ViewColumn[],
  kind: ChartKind,
  locale: string,
): ChartContent {
  const metrics = figures.filter((column) => column.role === 'value');
  const [metric] = metrics;
  if (metric === undefined) return { categories: [], partial: [], series: [], omitted: [] };
  const words = messagesFor(locale).chart;
  const textOf = categoryReader(bucket, locale);
  const isPartial = partialReader(table, bucket);
  const buckets = new Map<Value, { readonly text: string; readonly partial: boolean }>();
  for (const row of sortedByTime(table.rows, bucket)) {
    const at = bucket.read(row);
    buckets.set(at, { text: textOf(row), partial: isPartial(row) || buckets.get(at)?.partial === true });
  }
  const byKey = new Map<string, { readonly first: Row; readonly values: Map<Value, number | null> }>();
  for (const row of iterateRows(table.rows)) {
    const key = JSON.stringify(groupKey(groups, row));
    const group = byKey.get(key) ?? { first: row, values: new Map<Value, number | null>() };
    group.values.set(bucket.read(row), numberOrNull(metric.read(row)));
    byKey.set(key, group);
  }
  // Sorted, because a group that is missing from the first bucket comes late.
  const received = [...byKey.values()];
  const compare = catalogOrder(
    groups,
    received.map(({ first }) => first),
  );
  const inOrder = table.ordered ? received : received.sort((one, other) => compare(one.first, other.first));
  const adds = isAddable(metric.source);
  const tooMany = inOrder.length > MAX_SERIES;
  const bySize = tooMany
    ? inOrder.toSorted((one, other) => computeMean(other.values) - computeMean(one.values))
    : inOrder;
  const largest = bySize.slice(0, tooMany && adds ? MAX_SERIES - 1 : MAX_SERIES);
  const shown = table.ordered ? inOrder.filter((group) => largest.includes(group)) : largest;
  const others = tooMany && adds ? bySize.slice(largest.length) : [];
  const firstRowsOf = shown.map(({ first }) => first);
  const named = groupNames(groups, firstRowsOf, locale);
  const names = disambiguateNames(
    others.length === 0 ? named : [...named, words.others(others.length)],
    (name) => name,
  );
  const valuesAt = (values: ReadonlyMap<Value, number | null>) =>
    [...buckets.keys()].map((at) => values.get(at) ?? null);
  const lines = shown.map(({ values }) => valuesAt(values));
  if (others.length > 0) lines.push(sumByBucket(others.map(({ values }) => valuesAt(values))));
  const series = lines.map((values, index) => ({
    name: names[index] ?? '',
    metric: metric.source.name,
    values,
    quantity: metric.quantity,
    previous: false,
  }));
  return {
    categories: [...buckets.values()].map(({ text }) => text),
    partial: [...buckets.values()].map(({ partial }) => partial),
    series,
    ...(kind === 'stacked_column' && !adds ? { unstacked: true } : {}),
    omitted: [
      ...(metrics.length > 1 ? [words.onlyDrawn(isolateBidi(metric.source.label))] : []),
      ...(tooMany && others.length === 0 ? [words.largestGroups(shown.length, byKey.size)] : []),
    ],
  };
}

/**
 * Makes names unique, because chart libraries treat series with the same name as one. Unique names stay. The others are
 * replaced by `longer`, and numbered if that is not enough.
 */
export function disambiguateNames(
  names: readonly string[],
  longer: (name: string, index: number) => string,
): readonly string[] {
  const occurrences = new Map<string, number>();
  for (const name of names) occurrences.set(name, (occurrences.get(name) ?? 0) + 1);
  const taken = new Set(names.filter((name) => occurrences.get(name) === 1));
  return names.map((name, index) => {
    if (occurrences.get(name) === 1) return name;
    const stem = longer(name, index);
    let unique = stem;
    for (let count = 2; taken.has(unique); count += 1) unique = `${stem} (${count})`;
    taken.add(unique);
    return unique;
  });
}

/** Whether the values of groups may be added up: current counts may, distinct counts and rates may not. */
const isAddable = ({ addable, unit, aggregation = '' }: ViewColumn['source']): boolean =>
  addable !== false && isSum({ unit, aggregation });

/** The mean of a group's defined values. */
function computeMean(values: ReadonlyMap<Value, number | null>): number {
  const known = [...values.values()].filter((value) => value !== null);
  return known.length === 0 ? Number.NEGATIVE_INFINITY : known.reduce((sum, value) => sum + value, 0) / known.length;
}

/** The sums of the groups by bucket; null if no group has a value. */
const sumByBucket = (groups: readonly (readonly (number | null)[])[]): (number | null)[] =>
  (groups[0] ?? []).map((_, at) => {
    const known = groups.flatMap((values) => values[at] ?? []);
    return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
  });

/**
 * The rows of the largest groups by a metric, in their order. If the definition orders the groups: the rows of the
 * first ones.
 */
function largestRows({ rows, ordered }: Table, metric: ViewColumn | undefined, most: number): readonly Row[] {
  if (ordered || metric === undefined || rows.length <= most) return firstRows(rows, most);
  const all = [...iterateRows(rows)];
  const size = (row: Row): number => numberOrNull(metric.read(row)) ?? Number.NEGATIVE_INFINITY;
  const largest = new Set(all.toSorted((one, other) => size(other) - size(one)).slice(0, most));
  return all.filter((row) => largest.has(row));
}
