import type { Dataset, Judgement, Table } from '../../../../../fetch/dataset.ts';
import { iterateRows } from '../../../../../fetch/rows.ts';
import type { Words } from '../../../../../i18n/messages.ts';
import { isTransposed, type ViewColumn } from '../../../../figures/columns.ts';
import { judgedDecimals, targetDecimals } from '../../../../figures/format-value.ts';
import { betterOfRow } from '../../../../figures/judge.ts';
import type { Quantity } from '../../../../figures/quantity.ts';
import {
  boundariesOf,
  colourOf,
  judgementsByMetric,
  type MetricJudgements,
  statusText,
} from '../../../../figures/status-text.ts';
import type { ConditionalFormat } from '../../package/conditional-formatting.ts';
import type { Cell } from '../../package/sheet-rows.ts';
import { createDataStyles } from '../../style/data-styles.ts';
import { quantityNumberFormat, suffixOf } from '../../style/number-formats.ts';
import { type CellStyle, STATUS_STYLES, STYLES } from '../../style/styles.ts';
import { toCellValue } from './cell-value.ts';
import type { Grid } from './grid.ts';
import { shownAs } from './headings.ts';

const STATUS_WIDTH = 14;
const MAX_STATUS_WIDTH = 42;
const EMPTY: Cell = { value: null, style: STYLES.cellText };

const statusCell = (judgement: Judgement | undefined, words: Words): Cell =>
  judgement === undefined ? EMPTY : { value: statusText(judgement, words), style: STATUS_STYLES[colourOf(judgement)] };

/** The cell of a judged figure with enough decimals to agree with its status, as texts have them. */
type JudgedCell = (cell: Cell, judgement: Judgement | undefined, quantity: Quantity) => Cell;

function createJudgedCells(targets: Dataset['targets'] = []): JudgedCell {
  const styles = new Map<CellStyle, Map<string, CellStyle>>();
  return (cell, judgement, quantity) => {
    const boundaries = boundariesOf({ targets }, judgement);
    const figure = judgement?.figure ?? null;
    const decimals =
      boundaries === undefined || figure === null ? undefined : judgedDecimals(figure, boundaries, quantity);
    if (decimals === undefined) return cell;
    const numFmt = `${quantityNumberFormat(quantity, decimals)}${suffixOf(cell.style.numFmt)}`;
    const known = styles.get(cell.style) ?? new Map<string, CellStyle>();
    styles.set(cell.style, known);
    const style = known.get(numFmt) ?? { ...cell.style, numFmt };
    known.set(numFmt, style);
    return { ...cell, style };
  };
}

/** A column of statuses, and where it goes. */
interface StatusColumn extends MetricJudgements {
  readonly quantity: Quantity | undefined;
  /** Index of the column before it. */
  readonly after: number;
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
    // Beside the figure that is judged, before those that it is compared with.
    const after = columns.findIndex(({ role, source }) => role === 'value' && source.name === metric);
    const plain = words.status.header(columns[after]?.source.label ?? metric);
    const header = taken.has(plain.toLowerCase()) ? `${plain} [${metric}]` : plain;
    taken.add(header.toLowerCase());
    return { after, header, quantity: columns[after]?.quantity, ...judged };
  });
}

/** The entries with one more after those that a status column follows. */
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
  judgedCell: JudgedCell,
): void {
  for (const column of columns) {
    const cell = cells[column.after];
    if (cell !== undefined && column.quantity !== undefined)
      cells[column.after] = judgedCell(cell, judgementOf(column), column.quantity);
  }
}

function* withRowStatuses(
  grid: Grid,
  table: Table,
  columns: readonly StatusColumn[],
  words: Words,
  judgedCell: JudgedCell,
): Iterable<readonly Cell[]> {
  const rows = iterateRows(table.rows)[Symbol.iterator]();
  try {
    for (const cells of grid.rows) {
      const { value: row, done } = rows.next();
      const judged = [...cells];
      if (!done) judge(judged, columns, ({ ofRow }) => ofRow(row), judgedCell);
      yield withInserted(judged, columns, (column) => (done ? EMPTY : statusCell(column.ofRow(row), words)));
    }
  } finally {
    rows.return?.();
  }
}

