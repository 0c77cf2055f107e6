import { isolateBidi } from '../../base/text/bidi.ts';
import type { Dataset, Table } from '../../fetch/dataset.ts';
import { lacksCurrentCounts } from '../../fetch/notes.ts';
import { firstRows } from '../../fetch/rows.ts';
import { type Figures, shownFigures } from './change-text.ts';
import { isSingleRow, type ViewColumn, valueColumns, viewColumns } from './columns.ts';
import type { Boundaries } from './format-value.ts';
import { figureScope } from './scope.ts';
import { boundariesOf, type ShownStatus, totalJudgement } from './status-text.ts';

/** The service's totals of a table, or the single row of one without groups; undefined if it has neither. Never a sum. */
export const totalsOf = (table: Table): Figures | undefined =>
  table.totals ?? (isSingleRow(table) ? firstRows(table.rows, 1)[0] : undefined);

/** The total of one metric of a table. */
export interface TotalFigure {
  readonly table: Table;
  readonly view: ViewColumn;
  readonly figures: Figures;
  /** From `figureScope`; may be empty. */
  readonly scope: string;
  readonly value: number | null;
  /** For readers, with its unit, and the decimals that agree with its status and its changes. */
  readonly text: string;
  /** Absent without a target. */
  readonly judged?: ShownStatus & Boundaries;
}

/** @param figures of `table` */
export function totalFigure(
  dataset: Dataset,
  table: Table,
  figures: Figures,
  view: ViewColumn,
  locale: string,
): TotalFigure {
  const found = figures.values[view.source.name];
  const value = typeof found === 'number' ? found : null;
  const judgement = totalJudgement(dataset.judgements, table.id, view.source.name);
  const boundaries = boundariesOf(dataset, judgement);
  const judged =
    judgement === undefined || boundaries === undefined
      ? undefined
      : { status: judgement.status, ...boundaries, ...(judgement.soFar && { soFar: judgement.soFar }) };
  return {
    table,
    view,
    figures,
    scope: figureScope(dataset, table, locale),
    value,
    text: shownFigures(view, figures, { judged }, locale).text,
    ...(judged === undefined ? {} : { judged }),
  };
}

/**
 * The totals of a table's metrics, in its order; empty without totals, or where its current counts are undefined.
 * @param columns the table's; computing the default scans all rows
 */
export function totalFigures(
  dataset: Dataset,
  table: Table,
  locale: string,
  columns: readonly ViewColumn[] = viewColumns(table, locale),
): TotalFigure[] {
  const figures = lacksCurrentCounts(table) ? undefined : totalsOf(table);
  if (figures === undefined) return [];
  return valueColumns(columns).map((view) => totalFigure(dataset, table, figures, view, locale));
}

/** Equal for the same figure in several sections. */
const keyOf = ({ table: { current, range, filters }, view, value, judged }: TotalFigure): string =>
  JSON.stringify([current, range, filters, view.source.name, value, judged]);

/** Each figure once: of one in several sections that with the most comparisons, in place of the first. */
export function distinctFigures(figures: readonly TotalFigure[]): TotalFigure[] {
  const richest = new Map<string, TotalFigure>();
  for (const figure of figures) {
    const key = keyOf(figure);
    const known = richest.get(key);
    if (known === undefined || figure.table.comparisons.length > known.table.comparisons.length)
      richest.set(key, figure);
  }
  return [...richest.values()];
}

/** The titles of the sections of figures that share label and scope with another one; one list per figure, else empty. */
export function distinguishingSections(figures: readonly TotalFigure[]): (readonly string[])[] {
  const nameOf = ({ view, scope }: TotalFigure) => JSON.stringify([view.source.label, scope]);
  const occurrences = new Map<string, number>();
  for (const figure of figures) occurrences.set(nameOf(figure), (occurrences.get(nameOf(figure)) ?? 0) + 1);
  return figures.map((figure) => ((occurrences.get(nameOf(figure)) ?? 0) > 1 ? [isolateBidi(figure.table.title)] : []));
}
