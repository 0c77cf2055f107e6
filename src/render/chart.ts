import { isolate } from '../base/bidi.ts';
import { dateFormat } from '../base/formats.ts';
import { type ChartKind, chartAsked } from '../define/definition.ts';
import type { Row, Table, Value } from '../fetch/dataset.ts';
import { firstRows, type Rows, rowsIn } from '../fetch/rows.ts';
import { DEFAULT_LOCALE, type Words, wordsOf } from '../words/words.ts';
import { type ViewColumn, viewColumns } from './columns.ts';
import { distinctNames } from './distinct-names.ts';
import { civilDate, isoWeek, type Quantity, UNDEFINED_TEXT, unitWord, valueReader } from './format.ts';

/** More than this nobody can tell apart. */
const MAX_SERIES = 8;
/** Groups (not times) along one axis that can still be read on a page. */
const MAX_GROUPS = 40;

/** Of the series, in their order: told apart by readers who see few colours, on white and in print. */
export const SERIES_COLOURS = ['0B6E69', 'D55E00', '1B2A41', 'E69F00', '56B4E9', 'A44C7F', '6BA539', '7F7F7F'] as const;
/** Of the previous period, which steps back. */
export const QUIET_COLOUR = '9AA5B1';

/** Small lines side by side; more would be another table. */
const MAX_SMALL = 6;

export type { ChartKind };

export interface Series {
  readonly name: string;
  /** Whose figures they are. */
  readonly metric: string;
  /** Raw, one per category; null is undefined and leaves a gap. */
  readonly values: readonly (number | null)[];
  readonly quantity: Quantity;
  /** The previous period, which steps back behind the other. */
  readonly previous: boolean;
}

/**
 * A chart as data, for whoever draws it: figures of one unit on the first axis, of another on the second.
 * A `sparkline` is one small line without axes for each of its `axes`, the last figure written beside it.
 */
export interface Chart {
  readonly kind: ChartKind;
  readonly title: string;
  readonly categoryTitle: string;
  readonly categories: readonly string[];
  /** The categories are times, in their order; otherwise groups. */
  readonly overTime: boolean;
  readonly axes: readonly Axis[];
  /** What the chart leaves out, as sentences; the tables have it. */
  readonly omitted: readonly string[];
}

export interface Axis {
  readonly title: string;
  readonly quantity: Quantity;
  readonly series: readonly Series[];
}

const number = (value: Value): number | null => (typeof value === 'number' ? value : null);

function categoryWriter({ quantity }: ViewColumn, locale: string): (value: Value) => string {
  const other = valueReader(quantity, locale);
  if (quantity.kind !== 'bucket') return other;
  const day = dateFormat(locale, { timeZone: 'UTC', day: 'numeric', month: 'short' });
  return (value) => {
    const date = civilDate(value);
    if (date === undefined || quantity.granularity === 'month') return other(value);
    return quantity.granularity === 'week' ? isoWeek(date) : day.format(date);
  };
}

/** A row's value as the chart names it. Each value is written once: a day has many rows, and to write a date takes long. */
function categoryReader(column: ViewColumn, locale: string): (row: Row) => string {
  const write = categoryWriter(column, locale);
  const written = new Map<Value, string>();
  return (row) => {
    const value = column.read(row);
    const text = written.get(value) ?? write(value);
    written.set(value, text);
    return text;
  };
}

/** Several texts in one line; a text alone has nothing beside it that it could carry along. */
const joined = (texts: readonly string[], between: string): string =>
  texts.length === 1 ? (texts[0] ?? '') : texts.map(isolate).join(between);

function groupReader(labels: readonly ViewColumn[], locale: string): (row: Row) => string {
  const readers = labels.map((column) => categoryReader(column, locale));
  return (row) =>
    joined(
      readers.map((read) => read(row) || UNDEFINED_TEXT),
      ' · ',
    );
}

const unitKey = ({ quantity }: Series): string =>
  quantity.kind === 'duration' ? 'duration' : quantity.kind === 'amount' ? `amount ${quantity.unit}` : quantity.kind;

const axisTitle = (quantity: Quantity, series: readonly Series[], asked: string | undefined, words: Words): string => {
  const [only] = series;
  const unit = unitWord(quantity, words);
  const { count, share, seconds, days } = words.chart;
  if (asked !== undefined) return unit === undefined ? asked : `${asked} (${unit})`;
  if (series.length === 1 && only !== undefined) return unit === undefined ? only.name : `${only.name} (${unit})`;
  if (quantity.kind === 'count') return count;
  if (quantity.kind === 'ratio') return share;
  if (quantity.kind === 'duration') return { seconds, clock: 'h:mm:ss', days }[quantity.scale];
  return quantity.kind === 'amount' ? (quantity.unit ?? '') : '';
};

