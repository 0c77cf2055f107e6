import type { Judgement, Row, Table, Value } from '../../fetch/dataset.ts';
import type { ViewColumn } from '../figures/columns.ts';
import { formatJudged } from '../figures/format-value.ts';
import { changeIsGood } from '../figures/judge.ts';
import { changeIn } from '../figures/quantity.ts';
import { boundariesOf, judgementsByMetric, packStatus } from '../figures/status-text.ts';
import type { PackCell, SectionCells } from './pack.ts';
import type { PackContext } from './pack-context.ts';

/** The cells of a section's table. */
export function sectionCells(context: PackContext, table: Table): SectionCells {
  const { dataset, locale, words, format } = context;
  const judgements = judgementsByMetric(
    table,
    (dataset.judgements ?? []).filter(({ section }) => section === table.id),
  );
  const cell = (
    view: ViewColumn,
    value: Value,
    figures: Pick<Row, 'values' | 'compare'> | undefined,
    judgement: Judgement | undefined,
  ): PackCell => {
    const { quantity, source, role, comparison } = view;
    const boundaries = boundariesOf(dataset, judgement);
    const change =
      role === 'change' && comparison !== undefined && figures !== undefined
        ? changeIn(source, figures.values, figures.compare?.[comparison])
        : undefined;
    const good = change === undefined ? undefined : changeIsGood(context.betterOf(source.name), change.direction);
    return {
      value,
      text:
        typeof value === 'number' && boundaries !== undefined
          ? formatJudged(value, boundaries, quantity, locale)
          : format(value, quantity),
      tone: good === undefined ? '' : good ? 'better' : 'worse',
      ...(judgement === undefined ? {} : { status: packStatus(judgement, words) }),
    };
  };
  const judgementsOf = (view: ViewColumn) => (view.role === 'value' ? judgements.get(view.source.name) : undefined);
  return {
    ofRow: (view, row) => cell(view, view.read(row), row, judgementsOf(view)?.ofRow(row)),
    ofTotals: (view) =>
      view.total === undefined ? undefined : cell(view, view.total, table.totals, judgementsOf(view)?.ofTotals),
    judged: new Set(judgements.keys()),
  };
}
