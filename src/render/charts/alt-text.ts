import { messagesFor } from '../../i18n/messages.ts';
import { formatValue } from '../figures/format-value.ts';
import type { Chart } from './chart.ts';
import type { Series } from './chart-data.ts';

/** The most groups of a series that an alternative text names. */
const MAX_NAMED_GROUPS = 6;
/** The most series of a chart that an alternative text describes. */
const MAX_DESCRIBED_SERIES = 4;

function describeSeries(chart: Chart, { name, values, quantity }: Series, locale: string): string {
  const words = messagesFor(locale).chart;
  const points = chart.categories.map((at, index) => ({ at, value: values[index] ?? null }));
  const text = (value: number | null) => formatValue(value, quantity, locale);
  if (!chart.overTime) {
    const named = points.slice(0, MAX_NAMED_GROUPS).map(({ at, value }) => `${at} ${text(value)}`);
    return words.groups(name, named, points.length - named.length);
  }
  const known = points.flatMap(({ at, value }) => (value === null ? [] : [{ at, value }]));
  const [first] = known;
  const last = known.at(-1);
  const point = ({ at, value }: { readonly at: string; readonly value: number }) => ({ at, value: text(value) });
  if (first === undefined || last === undefined) return words.nothing(name);
  if (known.length === 1) return words.one(name, point(first));
  const highest = known.reduce((max, each) => (each.value > max.value ? each : max), first);
  const lowest = known.reduce((min, each) => (each.value < min.value ? each : min), first);
  return words.trend(name, { first: point(first), last: point(last), highest: point(highest), lowest: point(lowest) });
}

/** The alternative text of a chart's image: its kind, its category axis, and the figures in words. */
export function chartAltText(chart: Chart, locale: string): string {
  const words = messagesFor(locale).chart;
  const series = chart.axes.flatMap((axis) => axis.series);
  const described = series.slice(0, MAX_DESCRIBED_SERIES);
  const rest = series.length - described.length;
  return [
    words.by(chart.kind, chart.categoryTitle),
    ...described.map((each) => describeSeries(chart, each, locale)),
    ...(rest > 0 ? [words.moreSeries(rest)] : []),
  ].join(' ');
}
