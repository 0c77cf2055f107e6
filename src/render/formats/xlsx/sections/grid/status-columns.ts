import type { Dataset, Judgement, Table } from '../../../../../fetch/dataset.ts';
import type { Words } from '../../../../../i18n/messages.ts';
import { isTransposed, type ViewColumn } from '../../../../figures/columns.ts';
import { targetDecimals } from '../../../../figures/format-value.ts';
import type { Quantity } from '../../../../figures/quantity.ts';
import {
  judgementsByMetric,
  type MetricJudgements,
  selectColour,
  statusText,
} from '../../../../figures/status-text.ts';
import type { Cell } from '../../package/sheet-rows.ts';
import { createDataStyles } from '../../style/data-styles.ts';
import { STATUS_STYLES, STYLES } from '../../style/styles.ts';
import { toCellValue } from './cell-value.ts';
import type { Grid } from './grid.ts';
import { shownAs } from './headings.ts';
import { createJudgedCells, type JudgedCells, mappedRows } from './judged-cells.ts';

const STATUS_WIDTH = 14;
const MAX_STATUS_WIDTH = 42;
const EMPTY: Cell = { value: null, style: STYLES.cellText };

const statusCell = (judgement: Judgement | undefined, words: Words): Cell =>
  judgement === undefined
    ? EMPTY
    : { value: statusText(judgement, words), style: STATUS_STYLES[selectColour(judgement)] };

/** A column of statuses, and its position. */
interface StatusColumn extends MetricJudgements {
  readonly quantity: Quantity | undefined;
  /** Index of the column before it. */
  readonly after: number;
  /** Indices of the columns with figures that it is compared with. */
  readonly earlier: readonly number[];
  readonly header: string;
}

function statusColumns(
  table: Table,
  columns: readonly ViewColumn[],
  judgements: readonly Judgement[],
  words: Words,
): StatusColumn[] {
  const taken = new Set(columns.map(({ header }) => header.toLowerCase()));
  return [...judgementsByMetric(table, judgements)].map(([metric, judged]) => {
    // The status comes after the judged figure, before those that it is compared with.
    const after = columns.findIndex(({ role, source }) => role === 'value' && source.name === metric);
    const plain = words.status.header(columns[after]?.source.label ?? metric);
    const header = taken.has(plain.toLowerCase()) ? `${plain} [${metric}]` : plain;
    taken.add(header.toLowerCase());
    const earlier = columns.flatMap(({ role, source }, index) =>
      role === 'previous' && source.name === metric ? [index] : [],
    );
    return { after, earlier, header, quantity: columns[after]?.quantity, ...judged };
  });
}

/** Inserts an entry after each entry that a status column follows. */
const withInserted = <Entry>(
  entries: readonly Entry[],
  columns: readonly StatusColumn[],
  make: (column: StatusColumn) => Entry,
): Entry[] =>
  entries.flatMap((entry, index) => [
    entry,
    ...columns.filter(({ after }) => after === index).map((each) => make(each)),
  ]);

/** Replaces the cells of judged figures. */
function judge(
  cells: Cell[],
  columns: readonly StatusColumn[],
  judgementOf: (column: StatusColumn) => Judgement | undefined,
  judged: JudgedCells,
): void {
  for (const column of columns) {
    const { after, earlier, quantity } = column;
    if (quantity === undefined) continue;
    const judgement = judgementOf(column);
    const replace = (index: number, cellOf: JudgedCells['figure']): void => {
      const cell = cells[index];
      if (cell !== undefined) cells[index] = cellOf(cell, judgement, quantity);
    };
    replace(after, judged.figure);
    for (const index of earlier) replace(index, judged.earlier);
  }
}

/**
 * The target's cell, with the decimals that texts show.
 * @param figure the figure that is judged by it
 */
function buildTargetCell(
  target: number,
  figure: number | null,
  quantity: Quantity,
  styleOf: ReturnType<typeof createDataStyles>,
): Cell {
  const decimals = targetDecimals(target, quantity, [figure]);
  const style = { quantity, secondary: false, partial: false, total: false, unitInCell: true };
  return {
    value: toCellValue(target, quantity),
    style: styleOf(decimals === undefined ? style : { ...style, rounding: { decimals } }, false),
  };
}

