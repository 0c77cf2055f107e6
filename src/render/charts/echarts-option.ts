import type { EChartsCoreOption } from 'echarts/core';
import { intlNumberFormat } from '../../base/text/intl.ts';
import { messagesFor } from '../../i18n/messages.ts';
import { formatValue, unitLabel } from '../figures/format-value.ts';
import { rawPerShown } from '../figures/quantity.ts';
import { axisScales } from './axis-scale.ts';
import { type Axis, type Chart, PREVIOUS_PERIOD_COLOUR, SERIES_COLOURS } from './chart.ts';
import type { Series } from './chart-data.ts';
import { truncateLabel, truncateLabels } from './label-texts.ts';

/** In units of the drawing. An e-mail shows the image slightly larger, a phone at half the size. */
export const CHART_WIDTH = 520;
const CHART_HEIGHT = 220;
const BAR_HEIGHT = 26;
/** The most letters per line of a bar's name, which takes up to two lines. */
const BAR_LETTERS = 26;
const LEGEND_ROW_HEIGHT = 20;
const FONT_SIZE = 13;
/** The average width at this font size. */
const LETTER_WIDTH = 6.6;
/** Width of a legend entry without its text: the marker, and the gap to the next entry. */
const LEGEND_MARKER_WIDTH = 46;

/** Significant digits of axis labels: enough for round figures, few enough to hide floating-point noise. */
const AXIS_DIGITS = 12;

const INK = '#22272e';
const SYMBOLS = ['circle', 'rect', 'triangle', 'diamond'] as const;
/** With more points than this, the markers on a line would touch. */
const MAX_MARKERS = 35;

/** The title of an axis. If it is too long, it is truncated before its unit. */
function axisName({ quantity, title }: Axis, locale: string): string {
  const unit = unitLabel(quantity, messagesFor(locale));
  const end = unit === undefined ? '' : ` (${unit})`;
  return title.endsWith(end) && end !== ''
    ? `${truncateLabel(title.slice(0, -end.length), 30)}${truncateLabel(end, 30)}`
    : truncateLabel(title, 34);
}

function valueAxisOption(axis: Axis, index: number, horizontal: boolean, locale: string) {
  // Grid lines are at round figures, however small. Limited decimals would label some of them zero.
  const figures = intlNumberFormat(locale, {
    ...(axis.quantity.kind === 'ratio' ? { style: 'percent' } : {}),
    maximumSignificantDigits: AXIS_DIGITS,
  });
  return {
    type: 'value',
    name: axisName(axis, locale),
    ...(horizontal ? { nameLocation: 'middle', nameGap: 26 } : { nameGap: 10 }),
    nameTextStyle: {
      color: INK,
      fontSize: FONT_SIZE,
      ...(horizontal ? {} : { align: index === 0 ? 'left' : 'right' }),
    },
    splitNumber: 4,
    minInterval: axis.quantity.kind === 'count' ? 1 : 0,
    splitLine: { show: index === 0, lineStyle: { color: '#e3e8ee' } },
    axisLabel: { color: INK, fontSize: FONT_SIZE, formatter: (value: number) => figures.format(value) },
  };
}

interface SeriesOnAxis {
  readonly series: Series;
  readonly axis: number;
}

/** Diagonal lines on white. */
const HATCH = {
  symbol: 'rect',
  dashArrayX: [1, 0],
  dashArrayY: [2, 4],
  rotation: -Math.PI / 4,
  color: 'rgba(255,255,255,0.85)',
} as const;

function seriesOption(chart: Chart, { series, axis }: SeriesOnAxis, index: number, name: string) {
  const divide = rawPerShown(series.quantity);
  const data = series.values.map((value) => (value === null ? null : value / divide));
  const colour = `#${series.previous ? PREVIOUS_PERIOD_COLOUR : (SERIES_COLOURS[index % SERIES_COLOURS.length] ?? PREVIOUS_PERIOD_COLOUR)}`;
  const shared = {
    name,
    data,
    itemStyle: { color: colour },
    ...(chart.kind === 'bar' ? { xAxisIndex: axis } : { yAxisIndex: axis }),
  };
  // Columns of two units invite readers to compare them, so the second unit is a line.
  if (chart.kind === 'line' || axis > 0) {
    const marked = !series.previous && chart.categories.length <= MAX_MARKERS;
    const hollow = { symbolSize: 8, itemStyle: { color: '#ffffff', borderColor: colour, borderWidth: 2 } };
    const isHollow = (at: number) => !series.previous && chart.partial?.[at] === true;
    return {
      ...shared,
      data: data.map((value, at) => (value !== null && isHollow(at) ? { value, ...hollow } : value)),
      type: 'line',
      symbol: SYMBOLS[index % SYMBOLS.length],
      symbolSize: marked ? 7 : 0,
      showSymbol: marked || data.some((_, at) => isHollow(at)),
      // Groups have no order, so no line connects them.
      lineStyle: { color: colour, width: chart.overTime ? 2.5 : 0, type: series.previous ? 'dashed' : 'solid' },
    };
  }
  return {
    ...shared,
    data: data.map((value, at) =>
      chart.partial?.[at] === true && value !== null ? { value, itemStyle: { decal: HATCH } } : value,
    ),
    type: 'bar',
    barMaxWidth: 36,
    ...(chart.kind === 'stacked_column' ? { stack: 'all' } : {}),
  };
}

/** The ECharts option of a chart, and its height. */
interface EchartsChart {
  readonly option: EChartsCoreOption;
  readonly height: number;
}