/** Durations of one chart share its axis and so the scale of the longest. */
function withOneScale(series: readonly Series[]): Series[] {
  const scales = series.map(({ quantity }) => (quantity.kind === 'duration' ? quantity.scale : undefined));
  const scale = (['days', 'clock', 'seconds'] as const).find((wanted) => scales.includes(wanted));
  if (scale === undefined) return [...series];
  return series.map((each) => ({ ...each, quantity: { kind: 'duration', scale } }));
}

/** Time goes from left to right, however the section's rows are ordered. */
function inTime(rows: Rows, bucket: ViewColumn): Row[] {
  const at = (row: Row) => String(bucket.read(row));
  return [...rowsIn(rows)].sort((one, other) => (at(one) < at(other) ? -1 : at(one) > at(other) ? 1 : 0));
}

/**
 * Compares groups by the order in which the catalog lists their values; those it does not know stay behind, each as it
 * first came, and "no value" last.
 */
function catalogOrder(groups: readonly ViewColumn[], rows: readonly Row[]): (one: Row, other: Row) => number {
  const places = groups.map(({ source: { name, values = [] } }) => {
    const came = rows.flatMap((row) => row.values[name] ?? []);
    const inOrder = new Set<Value>([...values.map(({ value }) => value), ...came]);
    return { name, place: new Map([...inOrder].map((value, index) => [value, index])) };
  });
  return (one, other) => {
    for (const { name, place } of places) {
      const at = (row: Row): number => place.get(row.values[name] ?? null) ?? Number.MAX_SAFE_INTEGER;
      const difference = at(one) - at(other);
      if (difference !== 0) return difference;
    }
    return 0;
  };
}

interface Drawn {
  readonly categories: readonly string[];
  readonly series: readonly Series[];
  readonly omitted: readonly string[];
}

/** What a group is, in the API's own values: two of them may have one label. */
const rawGroup = (labels: readonly ViewColumn[], row: Row): readonly Value[] =>
  labels.map(({ source }) => row.values[source.name] ?? null);

/** The groups of these rows as readers know them; those of one name have the API's own values beside it. */
function groupNames(labels: readonly ViewColumn[], rows: readonly Row[], locale: string): readonly string[] {
  const own = (row: Row) => joined(rawGroup(labels, row).map(String), ' · ');
  return distinctNames(rows.map(groupReader(labels, locale)), (name, index) => {
    const row = rows[index];
    return row === undefined ? name : `${name} [${own(row)}]`;
  });
}

/** A category per row, a series per metric; the previous period beside a metric that stands alone. */
function byMetric(
  table: Table,
  labels: readonly ViewColumn[],
  figures: readonly ViewColumn[],
  kind: ChartKind,
  mostGroups: number,
  locale: string,
): Drawn {
  const { table: words, chart } = wordsOf(locale);
  const bucket = labels.find((column) => column.role === 'bucket');
  const rows = bucket === undefined ? firstRows(table.rows, mostGroups) : inTime(table.rows, bucket);
  // Stacked, it would be added to what it is compared with; of small lines each stands alone.
  const alone = figures.filter((column) => column.role === 'value').length === 1;
  const beside = kind === 'sparkline' || (alone && kind !== 'stacked_column');
  const drawn = figures.filter((column) => column.role === 'value' || (beside && column.role === 'previous'));
  const labelled = drawn.filter(({ role }) => role === 'value').map(({ source }) => source);
  const names = distinctNames(
    labelled.map(({ label }) => label),
    (name, index) => `${name} [${labelled[index]?.name}]`,
  );
  const series = drawn.map((column) => ({
    name:
      column.role === 'previous'
        ? words.previousPeriod
        : (names[labelled.indexOf(column.source)] ?? column.source.label),
    metric: column.source.name,
    values: rows.map((row) => number(column.read(row))),
    quantity: column.quantity,
    previous: column.role === 'previous',
  }));
  const omitted = rows.length < table.rows.length ? [chart.firstGroups(rows.length, table.rows.length)] : [];
  const categories = bucket === undefined ? groupNames(labels, rows, locale) : rows.map(groupReader(labels, locale));
  return { categories, series, omitted };
}