/** With the decimals of the target that texts show. @param figure that is judged by it */
function targetCellOf(
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

/** One target and status per metric, beside the figure that is judged: the total where there is one. */
function withTransposedStatuses(
  grid: Grid,
  columns: readonly ViewColumn[],
  { targets = [], judgements = [] }: Pick<Dataset, 'targets' | 'judgements'>,
  words: Words,
  locale: string,
): Grid {
  const styleOf = createDataStyles(words, locale);
  const judgedCell = createJudgedCells(targets);
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
          : targetCellOf(target, judgement?.figure ?? null, view.quantity, styleOf);
      const judgedCells = cells.map((cell, at) =>
        at === figure && view !== undefined ? judgedCell(cell, judgement, view.quantity) : cell,
      );
      return inserted(judgedCells, targetCell, statusCell(judgement, words));
    }),
    filters: inserted(grid.filters, false, false),
    conditionalFormats: inserted(grid.conditionalFormats, undefined, undefined),
  };
}

/**
 * Adds a column of statuses beside each metric that is judged, and colours the changes of metrics of which one direction
 * is better.
 */
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
  const kindOf = (metric: string): ConditionalFormat['kind'] => {
    // One format for a column: rows of groups only where all of them are coloured.
    const better = betterOfRow(dataset, table, metric, {});
    return better === undefined ? 'change' : `change_${better}`;
  };
  if (isTransposed(table, columns)) {
    const coloured = {
      ...grid,
      rowChanges: columns.filter(({ role }) => role === 'value').map(({ source }) => kindOf(source.name)),
    };
    return judgements.length === 0
      ? coloured
      : withTransposedStatuses(coloured, columns, { targets: dataset.targets, judgements }, words, locale);
  }
  const coloured = grid.conditionalFormats.map((kind, index) => {
    const column = columns[index];
    return kind === 'change' && column !== undefined ? kindOf(column.source.name) : kind;
  });
  const added = statusColumns(table, columns, judgements, words);
  if (added.length === 0) return { ...grid, conditionalFormats: coloured };
  const { over } = grid;
  const judgedCell = createJudgedCells(dataset.targets);
  const totals = grid.totals === undefined ? undefined : [...grid.totals];
  if (totals !== undefined) judge(totals, added, ({ ofTotals }) => ofTotals, judgedCell);
  // Below its metric the column needs no name of it.
  const headingOf = ({ after, header }: StatusColumn): string =>
    over?.[after] === undefined ? header : words.status.column;
  return {
    ...grid,
    widths: withInserted(grid.widths, added, (each) =>
      Math.min(Math.max(STATUS_WIDTH, Math.ceil(headingOf(each).length / 2) + 2), MAX_STATUS_WIDTH),
    ),
    header: withInserted(grid.header, added, (each) => {
      const heading = headingOf(each);
      const style = STYLES.headerIndented;
      return { value: each.header, style: heading === each.header ? style : shownAs(style, heading) };
    }),
    headings: withInserted(grid.headings, added, headingOf),
    names: withInserted(grid.names, added, ({ header }) => header),
    ...(over === undefined ? {} : { over: withInserted(over, added, ({ after }) => over[after]) }),
    groups: withInserted(grid.groups, added, ({ after }) => grid.groups[after]),
    rows: { [Symbol.iterator]: () => withRowStatuses(grid, table, added, words, judgedCell)[Symbol.iterator]() },
    ...(totals === undefined
      ? {}
      : { totals: withInserted(totals, added, ({ ofTotals }) => statusCell(ofTotals, words)) }),
    filters: withInserted(grid.filters, added, () => grid.count > 0),
    conditionalFormats: withInserted(coloured, added, () => undefined),
  };
}
