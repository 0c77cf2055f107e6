import { isolateBidi } from '../../../base/text/bidi.ts';
import type { Granularity } from '../../../contract/report.ts';
import { heldTarget } from '../../../definitions/schema/targets.ts';
import type { Column, Table, TargetRecord } from '../../../fetch/dataset.ts';
import { lastDayOfBucket } from '../../../plan/buckets.ts';
import { type ViewColumn, valueColumns } from '../../figures/columns.ts';
import { formatJudged, formatTarget } from '../../figures/format-value.ts';
import { totalJudgement } from '../../figures/status-text.ts';
import { tableBuckets } from '../../figures/table-buckets.ts';
import { pointRange, rangeText, USUAL_POINTS } from '../../figures/usual-range.ts';
import type { Band, TrendPanel, TrendPoint } from '../pack.ts';
import type { PackContext } from '../pack-context.ts';
import { describePoints, labelPoints, scorecardTrend } from './trend-points.ts';

/**
 * Whether a metric's figures for shorter times add up to that of the whole, so that a target for the whole does not
 * apply to a bucket. Rates, durations and current counts do not add up.
 */
const isAdditive = ({ unit, counts, aggregation }: Column, { readings }: Table): boolean =>
  readings === undefined &&
  counts !== 'now' &&
  unit !== 'ratio' &&
  unit !== 'seconds' &&
  !/^p\d+$/i.test(aggregation ?? '');

type PanelTarget = NonNullable<TrendPanel['target']>;

/**
 * The target of each bucket. If there are targets for buckets of this size, those that judge them, otherwise the target
 * of a metric whose figures do not add up. A filtered section has none, unless that target itself judges it.
 */
function panelTarget(
  table: Table,
  view: ViewColumn,
  buckets: readonly string[],
  figures: readonly (number | null)[],
  granularity: Granularity,
  { dataset, locale }: PackContext,
): PanelTarget | undefined {
  const { targets = [], judgements = [] } = dataset;
  const metric = view.source.name;
  const own = judgements.filter((each) => each.section === table.id && each.metric === metric && each.group === null);
  const judgedBy = (fits: (target: TargetRecord) => boolean): TargetRecord[] =>
    own.flatMap(({ target }) => {
      const record = targets[target];
      return record !== undefined && fits(record) ? [record] : [];
    });
  const forWhole = ({ where, per }: TargetRecord) => where === undefined && per === undefined;
  const forBucket = ({ per }: TargetRecord) => per === granularity;
  const ofMetric = table.filters.length > 0 ? [] : targets.filter((target) => target.metric === metric);
  // For a count, only targets that name their period apply to a bucket. They are known for whole, ended buckets.
  const perBucket = [...judgedBy(forBucket), ...ofMetric.filter((each) => each.where === undefined && forBucket(each))];
  const whole = isAdditive(view.source, table)
    ? []
    : [...judgedBy(({ per }) => per === undefined), ...ofMetric.filter(forWhole)];
  const held = (perBucket.length > 0 ? perBucket : whole).filter(({ target }) => target !== null);
  const values = buckets.map((bucket) => {
    const entry = heldTarget(
      held.map(({ from, target }) => ({ from, target })),
      lastDayOfBucket(bucket, granularity),
    );
    return entry?.target ?? null;
  });
  const last = values.findLast((value) => value !== null);
  return last === undefined || last === null
    ? undefined
    : { values, text: formatTarget(last, view.quantity, locale, figures) };
}

/** The usual range of the last point. It begins at the first point that it is computed from. */
function panelBand(
  of: Table,
  { source, quantity }: ViewColumn,
  points: readonly TrendPoint[],
  cases: readonly (number | null)[] | undefined,
  granularity: Granularity,
  { dataset, locale }: PackContext,
): Band | undefined {
  const trend = {
    granularity,
    buckets: points.map(({ bucket, partial }) => ({ label: bucket, partial })),
    values: { [source.name]: points.map(({ value }) => value) },
    ...(cases === undefined ? {} : { cases: { [source.name]: cases } }),
  };
  const found = pointRange(dataset, of, source, trend, quantity);
  if (found === undefined) return undefined;
  const { low, high } = found;
  return { low, high, from: Math.max(0, points.length - 1 - USUAL_POINTS), text: rangeText(found, quantity, locale) };
}

