import type { LocaleFormatters } from '../formatters.ts';

type Kind = 'line' | 'column' | 'stacked_column' | 'bar' | 'sparkline';

/** A figure and its category. */
export interface Point {
  readonly value: string;
  readonly at: string;
}

/** A summary of a series over time. */
export interface Trend {
  readonly first: Point;
  readonly last: Point;
  readonly highest: Point;
  readonly lowest: Point;
}

const pointText = ({ value, at }: Point): string => `${value} (${at})`;

/** Texts inside and below charts, and their alternative texts. */
export const chart = (to: LocaleFormatters) => ({
  count: 'Count',
  share: 'Share (%)',
  durations: { minutes: 'Minutes', hours: 'Hours', days: 'Days' },

  firstGroups: (shown: number, all: number) => `the first ${to.number(shown)} of ${to.number(all)} groups are drawn`,
  largestGroups: (shown: number, all: number) =>
    `the ${to.number(shown)} largest of ${to.number(all)} groups are drawn`,
  /** @param count the number of groups that are drawn as one */
  others: (count: number) => `Other (${to.number(count)})`,
  onlyDrawn: (label: string) => `only ${label} is drawn`,
  /** @param names the names of the compared figures */
  onlyAlike: (names: readonly string[]) => `${names.join(', ').toLowerCase()} is drawn only where it can be compared`,
  notDrawn: (names: readonly string[]) => `${names.join(', ')} ${names.length === 1 ? 'is' : 'are'} not drawn`,
  omits: (what: readonly string[]) => `In this chart ${what.join('; ')}.`,
  endRunning: 'Its last figures are of a time that is still running.',
  /** Explains the codes of names that the pictures' font cannot show. */
  codes: (codes: readonly string[]) => `In this picture ${codes.join('; ')}.`,
  noAxis: 'No chart: the section has neither time nor groups for an axis.',

  by: (kind: Kind, along: string) =>
    `${
      {
        line: 'Line chart',
        column: 'Column chart',
        stacked_column: 'Stacked column chart',
        bar: 'Bar chart',
        sparkline: 'Small line chart',
      }[kind]
    } by ${along}.`,
  /** @param rest how many more there are */
  groups: (name: string, groups: readonly string[], rest: number) =>
    `${name}: ${groups.join(', ')}${rest > 0 ? ` and ${to.number(rest)} more` : ''}.`,
  nothing: (name: string) => `${name}: no figures.`,
  one: (name: string, point: Point) => `${name}: ${pointText(point)}.`,
  trend: (name: string, { first, last, highest, lowest }: Trend) =>
    `${name}: from ${pointText(first)} to ${pointText(last)}, highest ${pointText(highest)}, lowest ${pointText(lowest)}.`,
  moreSeries: (count: number) => `${to.number(count)} more series ${count === 1 ? 'is' : 'are'} not described here.`,

  /** The alternative text in the workbook. */
  described: (kind: Kind, series: readonly string[], along: string, from: string, last: string) =>
    `${kind.replace('_', ' ')} chart of ${series.join(', ')} by ${along} from ${from} to ${last}`,
});
