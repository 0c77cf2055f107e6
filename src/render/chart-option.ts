import type { EChartsCoreOption } from 'echarts/core';
import { numberFormat } from '../base/formats.ts';
import { wordsOf } from '../words/words.ts';
import { alignedScales } from './axis-scale.ts';
import { type Axis, type Chart, QUIET_COLOUR, SERIES_COLOURS, type Series } from './chart.ts';
import { distinctNames } from './distinct-names.ts';
import { type Quantity, unitWord, valueText } from './format.ts';

/** Of the picture, in its own units; a mail shows it a little larger, a phone at half of it. */
export const PICTURE_WIDTH = 520;
const PICTURE_HEIGHT = 250;
const BAR_HEIGHT = 26;
const LEGEND_ROW = 20;
const FONT_SIZE = 13;
/** As an average letter of this size is wide. */
const LETTER = 6.6;
/** Beside its text, a name in the legend takes its mark and the space to the next one. */
const LEGEND_MARK = 46;

/** Significant digits of the figures along an axis: more than a round figure has, fewer than its noise. */
const AXIS_DIGITS = 12;

const INK = '#22272e';
const SYMBOLS = ['circle', 'rect', 'triangle', 'diamond'] as const;
/** With more points than this the marks of a line would touch. */
const MOST_MARKS = 35;

/** A name as it is drawn: on one line, without what XML cannot hold, and cut where it would push the rest aside. */
const short = (text: string, letters: number): string => {
  const signs = [...text.replace(/[\p{Cc}\p{Cs}\s\uFFFE\uFFFF]+/gu, ' ')];
  return signs.length <= letters ? signs.join('') : `${signs.slice(0, letters - 1).join('')}…`;
};

/** As `short`, and no two alike: names that differ behind the cut keep their ends instead of their middles. */
const shortNames = (texts: readonly string[], letters: number): readonly string[] =>
  distinctNames(
    texts.map((text) => short(text, letters)),
    (name, index) => {
      const signs = [...short(texts[index] ?? name, Number.POSITIVE_INFINITY)];
      const half = Math.floor((letters - 1) / 2);
      return signs.length <= letters ? name : `${signs.slice(0, half).join('')}…${signs.slice(-half).join('')}`;
    },
  );

/** Durations are drawn in a unit in which the axis has round figures. */
const DURATIONS = {
  seconds: { divide: 1, unit: 's' },
  clock: { divide: 3600, unit: 'h' },
  days: { divide: 86_400, unit: 'd' },
} as const;

const scaleOf = (quantity: Quantity): { readonly divide: number; readonly unit: string | undefined } => {
  if (quantity.kind === 'duration') return DURATIONS[quantity.scale];
  return { divide: 1, unit: quantity.kind === 'amount' ? (quantity.unit ?? undefined) : undefined };
};

/** The axis's title with the unit in which it is drawn here. */
function titleOf({ quantity, title }: Axis, locale: string): string {
  const { unit } = scaleOf(quantity);
  const workbooks = unitWord(quantity, wordsOf(locale));
  if (unit === undefined || workbooks === undefined) return short(title, 34);
  const bare = title.replace(` (${workbooks})`, '');
  return bare === workbooks ? unit : `${short(bare, 30)} (${unit})`;
}

function axisOf(axis: Axis, index: number, lying: boolean, locale: string) {
  // Lines stand at round figures, however small: a limit of decimals would show some of them as zero.
  const figures = numberFormat(locale, {
    ...(axis.quantity.kind === 'ratio' ? { style: 'percent' } : {}),
    maximumSignificantDigits: AXIS_DIGITS,
  });
  return {
    type: 'value',
    name: titleOf(axis, locale),
    ...(lying ? { nameLocation: 'middle', nameGap: 26 } : { nameGap: 10 }),
    nameTextStyle: {
      color: INK,
      fontSize: FONT_SIZE,
      ...(lying ? {} : { align: index === 0 ? 'left' : 'right' }),
    },
    splitNumber: 4,
    minInterval: axis.quantity.kind === 'count' ? 1 : 0,
    splitLine: { show: index === 0, lineStyle: { color: '#e3e8ee' } },
    axisLabel: { color: INK, fontSize: FONT_SIZE, formatter: (value: number) => figures.format(value) },
  };
}

interface Placed {
  readonly series: Series;
  readonly axis: number;
}

function seriesOf(chart: Chart, { series, axis }: Placed, index: number, name: string) {
  const { divide } = scaleOf(series.quantity);
  const colour = `#${series.previous ? QUIET_COLOUR : (SERIES_COLOURS[index % SERIES_COLOURS.length] ?? QUIET_COLOUR)}`;
  const shared = {
    name,
    data: series.values.map((value) => (value === null ? null : value / divide)),
    itemStyle: { color: colour },
    ...(chart.kind === 'bar' ? { xAxisIndex: axis } : { yAxisIndex: axis }),
  };
  // Columns of two units side by side would be compared with each other: the second unit is a line.
  if (chart.kind === 'line' || axis > 0) {
    return {
      ...shared,
      type: 'line',
      symbol: SYMBOLS[index % SYMBOLS.length],
      symbolSize: 7,
      showSymbol: !series.previous && chart.categories.length <= MOST_MARKS,
      // Between groups there is no way from one to the next.
      lineStyle: { color: colour, width: chart.overTime ? 2.5 : 0, type: series.previous ? 'dashed' : 'solid' },
    };
  }
  return {
    ...shared,
    type: 'bar',
    barMaxWidth: 36,
    ...(chart.kind === 'stacked_column' ? { stack: 'all' } : {}),
  };
}