/** Adds a target and a status per metric, beside the figure that is judged: the total, if there is one. */
function withTransposedStatuses(
  grid: Grid,
  columns: readonly ViewColumn[],
  { targets = [], judgements = [] }: Pick<Dataset, 'targets' | 'judgements'>,
  words: Words,
  locale: string,
): Grid {
  const styleOf = createDataStyles(words, locale);
  const judgedCells = createJudgedCells(targets);
  const metrics = columns.filter(({ role }) => role === 'value');
  const figures = grid.header.length - grid.labels;
  const figure = grid.showsTotals ? grid.labels + figures / 2 : grid.labels;
  const inserted = <Entry>(entries: readonly Entry[], ...added: readonly Entry[]): Entry[] => [
    ...entries.slice(0, figure + 1),
    ...added,
    ...entries.slice(figure + 1),
  ];
  const heading = (value: string): Cell => ({ value, style: STYLES.headerIndented });
  return {
    ...grid,
    widths: inserted(grid.widths, STATUS_WIDTH, STATUS_WIDTH),
    header: inserted(
      grid.header,
      { value: words.status.targetColumn, style: STYLES.headerSecondary },
      heading(words.status.column),
    ),
    headings: inserted(grid.headings, words.status.targetColumn, words.status.column),
    names: inserted(grid.names, words.status.targetColumn, words.status.column),
    groups: inserted(grid.groups, words.status.targetColumn, words.status.column),
    rows: [...grid.rows].map((cells, index) => {
      const view = metrics[index];
      const judged = judgements.filter(({ metric }) => metric === view?.source.name);
      const judgement = judged.find(({ bucket }) => bucket === null) ?? judged[0];
      const target = judgement === undefined ? null : (targets[judgement.target]?.target ?? null);
      const targetCell =
        target === null || view === undefined
          ? EMPTY
          : buildTargetCell(target, judgement?.figure ?? null, view.quantity, styleOf);
      // The figures that belong to the judged one, in the row or in the totals.
      const own = columns.filter(({ role, source }) => role !== 'label' && source === view?.source);
      const shown = cells.map((cell, at) => {
        if (view === undefined || at < figure) return cell;
        if (at === figure) return judgedCells.figure(cell, judgement, view.quantity);
        return own[at - figure]?.role === 'previous' ? judgedCells.earlier(cell, judgement, view.quantity) : cell;
      });
      return inserted(shown, targetCell, statusCell(judgement, words));
    }),
    filters: inserted(grid.filters, false, false),
    conditionalFormats: inserted(grid.conditionalFormats, undefined, undefined),
  };
}

/** Adds a column of statuses beside each metric that is judged. */
export function withStatuses(
  grid: Grid,
  dataset: Pick<Dataset, 'targets' | 'judgements'>,
  table: Table,
  columns: readonly ViewColumn[],
  words: Words,
  locale: string,
): Grid {
  if (dataset.targets === undefined || dataset.targets.length === 0) return grid;
  const judgements = (dataset.judgements ?? []).filter(({ section }) => section === table.id);
  if (isTransposed(table, columns)) {
    return judgements.length === 0
      ? grid
      : withTransposedStatuses(grid, columns, { targets: dataset.targets, judgements }, words, locale);
  }
  const added = statusColumns(table, columns, judgements, words);
  if (added.length === 0) return grid;
  const { over } = grid;
  const judgedCells = createJudgedCells(dataset.targets);
  const totals = grid.totals === undefined ? undefined : [...grid.totals];
  if (totals !== undefined) judge(totals, added, ({ ofTotals }) => ofTotals, judgedCells);
  // Below its metric, the column's heading need not repeat the name.
  const selectHeading = ({ after, header }: StatusColumn): string =>
    over?.[after] === undefined ? header : words.status.column;
  return {
    ...grid,
    widths: withInserted(grid.widths, added, (each) =>
      Math.min(Math.max(STATUS_WIDTH, Math.ceil(selectHeading(each).length / 2) + 2), MAX_STATUS_WIDTH),
    ),
    header: withInserted(grid.header, added, (each) => {
      const heading = selectHeading(each);
      const style = STYLES.headerIndented;
      return { value: each.header, style: heading === each.header ? style : shownAs(style, heading) };
    }),
    headings: withInserted(grid.headings, added, selectHeading),
    names: withInserted(grid.names, added, ({ header }) => header),
    ...(over === undefined ? {} : { over: withInserted(over, added, ({ after }) => over[after]) }),
    groups: withInserted(grid.groups, added, ({ after }) => grid.groups[after]),
    rows: mappedRows(grid, table, (cells, row) => {
      const judged = [...cells];
      if (row !== undefined) judge(judged, added, ({ ofRow }) => ofRow(row), judgedCells);
      return withInserted(judged, added, (column) =>
        row === undefined ? EMPTY : statusCell(column.ofRow(row), words),
      );
    }),
    ...(totals === undefined
      ? {}
      : { totals: withInserted(totals, added, ({ ofTotals }) => statusCell(ofTotals, words)) }),
    filters: withInserted(grid.filters, added, () => grid.count > 0),
    conditionalFormats: withInserted(grid.conditionalFormats, added, () => undefined),
  };
}
