import type { Better } from '../../definitions/schema/targets.ts';
import type { Judgement, Table, Value } from '../../fetch/dataset.ts';
import { someRow } from '../../fetch/rows.ts';
import { betterOfRow, findBetter } from '../figures/better.ts';
import { type FigureContext, type Figures, judgedChange, shownFigures, withCases } from '../figures/change-text.ts';
import { type ViewColumn, valueColumns } from '../figures/columns.ts';
import { casesBehind, fewText, isFewChange } from '../figures/few.ts';
import { judgedDecimals } from '../figures/format-value.ts';
import { findBoundaries, judgementsByMetric, packStatus } from '../figures/status-text.ts';
import { isLong } from '../table-notes.ts';
import type { PackCell, SectionCells } from './pack.ts';
import type { PackContext } from './pack-context.ts';

/** The decimals of each metric's figures in a long table: the same for the whole column. */
function columnDecimals(table: Table, judgements: readonly Judgement[], context: PackContext): Map<string, number> {
  const columns = context.columnsOf(table);
  return new Map(
    valueColumns(columns).map(({ source: { name }, quantity }) => {
      const judged = judgements.flatMap((judgement) => {
        const boundaries = findBoundaries(context.dataset, judgement);
        if (judgement.metric !== name || boundaries === undefined || judgement.figure === null) return [];
        return judgedDecimals(judgement.figure, boundaries, quantity) ?? [];
      });
      const own = columns.filter(({ role, source }) => source.name === name && ['value', 'previous'].includes(role));
      return [name, Math.max(...own.map(({ decimals }) => decimals), ...judged)];
    }),
  );
}

/**
 * All that decides how the figures of a table are shown: their statuses, few cases, and the decimals of a long table.
 */
export function buildFigureContexts(context: PackContext, table: Table) {
  const { dataset } = context;
  const own = (dataset.judgements ?? []).filter(({ section }) => section === table.id);
  const long = isLong(table) ? columnDecimals(table, own, context) : undefined;
  const judgements = judgementsByMetric(table, own);
  const buildPlainContext = (metric: string, judgement: Judgement | undefined): FigureContext => {
    const decimals = long?.get(metric);
    const judged = findBoundaries(dataset, judgement);
    return { judged, few: dataset, ...(decimals === undefined ? {} : { columnDecimals: decimals }) };
  };
  const differences = new Map<string, boolean>();
  /**
   * Whether a change of a duration is not a percentage in any row with enough cases. Then the whole column shows
   * differences.
   */
  const hasDifferences = (view: ViewColumn): boolean => {
    const { name, unit } = view.source;
    if (unit !== 'seconds' || table.comparisons.length === 0) return false;
    const isPercentage = (figures: Figures, judgement: Judgement | undefined): boolean =>
      table.comparisons.every(({ kind }) => {
        if (isFewChange(dataset, view.source, figures, figures.compare?.[kind])) return true;
        const { change } = judgedChange(
          view,
          figures,
          kind,
          undefined,
          buildPlainContext(name, judgement),
          context.locale,
        );
        return change.direction === null || change.direction === 'same' || /\d\s*%$/.test(change.text);
      });
    const find = (): boolean =>
      someRow(table.rows, (row) => !isPercentage(row, judgements.get(name)?.ofRow(row))) ||
      (table.totals !== undefined && !isPercentage(table.totals, judgements.get(name)?.ofTotals));
    const found = differences.get(name) ?? find();
    differences.set(name, found);
    return found;
  };
  return {
    judgements,
    besideOf: (view: ViewColumn, judgement: Judgement | undefined): FigureContext => ({
      ...buildPlainContext(view.source.name, judgement),
      differences: hasDifferences(view),
    }),
  };
}

/** The cells of a section's table. */
export function sectionCells(context: PackContext, table: Table): SectionCells {
  const { dataset, locale, words, format } = context;
  const { judgements, besideOf } = buildFigureContexts(context, table);
  const values = new Map(valueColumns(context.columnsOf(table)).map((view) => [view.source.name, view]));
  const formatText = (
    view: ViewColumn,
    value: Value,
    figures: Figures | undefined,
    figureContext: FigureContext,
  ): string => {
    const { quantity, source } = view;
    const figure = values.get(source.name);
    if (figure === undefined || figures === undefined || typeof value !== 'number') return format(value, quantity);
    if (view.role === 'value') return shownFigures(figure, figures, figureContext, locale).text;
    const text =
      view.role === 'previous'
        ? shownFigures(figure, figures, figureContext, locale).textOf(value)
        : format(value, quantity);
    return withCases(text, fewText(dataset, source, value, casesBehind(view, figures)));
  };
  const cell = (
    view: ViewColumn,
    value: Value,
    figures: Figures | undefined,
    judgement: Judgement | undefined,
    better: (metric: string) => Better | undefined,
  ): PackCell => {
    const { source, role, comparison } = view;
    const figure = values.get(source.name);
    const figureContext = besideOf(figure ?? view, judgement);
    if (role === 'change' && comparison !== undefined && figures !== undefined && figure !== undefined) {
      const { change, tone } = judgedChange(figure, figures, comparison, better(source.name), figureContext, locale);
      return { value, text: change.text, direction: change.direction, tone };
    }
    return {
      value,
      text: formatText(view, value, figures, figureContext),
      tone: '',
      ...(fewText(dataset, source, value, casesBehind(view, figures)) === undefined ? {} : { few: true }),
      ...(judgement === undefined || role !== 'value' ? {} : { status: packStatus(judgement, words) }),
    };
  };
  const judgementsOf = ({ role, source }: ViewColumn) => (role === 'label' ? undefined : judgements.get(source.name));
  return {
    ofRow: (view, row) =>
      cell(view, view.read(row), row, judgementsOf(view)?.ofRow(row), (metric) =>
        betterOfRow(dataset, table, metric, row.values),
      ),
    ofTotals: (view) =>
      view.total === undefined
        ? undefined
        : cell(view, view.total, table.totals, judgementsOf(view)?.ofTotals, (metric) =>
            findBetter(dataset, table, metric),
          ),
    judged: new Set(judgements.keys()),
  };
}
