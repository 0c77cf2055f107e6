import { isolateBidi } from '../../../base/text/bidi.ts';
import type { Granularity } from '../../../contract/report.ts';
import { heldTarget } from '../../../definitions/schema/targets.ts';
import type { Column, Table, TargetRecord } from '../../../fetch/dataset.ts';
import { lastDayOfBucket } from '../../../plan/buckets.ts';
import type { Chart } from '../../charts/chart.ts';
import { type ViewColumn, valueColumns } from '../../figures/columns.ts';
import { formatJudged, formatTarget, unitLabel } from '../../figures/format-value.ts';
import type { TrendPanel, TrendPoint } from '../pack.ts';
import type { PackContext } from '../pack-context.ts';
import { describePoints, labelPoints, tableBuckets } from './trend-points.ts';

/**
 * Whether figures of shorter times add up to that of the whole, so that a target of the whole is not one of a bucket.
 * Rates, durations and current counts do not.
 */
const isAdditive = ({ unit, counts, aggregation }: Column, { readings }: Table): boolean =>
  readings === undefined &&
  counts !== 'now' &&
  unit !== 'ratio' &&
  unit !== 'seconds' &&
  !/^p\d+$/i.test(aggregation ?? '');

type PanelTarget = NonNullable<TrendPanel['target']>;

/**
 * The target of each bucket: of the targets for buckets of this size, those by which they are judged; otherwise the target
 * of a metric that adds nothing up. None for a filtered section, unless it is judged by that target itself.
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
  // Of a count, only targets that name their time are about a bucket; they are known for whole, ended ones.
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

/** The panel as a chart of columns, with its target as a line. */
function panelChart(
  { source, quantity }: ViewColumn,
  points: readonly TrendPoint[],
  target: PanelTarget | undefined,
  categoryTitle: string,
  { words }: PackContext,
): Chart {
  const unit = unitLabel(quantity, words);
  return {
    kind: 'column',
    title: source.label,
    categoryTitle,
    categories: points.map(({ label }) => label),
    overTime: true,
    partial: points.map(({ partial }) => partial),
    axes: [
      {
        title: unit === undefined ? source.label : `${source.label} (${unit})`,
        quantity,
        series: [
          {
            name: source.label,
            metric: source.name,
            values: points.map(({ value }) => value),
            quantity,
            previous: false,
          },
          ...(target === undefined
            ? []
            : [
                {
                  name: words.pack.target,
                  metric: source.name,
                  values: target.values,
                  quantity,
                  previous: false,
                  target: true,
                } as const,
              ]),
        ],
      },
    ],
    omitted: [],
  };
}

/** One panel for each metric of a trend section, in its order. */
export function trendPanels(table: Table, granularity: Granularity, context: PackContext): TrendPanel[] {
  const columns = context.columnsOf(table);
  const { words } = context;
  const { buckets, valuesOf } = tableBuckets(table, granularity);
  return valueColumns(columns).map((view) => {
    const { source, quantity } = view;
    const values = valuesOf(source.name);
    const plain = labelPoints(
      buckets.map((each, index) => ({ ...each, value: values[index] ?? null })),
      quantity,
      granularity,
      context,
    );
    const target = panelTarget(
      table,
      view,
      buckets.map(({ bucket }) => bucket),
      plain.map(({ value }) => value),
      granularity,
      context,
    );
    const points = plain.map((point, index) => {
      const limit = target?.values[index] ?? null;
      if (point.value === null || limit === null) return point;
      return { ...point, text: formatJudged(point.value, { target: limit }, quantity, context.locale) };
    });
    const description = describePoints(isolateBidi(source.label), points, context);
    return {
      column: source,
      label: source.label,
      quantity,
      points,
      ...(target === undefined ? {} : { target }),
      chart: panelChart(view, points, target, words.table.bucket[granularity], context),
      description: target === undefined ? description : words.pack.trendTarget(description, target.text),
    };
  });
}
