import { isolateBidi } from '../../base/text/bidi.ts';
import type { Dataset, Table, TableComparison } from '../../fetch/dataset.ts';
import { lacksCurrentCounts } from '../../fetch/notes.ts';
import { firstRows } from '../../fetch/rows.ts';
import { type Figures, shownFigures } from './change-text.ts';
import { isSingleRow, type ViewColumn, valueColumns, viewColumns } from './columns.ts';
import type { FewRules } from './few.ts';
import {
  areAmbiguous,
  distinctBy,
  type FigurePlace,
  figureKey,
  figurePlace,
  sharedFilters,
  TOTALS,
} from './figure-identity.ts';
import type { Boundaries } from './format-value.ts';
import { numberOrNull } from './quantity.ts';
import { figureScope } from './scope.ts';
import { findBoundaries, type ShownStatus, shownStatus, totalJudgement } from './status-text.ts';
import { rangeText, totalRange } from './usual-range.ts';

/**
 * The service's totals of a table, or the single row of a table without groups; undefined if it has neither. Never a
 * sum.
 */
export const findTotals = (table: Table): Figures | undefined =>
  table.totals ?? (isSingleRow(table) ? firstRows(table.rows, 1)[0] : undefined);

/** The total of one metric of a table. */
export interface TotalFigure {
  readonly table: Table;
  readonly view: ViewColumn;
  readonly figures: Figures;
  /** The comparisons of `table`. If several sections have the figure, also those of the others. */
  readonly comparisons: readonly TableComparison[];
  /** From `figureKey`. */
  readonly key: string;
  readonly place: FigurePlace;
  /** From `figureScope`; may be empty. */
  readonly scope: string;
  readonly value: number | null;
  /** The text for readers, with the unit, and with decimals that agree with its status and its changes. */
  readonly text: string;
  /** Absent without a target. */
  readonly judged?: ShownStatus & Boundaries;
  /** E.g. `usual 420–520`; absent if its history gives no range. */
  readonly usual?: string;
}

/** @param figures those of `table` */
export function totalFigure(
  dataset: Dataset,
  table: Table,
  figures: Figures,
  view: ViewColumn,
  locale: string,
  shared: ReadonlySet<string> = sharedFilters(dataset.tables),
): TotalFigure {
  const value = numberOrNull(figures.values[view.source.name]);
  const usual = totalRange(dataset, table, view.source, value, view.quantity);
  const judgement = totalJudgement(dataset.judgements, table.id, view.source.name);
  const boundaries = findBoundaries(dataset, judgement);
  const judged =
    judgement === undefined || boundaries === undefined ? undefined : { ...shownStatus(judgement), ...boundaries };
  return {
    table,
    view,
    figures,
    comparisons: table.comparisons,
    key: figureKey(table, view.source.name),
    place: figurePlace(dataset, table, shared),
    scope: figureScope(dataset, table, locale, TOTALS, shared),
    value,
    text: shownFigures(view, figures, { judged, few: dataset }, locale).text,
    ...(judged === undefined ? {} : { judged }),
    ...(usual === undefined ? {} : { usual: rangeText(usual, view.quantity, locale) }),
  };
}

/**
 * The totals of a table's metrics, in its order. Empty without totals, and if its current counts are undefined.
 * @param columns the table's; computing the default scans all rows
 */
export function totalFigures(
  dataset: Dataset,
  table: Table,
  locale: string,
  columns: readonly ViewColumn[] = viewColumns(table, locale),
): TotalFigure[] {
  const figures = lacksCurrentCounts(table) ? undefined : findTotals(table);
  if (figures === undefined) return [];
  const shared = sharedFilters(dataset.tables);
  return valueColumns(columns).map((view) => totalFigure(dataset, table, figures, view, locale, shared));
}

/**
 * Removes repeated figures: the one from the section with the most comparisons stays, with the comparisons and the
 * status of all.
 */
export const distinctFigures = (all: readonly TotalFigure[], locale: string, few: FewRules): TotalFigure[] =>
  distinctBy(all, (known, other) => {
    const [base, rest] = other.comparisons.length > known.comparisons.length ? [other, known] : [known, other];
    const more = rest.comparisons.filter(({ kind }) => base.comparisons.every((each) => each.kind !== kind));
    const { judged = rest.judged, usual = rest.usual } = base;
    if (more.length === 0 && judged === base.judged && usual === base.usual) return base;
    const figures = { ...base.figures, compare: { ...rest.figures.compare, ...base.figures.compare } };
    return {
      ...base,
      comparisons: [...base.comparisons, ...more],
      figures,
      text: shownFigures(base.view, figures, { judged, few }, locale).text,
      ...(judged === undefined ? {} : { judged }),
      ...(usual === undefined ? {} : { usual }),
    };
  });

/**
 * For each figure: the titles of its sections if another figure has the same label and scope, otherwise an empty list.
 */
export function distinguishingSections(figures: readonly TotalFigure[]): (readonly string[])[] {
  const ambiguous = areAmbiguous(figures.map(({ view, scope }) => JSON.stringify([view.source.label, scope])));
  return figures.map(({ table }, index) => (ambiguous[index] === true ? [isolateBidi(table.title)] : []));
}