const BASE_OPTION = {
  animation: false,
  // An explicit background keeps the image readable in dark mode.
  backgroundColor: '#ffffff',
  textStyle: { fontFamily: 'Arimo', color: INK },
} as const;

/** As in the workbook, axes start at zero unless a value is negative: otherwise small changes look large. */
const zeroBased = ({ series }: Axis): { readonly min?: 0 } =>
  series.every(({ values }) => values.every((value) => value === null || value >= 0)) ? { min: 0 } : {};

const SPARKLINE_HEIGHT = 64;

/** One line per figure, without axes: its name is on the left, its last value on the right. */
function sparklineOption(chart: Chart, locale: string): EchartsChart {
  const text = (at: object, value: string, bold: boolean) => ({
    text: value,
    ...at,
    textStyle: { color: INK, fontSize: bold ? 16 : FONT_SIZE, fontWeight: 'normal', width: 160, overflow: 'break' },
  });
  const names = truncateLabels(
    chart.axes.map(({ series }) => series[0]?.name ?? ''),
    44,
  );
  const hidden = { show: false, type: 'category', data: chart.categories, boundaryGap: false } as const;
  const option: EChartsCoreOption = {
    ...BASE_OPTION,
    title: chart.axes.flatMap(({ series }, index) => {
      const [current] = series;
      const last = current?.values.findLast((value) => value !== null);
      const middle = { top: index * SPARKLINE_HEIGHT + 16, padding: 0 };
      return [
        text({ ...middle, left: 4 }, names[index] ?? '', false),
        text({ ...middle, right: 4 }, current === undefined ? '' : formatValue(last, current.quantity, locale), true),
      ];
    }),
    grid: chart.axes.map((_, index) => ({ left: 180, right: 110, top: index * SPARKLINE_HEIGHT + 10, height: 44 })),
    xAxis: chart.axes.map((_, gridIndex) => ({ ...hidden, gridIndex })),
    yAxis: chart.axes.map((axis, gridIndex) => ({ show: false, type: 'value', gridIndex, ...zeroBased(axis) })),
    series: chart.axes.flatMap(({ series }, index) =>
      series.map((each) => ({
        ...seriesOption({ ...chart, kind: 'line' }, { series: each, axis: index }, 0, ''),
        xAxisIndex: index,
        // Only points whose time is cut off or has not ended set a size of their own.
        symbolSize: 0,
      })),
    ),
  };
  return { option, height: chart.axes.length * SPARKLINE_HEIGHT + 4 };
}

/** The ECharts option of a chart, without animation or interaction. */
export function echartsOption(chart: Chart, locale: string): EchartsChart {
  if (chart.kind === 'sparkline') return sparklineOption(chart, locale);
  const placed = chart.axes.flatMap(({ series }, axis) => series.map((each): SeriesOnAxis => ({ series: each, axis })));
  const names = truncateLabels(
    placed.map(({ series }) => series.name),
    36,
  );
  const legendWidth = names.reduce((sum, name) => sum + name.length * LETTER_WIDTH + LEGEND_MARKER_WIDTH, 0);
  const legendRows = names.length > 1 ? Math.ceil(legendWidth / (CHART_WIDTH - LEGEND_MARKER_WIDTH / 2)) : 0;
  const horizontal = chart.kind === 'bar';
  const top = legendRows * LEGEND_ROW_HEIGHT + (!horizontal ? 34 : legendRows > 0 ? 16 : 4);
  const bars = chart.categories.length * Math.max(1, placed.length * 0.6) * BAR_HEIGHT;
  const height = top + (horizontal ? bars + 56 : CHART_HEIGHT - 34);
  const groups = !chart.overTime && !horizontal;
  const category = {
    type: 'category',
    data: chart.overTime
      ? chart.categories.map((text) => truncateLabel(text, 40))
      : truncateLabels(chart.categories, horizontal ? 2 * BAR_LETTERS : 40),
    axisTick: { show: false },
    axisLine: { lineStyle: { color: '#9aa5b1' } },
    axisLabel: {
      color: INK,
      fontSize: FONT_SIZE,
      // Some labels of a time axis may be hidden, but every group needs its name.
      ...(chart.overTime && !horizontal ? { hideOverlap: true } : { interval: 0 }),
      ...(horizontal ? { width: BAR_LETTERS * LETTER_WIDTH, overflow: 'break', lineHeight: BAR_HEIGHT / 2 } : {}),
      ...(groups ? { width: 420 / Math.max(1, chart.categories.length), overflow: 'break', lineHeight: 15 } : {}),
    },
    ...(horizontal ? { inverse: true } : {}),
  };
  const divide = chart.axes.map(({ quantity }) => rawPerShown(quantity));
  const scales = axisScales(chart, divide);
  const values = chart.axes.map((axis, index) => ({
    ...valueAxisOption(axis, index, horizontal, locale),
    ...scales[index],
  }));
  const option: EChartsCoreOption = {
    ...BASE_OPTION,
    ...(legendRows === 0
      ? {}
      : { legend: { top: 4, left: 4, itemWidth: 24, data: names, textStyle: { color: INK, fontSize: FONT_SIZE } } }),
    grid: {
      left: 8,
      right: 14,
      top,
      bottom: horizontal ? 30 : 8,
      outerBoundsMode: 'same',
      outerBoundsContain: 'axisLabel',
    },
    ...(horizontal ? { xAxis: values, yAxis: category } : { xAxis: category, yAxis: values }),
    series: placed.map((each, index) => seriesOption(chart, each, index, names[index] ?? '')),
  };
  return { option, height };
}