/**
 * A panel for these points.
 * @param of the table whose judgements and targets give its line
 * @param cases the numbers of cases behind its points
 */
function trendPanel(
  of: Table,
  view: ViewColumn,
  plain: readonly TrendPoint[],
  cases: readonly (number | null)[] | undefined,
  granularity: Granularity,
  context: PackContext,
): TrendPanel {
  const { words, locale } = context;
  const { source, quantity } = view;
  const target = panelTarget(
    of,
    view,
    plain.map(({ bucket }) => bucket),
    plain.map(({ value }) => value),
    granularity,
    context,
  );
  const points = plain.map((point, index) => {
    const limit = target?.values[index] ?? null;
    if (point.value === null || limit === null) return point;
    return { ...point, text: formatJudged(point.value, { target: limit }, quantity, locale) };
  });
  const band = panelBand(of, view, plain, cases, granularity, context);
  const about = [
    ...(target === undefined ? [] : [words.status.target(target.text)]),
    ...(band === undefined ? [] : [band.text]),
  ];
  return {
    column: source,
    label: source.label,
    quantity,
    points,
    ...(target === undefined ? {} : { target }),
    ...(band === undefined ? {} : { band }),
    description: [describePoints(isolateBidi(source.label), points, context), ...about].join('; '),
  };
}

const RANKS = { breached: 0, watch: 1, on_target: 2, undefined: 2 } as const;

/**
 * One panel for each metric of a trend section, in its order; if these are the metrics of the scorecard, breached ones
 * come first. The first trend of the report also gets metrics that are breached in a scorecard but not in the list,
 * from the scorecard's own trend.
 */
export function trendPanels(table: Table, granularity: Granularity, context: PackContext): TrendPanel[] {
  const { tables, judgements } = context.dataset;
  const { buckets, valuesOf, casesOf } = tableBuckets(table, granularity);
  const views = valueColumns(context.columnsOf(table));
  const own = views.map((view) => {
    const values = valuesOf(view.source.name);
    const raw = buckets.map((each, index) => ({ ...each, value: values[index] ?? null }));
    const cases = casesOf(view.source.name);
    return trendPanel(table, view, labelPoints(raw, view.quantity, granularity, context), cases, granularity, context);
  });
  const scorecards = tables.filter(({ layout, filters }) => {
    return layout?.kind === 'scorecard' && JSON.stringify(filters) === JSON.stringify(table.filters);
  });
  const rankIn = ({ id }: Table, metric: string) =>
    RANKS[totalJudgement(judgements, id, metric)?.status ?? 'undefined'];
  const [first] = scorecards;
  const collectMetricNames = (of: Table | undefined) =>
    of?.columns.flatMap(({ kind, name }) => (kind === 'metric' ? [name] : []));
  const isOfScorecard =
    first !== undefined && collectMetricNames(first)?.join('\n') === collectMetricNames(table)?.join('\n');
  const ordered = isOfScorecard
    ? own.toSorted((one, other) => rankIn(first, one.column.name) - rankIn(first, other.column.name))
    : own;
  if (tables.find(({ layout }) => layout?.kind === 'trend') !== table) return ordered;
  const shown = new Set(own.map(({ column }) => column.name));
  const unlisted = scorecards
    .filter(({ trend }) => trend?.granularity === granularity)
    .flatMap((scorecard) =>
      valueColumns(context.columnsOf(scorecard)).flatMap((view) => {
        const { name } = view.source;
        if (shown.has(name) || rankIn(scorecard, name) !== RANKS.breached) return [];
        shown.add(name);
        const points = scorecardTrend(scorecard, view, context);
        return points.length === 0
          ? []
          : [trendPanel(scorecard, view, points, scorecard.trend?.cases?.[name], granularity, context)];
      }),
    );
  return [...ordered, ...unlisted];
}
