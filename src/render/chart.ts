import type { Row, Table, Value } from '../fetch/dataset.ts';
import { firstRows, type Rows, rowsIn } from '../fetch/rows.ts';
import { type ViewColumn, viewColumns } from './columns.ts';
import {
  bucketText,
  civilDate,
  DEFAULT_LOCALE,
  isoWeek,
  type Quantity,
  UNDEFINED_TEXT,
  unitWord,
  valueText,
} from './format.ts';

/** More than this nobody can tell apart. */
const MAX_SERIES = 8;
/** Groups (not times) along one axis that can still be read. */
const MAX_GROUPS = 40;

export type ChartKind = NonNullable<Table['chart']>;

export interface Series {
  readonly name: string;
  /** Raw, one per category; null is undefined and leaves a gap. */
  readonly values: readonly (number | null)[];
  readonly quantity: Quantity;
  /** The previous period, which steps back behind the other. */
  readonly previous: boolean;
}

/** A chart as data, for whoever draws it: figures of one unit on the first axis, of another on the second. */
export interface Chart {
  readonly kind: ChartKind;
  readonly title: string;
  readonly categoryTitle: string;
  readonly categories: readonly string[];
  readonly axes: readonly { readonly title: string; readonly quantity: Quantity; readonly series: readonly Series[] }[];
  /** What the chart leaves out, as sentences; the tables have it. */
  readonly omitted: readonly string[];
}

const number = (value: Value): number | null => (typeof value === 'number' ? value : null);

function categoryText(column: ViewColumn, row: Row, locale: string): string {
  const value = column.read(row);
  const date = civilDate(value);
  if (column.quantity.kind !== 'bucket' || date === undefined) return valueText(value, column.quantity, locale);
  if (column.quantity.granularity === 'month') return bucketText(date, 'month', locale);
  if (column.quantity.granularity === 'week') return isoWeek(date);
  return new Intl.DateTimeFormat(locale, { timeZone: 'UTC', day: 'numeric', month: 'short' }).format(date);
}

const groupText = (labels: readonly ViewColumn[], row: Row, locale: string): string =>
  labels.map((column) => categoryText(column, row, locale) || UNDEFINED_TEXT).join(' · ');

const unitKey = ({ quantity }: Series): string =>
  quantity.kind === 'duration' ? 'duration' : quantity.kind === 'amount' ? `amount ${quantity.unit}` : quantity.kind;

const axisTitle = (quantity: Quantity, series: readonly Series[]): string => {
  const [only] = series;
  const unit = unitWord(quantity);
  if (series.length === 1 && only !== undefined) return unit === undefined ? only.name : `${only.name} (${unit})`;
  if (quantity.kind === 'count') return 'Count';
  if (quantity.kind === 'ratio') return 'Share (%)';
  if (quantity.kind === 'duration') return { seconds: 'Seconds', clock: 'h:mm:ss', days: 'Days' }[quantity.scale];
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

interface Drawn {
  readonly categories: readonly string[];
  readonly series: readonly Series[];
  readonly omitted: readonly string[];
}

/** A category per row, a series per metric; the previous period beside a metric that stands alone. */
function byMetric(table: Table, labels: readonly ViewColumn[], figures: readonly ViewColumn[], locale: string): Drawn {
  const bucket = labels.find((column) => column.role === 'bucket');
  const rows = bucket === undefined ? firstRows(table.rows, MAX_GROUPS) : inTime(table.rows, bucket);
  const alone = figures.filter((column) => column.role === 'value').length === 1;
  const series = figures
    .filter((column) => column.role === 'value' || (alone && column.role === 'previous'))
    .map((column) => ({
      name: column.role === 'previous' ? 'Previous period' : column.source.label,
      values: rows.map((row) => number(column.read(row))),
      quantity: column.quantity,
      previous: column.role === 'previous',
    }));
  const omitted =
    rows.length < table.rows.length ? [`the first ${rows.length} of ${table.rows.length} groups are drawn`] : [];
  return { categories: rows.map((row) => groupText(labels, row, locale)), series, omitted };
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
  const buckets = new Map(
    inTime(table.rows, bucket).map((row) => [bucket.read(row), categoryText(bucket, row, locale)]),
  );
  const cells = new Map<string, Map<Value, number | null>>();
  for (const row of rowsIn(table.rows)) {
    const at = bucket.read(row);
    const group = groupText(groups, row, locale);
    const line = cells.get(group) ?? new Map<Value, number | null>();
    line.set(at, number(metric.read(row)));
    cells.set(group, line);
  }
  const shown = [...cells].slice(0, MAX_SERIES);
  const series = shown.map(([name, line]) => ({
    name,
    values: [...buckets.keys()].map((at) => line.get(at) ?? null),
    quantity: metric.quantity,
    previous: false,
  }));
  return {
    categories: [...buckets.values()],
    series,
    omitted: [
      ...(metrics.length > 1 ? [`only ${metric.source.label} is drawn`] : []),
      ...(shown.length < cells.size ? [`the first ${shown.length} of ${cells.size} groups are drawn`] : []),
    ],
  };
}

/**
 * The chart that a section asks for; undefined when it asks for none, or has nothing along which to draw.
 * Two units get an axis each; what does not fit is left out and told in `omitted`.
 */
export function chartOf(table: Table, locale: string = DEFAULT_LOCALE): Chart | undefined {
  if (table.chart === undefined) return undefined;
  const columns = viewColumns(table);
  const bucket = columns.find((column) => column.role === 'bucket');
  const groups = columns.filter((column) => column.role === 'label');
  const figures = columns.filter((column) => column.role === 'value' || column.role === 'previous');
  const labels = bucket === undefined ? groups : [bucket];
  if (labels.length === 0 || table.rows.length === 0) return undefined;
  const drawn =
    bucket !== undefined && groups.length > 0
      ? byGroup(table, bucket, groups, figures, locale)
      : byMetric(table, labels, figures, locale);

  const units = [...new Set(drawn.series.map(unitKey))];
  // A second axis across lying bars cannot be read.
  const most = table.chart === 'bar' ? 1 : 2;
  const axes = units.slice(0, most).map((unit) => {
    const series = withOneScale(drawn.series.filter((each) => unitKey(each) === unit).slice(0, MAX_SERIES));
    const quantity: Quantity = series[0]?.quantity ?? { kind: 'count' };
    return {
      title: axisTitle(
        quantity,
        series.filter((each) => !each.previous),
      ),
      quantity,
      series,
    };
  });
  const inChart = new Set(axes.flatMap(({ series }) => series.map(({ name }) => name)));
  const outside = drawn.series.map(({ name }) => name).filter((name) => !inChart.has(name));
  return {
    kind: table.chart,
    title: table.title,
    categoryTitle: labels.map((column) => column.header).join(' · '),
    categories: drawn.categories,
    axes,
    omitted: [
      ...drawn.omitted,
      ...(outside.length === 0 ? [] : [`${outside.join(', ')} ${outside.length === 1 ? 'is' : 'are'} not drawn`]),
    ],
  };
}