/** A category per bucket, a series per group, of the first metric. */
function byGroup(
  table: Table,
  bucket: ViewColumn,
  groups: readonly ViewColumn[],
  figures: readonly ViewColumn[],
  locale: string,
): Drawn {
  const metrics = figures.filter((column) => column.role === 'value');
  const [metric] = metrics;
  if (metric === undefined) return { categories: [], series: [], omitted: [] };
  const words = wordsOf(locale).chart;
  const textOf = categoryReader(bucket, locale);
  const buckets = new Map(inTime(table.rows, bucket).map((row) => [bucket.read(row), textOf(row)]));
  const cells = new Map<string, { readonly first: Row; readonly line: Map<Value, number | null> }>();
  for (const row of rowsIn(table.rows)) {
    const group = JSON.stringify(rawGroup(groups, row));
    const cell = cells.get(group) ?? { first: row, line: new Map<Value, number | null>() };
    cell.line.set(bucket.read(row), number(metric.read(row)));
    cells.set(group, cell);
  }
  // A group that is missing from the first bucket would otherwise stand behind those it comes before.
  const asTheyCame = [...cells.values()];
  const compare = catalogOrder(
    groups,
    asTheyCame.map(({ first }) => first),
  );
  const inOrder = table.ordered ? asTheyCame : asTheyCame.sort((one, other) => compare(one.first, other.first));
  const shown = inOrder.slice(0, MAX_SERIES);
  const firstOf = shown.map(({ first }) => first);
  const names = groupNames(groups, firstOf, locale);
  const series = shown.map(({ line }, index) => ({
    name: names[index] ?? '',
    metric: metric.source.name,
    values: [...buckets.keys()].map((at) => line.get(at) ?? null),
    quantity: metric.quantity,
    previous: false,
  }));
  return {
    categories: [...buckets.values()],
    series,
    omitted: [
      ...(metrics.length > 1 ? [words.onlyDrawn(isolate(metric.source.label))] : []),
      ...(shown.length < cells.size ? [words.firstGroups(shown.length, cells.size)] : []),
    ],
  };
}

/** Which series share an axis: as the definition says, else those of one unit; of small lines each has its own. */
function groupsOf(
  kind: ChartKind,
  series: readonly Series[],
  secondary: readonly string[] | undefined,
): readonly (readonly Series[])[] {
  if (kind === 'sparkline') {
    const own = series.filter((each) => !each.previous);
    return own.map((each) => [each, ...series.filter((other) => other.previous && other.metric === each.metric)]);
  }
  if (secondary === undefined) {
    const units = [...new Set(series.map(unitKey))];
    return units.map((unit) => series.filter((each) => unitKey(each) === unit));
  }
  const isSecond = ({ metric }: Series) => secondary.includes(metric);
  // One axis has one unit: what has another is left out and told.
  return [series.filter((each) => !isSecond(each)), series.filter(isSecond)].map((group) => {
    const unit = group[0] === undefined ? '' : unitKey(group[0]);
    return group.filter((each) => unitKey(each) === unit);
  });
}

/**
 * The chart that a section asks for; undefined when it asks for none, or has nothing along which to draw.
 * Two units get an axis each; what does not fit is left out and told in `omitted`.
 * @param mostGroups groups along the axis, at most; as many as a page can show when absent
 * @param columns the table's own, where they are at hand: to make them reads all rows
 */
export function chartOf(
  table: Table,
  locale: string = DEFAULT_LOCALE,
  mostGroups: number = MAX_GROUPS,
  columns: readonly ViewColumn[] = viewColumns(table, locale),
): Chart | undefined {
  if (table.chart === undefined) return undefined;
  const words = wordsOf(locale);
  const { kind, series: asked, secondary, axes: titles } = chartAsked(table.chart);
  const bucket = columns.find((column) => column.role === 'bucket');
  const groups = columns.filter((column) => column.role === 'label');
  const drawable = columns.filter((column) => column.role === 'value' || column.role === 'previous');
  const figures =
    asked === undefined
      ? drawable
      : asked.flatMap((metric) => drawable.filter((column) => column.source.name === metric));
  const labels = bucket === undefined ? groups : [bucket];
  if (labels.length === 0 || table.rows.length === 0) return undefined;
  const drawn =
    bucket !== undefined && groups.length > 0
      ? byGroup(table, bucket, groups, figures, locale)
      : byMetric(table, labels, figures, kind, mostGroups, locale);

  // A second axis across lying bars cannot be read.
  const most = kind === 'sparkline' ? MAX_SMALL : kind === 'bar' ? 1 : 2;
  const axes = groupsOf(kind, drawn.series, secondary)
    .slice(0, most)
    .map((group, index): Axis => {
      const series = withOneScale(group.slice(0, MAX_SERIES));
      const quantity: Quantity = series[0]?.quantity ?? { kind: 'count' };
      const own = series.filter((each) => !each.previous);
      return {
        title: axisTitle(quantity, own, index === 0 ? titles?.primary : titles?.secondary, words),
        quantity,
        series,
      };
    });
  const inChart = new Set(axes.flatMap(({ series }) => series.map(({ metric }) => metric)));
  const outside = drawn.series.filter(({ metric, previous }) => !previous && !inChart.has(metric));
  return {
    kind,
    title: table.title,
    categoryTitle: joined(
      labels.map((column) => column.header),
      ' · ',
    ),
    categories: drawn.categories,
    overTime: bucket !== undefined,
    axes,
    omitted: [
      ...drawn.omitted,
      ...(outside.length === 0 ? [] : [words.chart.notDrawn(outside.map(({ name }) => isolate(name)))]),
    ],
  };
}
