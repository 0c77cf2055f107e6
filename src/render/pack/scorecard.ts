import { isolateBidi } from '../../base/text/bidi.ts';
import type { ComparisonKind } from '../../definitions/schema/comparison.ts';
import type { MetricGroup, Table } from '../../fetch/dataset.ts';
import { findBetter } from '../figures/better.ts';
import { judgedChange, withCases } from '../figures/change-text.ts';
import { type ViewColumn, valueColumns } from '../figures/columns.ts';
import { fewText, isFewChange } from '../figures/few.ts';
import { TOTALS } from '../figures/figure-identity.ts';
import { formatTarget, unitLabel } from '../figures/format-value.ts';
import { changeIn, numberOrNull, type Quantity } from '../figures/quantity.ts';
import { figureScope } from '../figures/scope.ts';
import { packStatus } from '../figures/status-text.ts';
import { distinguishingSections, findTotals, type TotalFigure, totalFigure } from '../figures/total-figures.ts';
import type { ComparedFigure, PackFigure, Scorecard, ScorecardHeadings, ScorecardRow } from './pack.ts';
import { type PackContext, packFigure } from './pack-context.ts';
import { periodHeadings } from './period-headings.ts';
import { describePoints, scorecardTrend } from './trends/trend-points.ts';

/** Figures with or without a subheading. */
interface FigureGroup {
  readonly title: string | null;
  readonly figures: readonly TotalFigure[];
}

/** The quantity in which a change is shown beside figures of `quantity`. */
const changeQuantity = (kind: ComparedKind, quantity: Quantity, unit: string | null): Quantity =>
  kind === 'difference' ? { kind, unit, decimals: quantity.kind === 'amount' ? quantity.decimals : 0 } : { kind };
type ComparedKind = ReturnType<typeof changeIn>['kind'];

function comparedFigure(
  { table, view, figures, judged }: TotalFigure,
  kind: ComparisonKind,
  context: PackContext,
): ComparedFigure {
  const { source, quantity } = view;
  const compared = figures.compare?.[kind];
  const { value, kind: changed } = changeIn(source, figures.values, compared);
  const few = fewText(context.dataset, source, compared?.values[source.name], compared?.cases);
  const better = findBetter(context.dataset, table, source.name);
  const { text, tone, before, change } = judgedChange(
    view,
    figures,
    kind,
    better,
    { judged, few: context.dataset },
    context.locale,
  );
  return {
    value: numberOrNull(compared?.values[source.name]),
    quantity,
    text: before,
    ...(few === undefined ? {} : { few }),
    ...(isFewChange(context.dataset, source, figures, compared) ? { fewChange: true } : {}),
    kind,
    change: { value, quantity: changeQuantity(changed, quantity, source.unit), text: change.text },
    direction: change.direction,
    ...(change.size === undefined ? {} : { size: change.size }),
    ...(change.percentDecimals === undefined ? {} : { percentDecimals: change.percentDecimals }),
    tone,
    phrase: text,
  };
}

const withFew = (figure: PackFigure, few: string | undefined): PackFigure =>
  few === undefined ? figure : { ...figure, few };

function toDateFigure(figures: TotalFigure['figures'], { source, quantity }: ViewColumn, context: PackContext) {
  const figure = packFigure(numberOrNull(figures.toDate?.[source.name]), quantity, context);
  const few = fewText(context.dataset, source, figure.value, figures.toDateCases);
  return withFew({ ...figure, text: withCases(figure.text, few) }, few);
}

interface SharedColumns {
  readonly comparisons: readonly ComparisonKind[];
  readonly toDate: Scorecard['toDate'];
}

/** @param about section and scope, if the label alone would not say what the figure covers */
function scorecardRow(
  figure: TotalFigure,
  { comparisons, toDate }: SharedColumns,
  about: { readonly section: readonly string[]; readonly scope: string },
  context: PackContext,
): ScorecardRow {
  const { table, view, figures, value, text, judged, usual, comparisons: own } = figure;
  const { source, quantity } = view;
  const { words, locale } = context;
  const name = isolateBidi(source.label);
  const named = [...about.section, ...(about.scope === '' ? [] : [about.scope])];
  const trend = scorecardTrend(table, view, context, judged);
  return {
    section: table.id,
    column: source,
    label: named.length === 0 ? source.label : words.mail.named(name, named),
    scope: about.scope,
    unit: unitLabel(quantity, words) ?? '',
    figure: withFew({ value, quantity, text }, fewText(context.dataset, source, value, figures.cases)),
    compared: comparisons.map((kind) =>
      own.some((each) => each.kind === kind) ? comparedFigure(figure, kind, context) : undefined,
    ),
    ...(toDate === undefined || table.toDate?.unit !== toDate ? {} : { toDate: toDateFigure(figures, view, context) }),
    ...(judged === undefined
      ? {}
      : {
          target: { value: judged.target, quantity, text: formatTarget(judged.target, quantity, locale, [value]) },
          ...(judged.watch === undefined
            ? {}
            : {
                watch: judged.watch,
                watchText: words.status.watchLimit(formatTarget(judged.watch, quantity, locale, [value])),
              }),
          status: packStatus(judged, words),
        }),
    trend,
    ...(trend.length === 0 ? {} : { trendText: describePoints(name, trend, context) }),
    ...(usual === undefined ? {} : { usual }),
    running: table.running,
  };
}