/** A chart as ECharts draws it, and how high it is. */
interface Drawing {
  readonly option: EChartsCoreOption;
  readonly height: number;
}

const BASE = {
  animation: false,
  // A light ground of its own: the picture is then readable in dark mode, too.
  backgroundColor: '#ffffff',
  textStyle: { fontFamily: 'Arimo', color: INK },
} as const;

/** A line that does not begin at nothing makes small changes look large; the workbook's begin there, too. */
const fromNothing = ({ series }: Axis): { readonly min?: 0 } =>
  series.every(({ values }) => values.every((value) => value === null || value >= 0)) ? { min: 0 } : {};

const SMALL_HEIGHT = 64;

/** A line a figure, its name to the left and its last value to the right, without axes. */
function smallLines(chart: Chart, locale: string): Drawing {
  const text = (at: object, value: string, bold: boolean) => ({
    text: value,
    ...at,
    textStyle: { color: INK, fontSize: bold ? 16 : FONT_SIZE, fontWeight: 'normal', width: 160, overflow: 'break' },
  });
  const names = shortNames(
    chart.axes.map(({ series }) => series[0]?.name ?? ''),
    44,
  );
  const hidden = { show: false, type: 'category', data: chart.categories, boundaryGap: false } as const;
  const option: EChartsCoreOption = {
    ...BASE,
    title: chart.axes.flatMap(({ series }, index) => {
      const [now] = series;
      const last = now?.values.findLast((value) => value !== null);
      const middle = { top: index * SMALL_HEIGHT + 16, padding: 0 };
      return [
        text({ ...middle, left: 4 }, names[index] ?? '', false),
        text({ ...middle, right: 4 }, now === undefined ? '' : valueText(last, now.quantity, locale), true),
      ];
    }),
    grid: chart.axes.map((_, index) => ({ left: 180, right: 110, top: index * SMALL_HEIGHT + 10, height: 44 })),
    xAxis: chart.axes.map((_, gridIndex) => ({ ...hidden, gridIndex })),
    yAxis: chart.axes.map((axis, gridIndex) => ({ show: false, type: 'value', gridIndex, ...fromNothing(axis) })),
    series: chart.axes.flatMap(({ series }, index) =>
      series.map((each) => ({
        ...seriesOf({ ...chart, kind: 'line' }, { series: each, axis: index }, 0, ''),
        xAxisIndex: index,
        showSymbol: false,
      })),
    ),
  };
  return { option, height: chart.axes.length * SMALL_HEIGHT + 4 };
}

/** What draws the chart; nothing in it moves. */
export function chartOption(chart: Chart, locale: string): Drawing {
  if (chart.kind === 'sparkline') return smallLines(chart, locale);
  const placed = chart.axes.flatMap(({ series }, axis) => series.map((each): Placed => ({ series: each, axis })));
  const names = shortNames(
    placed.map(({ series }) => series.name),
    36,
  );
  const legendWidth = names.reduce((sum, name) => sum + name.length * LETTER + LEGEND_MARK, 0);
  const legendRows = names.length > 1 ? Math.ceil(legendWidth / (PICTURE_WIDTH - LEGEND_MARK / 2)) : 0;
  const lying = chart.kind === 'bar';
  const top = legendRows * LEGEND_ROW + (!lying ? 34 : legendRows > 0 ? 16 : 4);
  const bars = chart.categories.length * Math.max(1, placed.length * 0.6) * BAR_HEIGHT;
  const height = top + (lying ? bars + 56 : PICTURE_HEIGHT - 34);
  const groups = !chart.overTime && !lying;
  const category = {
    type: 'category',
    data: chart.overTime
      ? chart.categories.map((text) => short(text, 40))
      : shortNames(chart.categories, lying ? 26 : 40),
    axisTick: { show: false },
    axisLine: { lineStyle: { color: '#9aa5b1' } },
    axisLabel: {
      color: INK,
      fontSize: FONT_SIZE,
      // Times may be told by some of them; a group without its name is none.
      ...(chart.overTime && !lying ? { hideOverlap: true } : { interval: 0 }),
      ...(groups ? { width: 420 / Math.max(1, chart.categories.length), overflow: 'break', lineHeight: 15 } : {}),
    },
    ...(lying ? { inverse: true } : {}),
  };
  const divide = chart.axes.map(({ quantity }) => scaleOf(quantity).divide);
  const scales = alignedScales(chart.axes, chart.kind === 'stacked_column', divide);
  const values = chart.axes.map((axis, index) => ({ ...axisOf(axis, index, lying, locale), ...scales[index] }));
  const option: EChartsCoreOption = {
    ...BASE,
    ...(legendRows === 0
      ? {}
      : { legend: { top: 4, left: 4, itemWidth: 24, data: names, textStyle: { color: INK, fontSize: FONT_SIZE } } }),
    grid: { left: 8, right: 14, top, bottom: lying ? 30 : 8, outerBoundsMode: 'same', outerBoundsContain: 'axisLabel' },
    ...(lying ? { xAxis: values, yAxis: category } : { xAxis: category, yAxis: values }),
    series: placed.map((each, index) => seriesOf(chart, each, index, names[index] ?? '')),
  };
  return { option, height };
}
