import { isolateBidi } from '../../base/text/bidi.ts';
import { type ChartKind, chartAsked } from '../../definitions/schema/report-definition.ts';
import type { Table } from '../../fetch/dataset.ts';
import { DEFAULT_LOCALE, messagesFor, type Words } from '../../i18n/messages.ts';
import { type ViewColumn, viewColumns } from '../figures/columns.ts';
import { unitLabel } from '../figures/format-value.ts';
import type { Quantity } from '../figures/quantity.ts';
import { byGroup, byMetric, joinLabels, MAX_SERIES, type Series } from './chart-data.ts';

/** The most groups (not times) along one axis that a page can show. */
const MAX_GROUPS = 40;

/**
 * The colours of the series, in order (after Okabe and Ito). Colour-blind readers and readers of prints can tell them
 * apart.
 */
export const SERIES_COLOURS = ['0B6E69', 'D55E00', '1B2A41', 'E69F00', '56B4E9', 'A44C7F', '6BA539', '7F7F7F'] as const;
/** The grey for the previous period. */
export const PREVIOUS_PERIOD_COLOUR = '9AA5B1';

/** The most sparklines of a section. */
const MAX_SPARKLINES = 6;

/**
 * A chart as data, independent of the drawing library. The first axis has the figures of one unit, the second those of
 * another. A `sparkline` has one line for each of its `axes`, without a visible axis, labelled with its last figure.
 */
export interface Chart {
  readonly kind: ChartKind;
  readonly title: string;
  readonly categoryTitle: string;
  readonly categories: readonly string[];
  /** True: the categories are times, in order. False: they are groups. */
  readonly overTime: boolean;
  /**
   * By category: whether its time is cut off or has not ended. Its columns are hatched and its points hollow. Absent:
   * none is.
   */
  readonly partial?: readonly boolean[];
  readonly axes: readonly Axis[];
  /** What the chart leaves out, as phrases for a sentence. */
  readonly omitted: readonly string[];
}

export interface Axis {
  readonly title: string;
  readonly quantity: Quantity;
  readonly series: readonly Series[];
}

const unitKey = ({ quantity }: Series): string =>
  quantity.kind === 'duration'
    ? `duration ${quantity.scale}`
    : quantity.kind === 'amount'
      ? `amount ${quantity.unit}`
      : quantity.kind;

const axisTitle = (quantity: Quantity, series: readonly Series[], title: string | undefined, words: Words): string => {
  const [only] = series;
  const unit = unitLabel(quantity, words);
  const { count, share, durations } = words.chart;
  if (title !== undefined) return unit === undefined ? title : `${title} (${unit})`;
  if (series.length === 1 && only !== undefined) return unit === undefined ? only.name : `${only.name} (${unit})`;
  if (quantity.kind === 'count') return count;
  if (quantity.kind === 'ratio') return share;
  if (quantity.kind === 'duration') return durations[quantity.scale];
  return quantity.kind === 'amount' ? (quantity.unit ?? '') : '';
};

/**
 * The series of each axis: as the definition says, or by default those with the same unit. Each sparkline has its own
 * axis.
 */
function axisGroups(
  kind: ChartKind,
  series: readonly Series[],
  secondary: readonly string[] | undefined,
): readonly (readonly Series[])[] {
  if (kind === 'sparkline') {
    const current = series.filter((each) => !each.previous);
    return current.map((each) => [each, ...series.filter((other) => other.previous && other.metric === each.metric)]);
  }
  if (secondary === undefined) {
    const units = [...new Set(series.map(unitKey))];
    return units.map((unit) => series.filter((each) => unitKey(each) === unit));
  }
  const isSecond = ({ metric }: Series) => secondary.includes(metric);
  // An axis has one unit. Series of other units are left out and listed in `omitted`.
  return [series.filter((each) => !isSecond(each)), series.filter(isSecond)].map((group) => {
    const unit = group[0] === undefined ? '' : unitKey(group[0]);
    return group.filter((each) => unitKey(each) === unit);
  });
}

/**
 * How many series each axis draws: together no more than readers can tell apart, and at least one on the second axis.
 */
function seriesLimits(kind: ChartKind, [first = [], second = []]: readonly (readonly Series[])[]): readonly number[] {
  if (kind === 'sparkline') return [];
  const ofSecond = Math.min(second.length, Math.max(1, MAX_SERIES - first.length));
  return [MAX_SERIES - ofSecond, ofSecond];
}

/**
 * Builds the chart of a section. Undefined if it has no chart, no rows, or no bucket or group for the category axis.
 * Two units get an axis each; what does not fit is listed in `omitted`.
 * @param maxGroups the most groups along the axis
 * @param columns the table's; computing the default scans all rows
 */
export function buildChart(
  table: Table,
  locale: string = DEFAULT_LOCALE,
  maxGroups: number = MAX_GROUPS,
  columns: readonly ViewColumn[] = viewColumns(table, locale),
): Chart | undefined {
  if (table.chart === undefined) return undefined;
  const words = messagesFor(locale);
  const spec = chartAsked(table.chart);
  const { series: requested, secondary, axes: titles } = spec;
  const bucket = columns.find((column) => column.role === 'bucket');
  const groups = columns.filter((column) => column.role === 'label');
  const drawable = columns.filter((column) => column.role === 'value' || column.role === 'previous');
  const figures =
    requested === undefined
      ? drawable
      : requested.flatMap((metric) => drawable.filter((column) => column.source.name === metric));
  const labels = bucket === undefined ? groups : [bucket];
  if (labels.length === 0 || table.rows.length === 0) return undefined;
  const content =
    bucket !== undefined && groups.length > 0
      ? byGroup(table, bucket, groups, figures, spec.kind, locale)
      : byMetric(table, labels, figures, spec.kind, maxGroups, locale);

  const kind = content.unstacked ? 'column' : spec.kind;
  // Horizontal bars cannot have a second axis.
  const maxAxes = kind === 'sparkline' ? MAX_SPARKLINES : kind === 'bar' ? 1 : 2;
  const drawn = axisGroups(kind, content.series, secondary).slice(0, maxAxes);
  const limits = seriesLimits(kind, drawn);
  const axes = drawn.map((group, index): Axis => {
    const series = group.slice(0, limits[index]);
    const quantity: Quantity = series[0]?.quantity ?? { kind: 'count' };
    const current = series.filter((each) => !each.previous);
    return {
      title: axisTitle(quantity, current, index === 0 ? titles?.primary : titles?.secondary, words),
      quantity,
      series,
    };
  });
  // An empty chart says less than the note about the missing data.
  if (axes.every(({ series }) => series.every(({ values }) => values.every((value) => value === null))))
    return undefined;
  const inChart = new Set(axes.flatMap(({ series }) => series.map(({ metric }) => metric)));
  const leftOut = content.series.filter(({ metric, previous }) => !previous && !inChart.has(metric));
  return {
    kind,
    title: table.title,
    categoryTitle: joinLabels(
      labels.map((column) => column.header),
      ' · ',
    ),
    categories: content.categories,
    overTime: bucket !== undefined,
    ...(content.partial.includes(true) ? { partial: content.partial } : {}),
    axes,
    omitted: [
      ...content.omitted,
      ...(leftOut.length === 0 ? [] : [words.chart.notDrawn(leftOut.map(({ name }) => isolateBidi(name)))]),
    ],
  };
}
