import { messagesFor } from '../../../../i18n/messages.ts';
import { chartAltText } from '../../../charts/alt-text.ts';
import { axisScales, type Scale, zeroBasedScale } from '../../../charts/axis-scale.ts';
import { type Axis, type Chart, PREVIOUS_PERIOD_COLOUR, SERIES_COLOURS } from '../../../charts/chart.ts';
import type { Series } from '../../../charts/chart-data.ts';
import { truncateLabel, truncateLabels } from '../../../charts/label-texts.ts';
import { sparklineScale } from '../../../charts/sparkline.ts';
import { formatValue } from '../../../figures/format-value.ts';
import { rawPerShown } from '../../../figures/quantity.ts';
import { buildTicks, positionOn, type Tick } from './axis-ticks.ts';

/** The most letters of a name in a chart. The table shows the full name. */
const MAX_NAME_LENGTH = 48;
/** The most groups whose names fit below columns. More groups are drawn as bars, which have a line for each. */
const MAX_COLUMN_GROUPS = 12;

/** A series as a template draws it. Positions are from 0 (the lower end of its axis) to 1; null is a gap. */
export interface SeriesData {
  readonly name: string;
  /** E.g. `#0b6e69` */
  readonly colour: string;
  readonly mark: 'line' | 'column';
  readonly dashed: boolean;
  /** 0: the left axis (for bars: the only one). 1: the right axis. */
  readonly axis: number;
  readonly values: readonly (number | null)[];
  /** Where each column begins. */
  readonly bases: readonly number[];
}

/** One small line in a chart of the kind `sparkline`. */
export interface SmallLineData {
  readonly name: string;
  /** Its last figure. */
  readonly value: string;
  readonly values: readonly (number | null)[];
  /** By value: whether its time is cut off or has not ended. Empty if unknown. */
  readonly partial: readonly boolean[];
}

/** A chart as a template draws it. */
export interface ChartData {
  readonly kind: 'line' | 'column' | 'bar' | 'sparkline';
  readonly alt: string;
  /** What the chart leaves out; may be empty. */
  readonly note: string;
  readonly overTime: boolean;
  readonly categories: readonly string[];
  /** By category: whether its time is cut off or has not ended. Empty if unknown. */
  readonly partial: readonly boolean[];
  readonly categoryTitle: string;
  readonly axes: readonly { readonly title: string; readonly zero: number; readonly ticks: readonly Tick[] }[];
  readonly series: readonly SeriesData[];
  readonly lines: readonly SmallLineData[];
}

/** Stretches values to 0 to 1, because a sparkline shows a development, not a size. */
export function stretched(values: readonly (number | null)[]): readonly (number | null)[] {
  const scale = sparklineScale(values);
  return values.map((value) =>
    value === null || scale === undefined ? null : (value - scale.min) / (scale.max - scale.min || 1),
  );
}

const shownValues = ({ values, quantity }: Series): readonly (number | null)[] => {
  const divide = rawPerShown(quantity);
  return values.map((value) => (value === null ? null : value / divide));
};

/** The sums of the figures before each series. Positive and negative figures are summed separately. */
function stackedEnds(series: readonly Series[]): readonly { readonly from: number; readonly to: number | null }[][] {
  const above: number[] = [];
  const below: number[] = [];
  return series.map((each) =>
    shownValues(each).map((value, index) => {
      if (value === null) return { from: 0, to: null };
      const sums = value < 0 ? below : above;
      const from = sums[index] ?? 0;
      sums[index] = from + value;
      return { from, to: from + value };
    }),
  );
}

const selectColour = (index: number, previous: boolean): string =>
  `#${previous ? PREVIOUS_PERIOD_COLOUR : (SERIES_COLOURS[index % SERIES_COLOURS.length] ?? PREVIOUS_PERIOD_COLOUR)}`;

type Ends = readonly (readonly { readonly from: number; readonly to: number | null }[])[];

function collectEnds({ series }: Axis, stacked: boolean): Ends {
  return stacked
    ? stackedEnds(series)
    : series.map((each) => shownValues(each).map((value) => ({ from: 0, to: value })));
}

function buildScales(chart: Chart, ends: readonly Ends[]): readonly Scale[] {
  const own = axisScales(
    chart,
    chart.axes.map(({ quantity }) => rawPerShown(quantity)),
  );
  return chart.axes.map(({ quantity }, axis) => {
    const values = (ends[axis] ?? []).flatMap((each) => each.flatMap(({ to }) => (to === null ? [] : [to])));
    return own[axis] ?? zeroBasedScale(values, quantity);
  });
}

/** Creates the data of a chart, with all texts and positions. The template decides the sizes on the page. */
export function chartData(chart: Chart, locale: string): ChartData {
  const words = messagesFor(locale).chart;
  const kind =
    chart.kind === 'stacked_column'
      ? 'column'
      : chart.kind === 'column' &&
          !chart.overTime &&
          chart.categories.length > MAX_COLUMN_GROUPS &&
          chart.axes.length < 2
        ? 'bar'
        : chart.kind;
  const ends = chart.axes.map((axis, index) => collectEnds(axis, chart.kind === 'stacked_column' && index === 0));
  const scales = buildScales(chart, ends);
  const names = truncateLabels(
    chart.axes.flatMap((axis) => axis.series.map(({ name }) => name)),
    MAX_NAME_LENGTH,
  );
  let position = -1;
  const series = chart.axes.flatMap((axis, index) =>
    axis.series.map((each, nth): SeriesData => {
      position += 1;
      const scale = scales[index] ?? { min: 0, max: 1, interval: 1 };
      const own = ends[index]?.[nth] ?? [];
      return {
        name: names[position] ?? '',
        colour: selectColour(position, each.previous),
        // Columns of two units invite readers to compare them, so the second unit is a line.
        mark: kind === 'line' || index > 0 ? 'line' : 'column',
        dashed: each.previous,
        axis: index,
        values: own.map(({ to }) => (to === null ? null : positionOn(scale, to))),
        bases: own.map(({ from }) => positionOn(scale, from)),
      };
    }),
  );
  return {
    kind,
    alt: chartAltText(chart, locale),
    note: chart.omitted.length === 0 ? '' : words.omits(chart.omitted),
    overTime: chart.overTime,
    // Names of bars may take one more line.
    categories: truncateLabels(chart.categories, kind === 'bar' ? 80 : 40),
    partial: chart.partial ?? [],
    categoryTitle: chart.categoryTitle,
    axes: chart.axes.map(({ title, quantity }, index) => {
      const scale = scales[index] ?? { min: 0, max: 1, interval: 1 };
      return {
        title: truncateLabel(title, MAX_NAME_LENGTH),
        // Lines of rates may begin above zero. Then this is the lower end.
        zero: Math.max(0, positionOn(scale, 0)),
        ticks: buildTicks(scale, quantity, locale),
      };
    }),
    series: kind === 'sparkline' ? [] : series,
    lines: kind === 'sparkline' ? smallLines(chart, locale) : [],
  };
}

function smallLines(chart: Chart, locale: string): readonly SmallLineData[] {
  const drawn = chart.axes.flatMap(({ series: [current] }) => current ?? []);
  const names = truncateLabels(
    drawn.map(({ name }) => name),
    MAX_NAME_LENGTH,
  );
  return drawn.map((current, index) => ({
    name: names[index] ?? '',
    value: formatValue(
      current.values.findLast((value) => value !== null),
      current.quantity,
      locale,
    ),
    values: stretched(current.values),
    partial: chart.partial ?? [],
  }));
}
