import type { Quantity } from '../../../figures/quantity.ts';
import type { Pack, PackSection, Scorecard, ScorecardRow, TrendPanel } from '../../../pack/pack.ts';
import type { ChartRange } from './chart-elements.ts';

/** The points of charts or sparklines: a column of categories, and a column for each series. */
export interface DataBlock {
  readonly title: string;
  readonly categoryTitle: string;
  readonly categories: readonly string[];
  readonly series: readonly DataSeries[];
}

export interface DataSeries {
  readonly name: string;
  readonly quantity: Quantity;
  /** Raw values. Null is undefined and leaves a gap. */
  readonly values: readonly (number | null)[];
  /** Shown in grey. */
  readonly secondary: boolean;
}

/** The cells of a sparkline's points on the data sheet. */
export interface TrendCells {
  readonly range: ChartRange;
  /** Counted from 0. */
  readonly column: number;
  readonly points: number;
}

/** The cells where the charts of the workbook find their points. */
export interface ChartData {
  readonly sheet: string;
  readonly blocks: readonly { readonly block: DataBlock; readonly row: number }[];
  /** By section id. */
  readonly charts: ReadonlyMap<string, ChartRange>;
  /** By section id. */
  readonly panels: ReadonlyMap<string, ChartRange>;
  readonly trends: ReadonlyMap<ScorecardRow, TrendCells>;
}

/**
 * The row with the names of the first block's series. Above it are link, heading, explanation, an empty row and the
 * block's title.
 */
const FIRST_BLOCK = 6;

const chartBlock = ({ chart }: NonNullable<PackSection['chart']>): DataBlock => ({
  title: chart.title,
  categoryTitle: chart.categoryTitle,
  categories: chart.categories,
  series: chart.axes.flatMap(({ series }) =>
    series.map(({ name, quantity, values, previous }) => ({ name, quantity, values, secondary: previous })),
  ),
});

/** All buckets of several series, because a series may lack some. */
function collectBuckets(series: readonly (readonly { readonly bucket: string; readonly label: string }[])[]) {
  const labels = new Map(series.flat().map(({ bucket, label }) => [bucket, label]));
  return [...labels].sort(([one], [other]) => (one < other ? -1 : 1));
}

/**
 * The figures of each panel, followed by its target and the ends of its usual range, if it has these.
 * @param names of a target and of a usual range
 */
export function panelBlock(
  title: string,
  categoryTitle: string,
  names: { readonly target: string; readonly band: string },
  panels: readonly TrendPanel[],
) {
  const buckets = collectBuckets(panels.map(({ points }) => points));
  return {
    title,
    categoryTitle,
    categories: buckets.map(([, label]) => label),
    series: panels.flatMap(({ label, quantity, points, target, band }): DataSeries[] => {
      const aligned = (of: TrendPanel['points'], values: readonly (number | null)[]): (number | null)[] => {
        const byBucket = new Map(of.map(({ bucket }, index) => [bucket, values[index] ?? null]));
        return buckets.map(([bucket]) => byBucket.get(bucket) ?? null);
      };
      const figures = points.map(({ value }) => value);
      return [
        { name: label, quantity, values: aligned(points, figures), secondary: false },
        ...(target === undefined
          ? []
          : [{ name: `${label}: ${names.target}`, quantity, values: aligned(points, target.values), secondary: true }]),
        ...(band === undefined ? [] : [band.low, band.high]).map((end, nth) => ({
          name: `${label}: ${names.band} (${nth + 1})`,
          quantity,
          values: aligned(
            points,
            points.map((_, index) => (index < (band?.from ?? 0) ? null : end)),
          ),
          secondary: true,
        })),
      ];
    }),
  } satisfies DataBlock;
}

const rowsWithTrend = ({ groups }: Scorecard): ScorecardRow[] =>
  groups.flatMap(({ rows }) => rows.filter(({ trend }) => trend.length > 0));

function trendBlock(title: string, categoryTitle: string, rows: readonly ScorecardRow[]): DataBlock {
  const buckets = collectBuckets(rows.map(({ trend }) => trend));
  return {
    title,
    categoryTitle,
    categories: buckets.map(([, label]) => label),
    series: rows.map(({ label, figure, trend }) => {
      const values = new Map(trend.map(({ bucket, value }) => [bucket, value]));
      const figures = buckets.map(([bucket]) => values.get(bucket) ?? null);
      return { name: label, quantity: figure.quantity, values: figures, secondary: false };
    }),
  };
}

/** Whether any chart of a pack needs a data sheet. */
export const drawsCharts = ({ sections, summary }: Pack): boolean =>
  (summary !== undefined && rowsWithTrend(summary.scorecard).length > 0) ||
  sections.some(
    (section) =>
      section.chart !== undefined ||
      (section.kind === 'trend' && section.panels.length > 0) ||
      (section.kind === 'scorecard' && rowsWithTrend(section.scorecard).length > 0),
  );

/**
 * Assigns the rows of the data sheet, before any sheet is written.
 * @param words headings for the summary, a column of buckets, a target and a usual range
 */
export function planChartData(
  pack: Pack,
  sheet: string,
  words: { readonly summary: string; readonly bucket: string; readonly target: string; readonly band: string },
): ChartData {
  const blocks: { block: DataBlock; row: number }[] = [];
  const charts = new Map<string, ChartRange>();
  const panels = new Map<string, ChartRange>();
  const trends = new Map<ScorecardRow, TrendCells>();
  let next = FIRST_BLOCK;
  const add = (block: DataBlock): ChartRange => {
    blocks.push({ block, row: next });
    const range = { sheet, row: next };
    // The block has a title, a header, one row per category, and an empty row.
    next += block.categories.length + 3;
    return range;
  };
  const addTrends = (title: string, scorecard: Scorecard): void => {
    const rows = rowsWithTrend(scorecard);
    if (rows.length === 0) return;
    const block = trendBlock(title, words.bucket, rows);
    const range = add(block);
    for (const [index, row] of rows.entries()) {
      trends.set(row, { range, column: index + 1, points: block.categories.length });
    }
  };
  const { summary } = pack;
  if (summary !== undefined) addTrends(words.summary, summary.scorecard);
  for (const section of pack.sections) {
    const { id } = section.table;
    if (section.chart !== undefined) charts.set(id, add(chartBlock(section.chart)));
    if (section.kind === 'trend' && section.panels.length > 0) {
      panels.set(id, add(panelBlock(section.title, words.bucket, words, section.panels)));
    }
    if (section.kind === 'scorecard' && id !== summary?.of) addTrends(section.title, section.scorecard);
  }
  return { sheet, blocks, charts, panels, trends };
}
