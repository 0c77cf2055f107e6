import type { Table } from '../../fetch/dataset.ts';
import { isFigureColumn, type ViewColumn } from '../figures/columns.ts';
import { unitLabel } from '../figures/format-value.ts';
import { namedComparison } from '../figures/raw-columns.ts';
import type { ColumnBlock, ColumnGroup } from './pack.ts';
import type { PackContext } from './pack-context.ts';
import { periodHeadings } from './period-headings.ts';

/** The most columns of figures side by side on a page. */
export const MAX_FIGURE_COLUMNS = 9;
/** The most rows that a page can show side by side, as columns. */
const MAX_TRANSPOSED_ROWS = 6;

/**
 * Separates key columns from figures. In a list only the first field is a key. The ISO week is left out, because the
 * text of its bucket has it.
 */
function splitKeys(columns: readonly ViewColumn[]): {
  readonly keys: readonly ViewColumn[];
  readonly others: readonly ViewColumn[];
} {
  const shown = columns.filter(({ role }) => role !== 'week');
  const isKey = (column: ViewColumn, index: number): boolean =>
    column.source.kind === 'field' ? index === 0 : !isFigureColumn(column);
  return { keys: shown.filter(isKey), others: shown.filter((column, index) => !isKey(column, index)) };
}

/** The text below the metric in a heading with two levels. */
function subheading(view: ViewColumn, table: Table, context: PackContext): string {
  const { words } = context;
  const { role, comparison } = view;
  // The figures in a row with a bucket do not cover the table's range.
  const periods = periodHeadings(table.granularity === null ? [table] : [], context);
  if (role === 'previous' && comparison !== undefined) return periods.compared(comparison);
  if (role === 'change' && comparison !== undefined) {
    const named = namedComparison(comparison, table.comparisons);
    return words.workbook.section.change(named);
  }
  if (role === 'to_date' && table.toDate !== undefined) return words.table.toDateName[table.toDate.unit];
  return table.granularity === null ? periods.figure : words.pack.value;
}

/**
 * The name of a column without a heading above it. A compared figure is named by its metric's label and the period of
 * its heading.
 */
function formatColumnName(view: ViewColumn, value: ViewColumn, table: Table, context: PackContext): string {
  const { role, comparison, header, source, quantity } = view;
  // Each cell shows whether it is a percentage or, with few cases, a difference.
  if (role === 'change' && comparison !== undefined && quantity.kind === 'relative')
    return context.words.table.change(source.label, namedComparison(comparison, table.comparisons));
  if (role !== 'previous' || comparison === undefined) return header;
  const period = subheading(view, table, context);
  return period === context.words.table.previousName[comparison] ? header : `${value.header}, ${period}`;
}

function formatTitle({ source, quantity }: ViewColumn, { words }: PackContext): string {
  const unit = unitLabel(quantity, words);
  return unit === undefined ? source.label : `${source.label} (${unit})`;
}

/** Groups the figures of each metric. A metric without comparisons has no second heading. */
function figureGroups(table: Table, others: readonly ViewColumn[], context: PackContext): ColumnGroup[] {
  const groups = new Map<string, ViewColumn[]>();
  for (const column of others) {
    const known = groups.get(column.source.name);
    if (known === undefined) groups.set(column.source.name, [column]);
    else known.push(column);
  }
  return [...groups.values()].map((columns) => {
    const [first] = columns;
    return first === undefined || columns.length === 1
      ? {
          title: null,
          columns,
          headings: columns.map(({ header }) => header),
          names: columns.map(({ header }) => header),
        }
      : {
          title: formatTitle(first, context),
          columns,
          headings: columns.map((column) => subheading(column, table, context)),
          names: columns.map((column) => formatColumnName(column, first, table, context)),
        };
  });
}

/** Fills blocks of at most `limit` columns, in order. A larger group is a block of its own. */
function fillBlocks(groups: readonly ColumnGroup[], limit: number): ColumnGroup[][] {
  const blocks: ColumnGroup[][] = [[]];
  let size = 0;
  for (const group of groups) {
    if (size > 0 && size + group.columns.length > limit) {
      blocks.push([]);
      size = 0;
    }
    blocks.at(-1)?.push(group);
    size += group.columns.length;
  }
  return blocks;
}

/**
 * The columns of a table in blocks of at most nine figures, each with the key columns. There are as few blocks as
 * possible, of about equal size, and the figures of a metric stay together. Without columns there is no block.
 */
export function columnBlocks(table: Table, context: PackContext): ColumnBlock[] {
  const columns = context.columnsOf(table);
  if (columns.length === 0) return [];
  const { keys, others } = splitKeys(columns);
  const groups = figureGroups(table, others, context);
  const fewest = fillBlocks(groups, MAX_FIGURE_COLUMNS);
  // The smallest limit that needs no more blocks: 6 and 6 columns instead of 9 and 3.
  let limit = Math.max(1, Math.ceil(others.length / fewest.length));
  while (limit < MAX_FIGURE_COLUMNS && fillBlocks(groups, limit).length > fewest.length) limit += 1;
  return fillBlocks(groups, limit).map((block) => ({ keys, groups: block }));
}

/** Whether a page shows the figures of a table as rows. It does for few rows with many figures. */
export const isTransposedOnPages = ({ rows }: Table, columns: readonly ViewColumn[]): boolean =>
  rows.length > 0 && rows.length <= MAX_TRANSPOSED_ROWS && columns.filter(isFigureColumn).length > MAX_FIGURE_COLUMNS;