function buildHeadings(
  tables: readonly Table[],
  { comparisons, toDate }: SharedColumns,
  rows: readonly ScorecardRow[],
  context: PackContext,
): ScorecardHeadings {
  const { words } = context;
  const { metric, target, status, trend } = words.pack.scorecard;
  const periods = periodHeadings(tables, context);
  const granularities = new Set(tables.flatMap((table) => table.trend?.granularity ?? []));
  const [granularity] = granularities;
  const only = comparisons.length === 1 && comparisons[0] === 'previous_period';
  return {
    metric,
    figure: periods.figure,
    compared: comparisons.map((kind) => ({
      figure: periods.compared(kind),
      change: words.workbook.section.change(only ? undefined : kind),
    })),
    toDate: toDate === undefined ? '' : words.table.toDateName[toDate],
    target,
    status,
    trend: trend(
      Math.max(0, ...rows.map((row) => row.trend.length)),
      granularities.size === 1 ? granularity : undefined,
    ),
  };
}

/** Builds a scorecard of these figures. Groups without figures are left out. */
export function buildScorecard(groups: readonly FigureGroup[], context: PackContext): Scorecard {
  const filled = groups.filter(({ figures }) => figures.length > 0);
  const figures = filled.flatMap((group) => group.figures);
  const tables = [...new Set(figures.map(({ table }) => table))];
  const shared: SharedColumns = {
    comparisons: [...new Set(figures.flatMap((figure) => figure.comparisons.map(({ kind }) => kind)))],
    toDate: tables.find(({ toDate }) => toDate !== undefined)?.toDate?.unit,
  };
  // A scorecard may be far from its section's facts, so it also names filters that all sections share.
  const formatScope = ({ table }: TotalFigure): string =>
    figureScope(context.dataset, table, context.locale, TOTALS, new Set());
  const scopes = new Set(figures.map(formatScope));
  const [firstScope = ''] = scopes;
  const scope = scopes.size === 1 ? firstScope : '';
  const sections = distinguishingSections(figures);
  const sectionOf = new Map(figures.map((figure, index) => [figure, sections[index] ?? []]));
  const rowGroups = filled.map((group) => ({
    title: group.title,
    rows: group.figures.map((figure) =>
      scorecardRow(
        figure,
        shared,
        {
          // A metric in two groups of one section is the same figure.
          section: tables.length > 1 ? (sectionOf.get(figure) ?? []) : [],
          scope: scope === '' ? formatScope(figure) : '',
        },
        context,
      ),
    ),
  }));
  const rows = rowGroups.flatMap((group) => group.rows);
  const granularity = tables.find(({ trend }) => trend !== undefined)?.trend?.granularity;
  return {
    scope,
    headings: buildHeadings(tables, shared, rows, context),
    comparisons: shared.comparisons,
    ...(shared.toDate === undefined ? {} : { toDate: shared.toDate }),
    hasTargets: rows.some(({ target }) => target !== undefined),
    hasRanges: rows.some(({ usual }) => usual !== undefined),
    ...(granularity === undefined || rows.every(({ trend }) => trend.length === 0) ? {} : { trend: granularity }),
    groups: rowGroups,
  };
}

/** The scorecard of one section: first its metrics without a group, then the groups. */
export function sectionScorecard(table: Table, context: PackContext): Scorecard {
  const { dataset, locale } = context;
  // Without a row every figure is undefined, but each metric still has its row.
  const figures = findTotals(table) ?? { values: {} };
  const all = valueColumns(context.columnsOf(table)).map((view) => totalFigure(dataset, table, figures, view, locale));
  const groups: readonly MetricGroup[] = table.layout?.kind === 'scorecard' ? table.layout.groups : [];
  const grouped = new Set(groups.flatMap(({ metrics }) => metrics));
  return buildScorecard(
    [
      { title: null, figures: all.filter(({ view }) => !grouped.has(view.source.name)) },
      ...groups.map(({ title, metrics }) => ({
        title,
        figures: metrics.flatMap((metric) => all.find(({ view }) => view.source.name === metric) ?? []),
      })),
    ],
    context,
  );
}
