import type { Row, Table, Value } from '../../../../../fetch/dataset.ts';
import { firstRows } from '../../../../../fetch/rows.ts';
import { messagesFor } from '../../../../../i18n/messages.ts';
import { isFigureColumn, totalsDiffer, type ViewColumn } from '../../../../figures/columns.ts';
import { formatValue } from '../../../../figures/format-value.ts';
import { namedComparison } from '../../../../figures/raw-columns.ts';
import { totalHeading } from '../../../../table-notes.ts';
import type { Cell } from '../../package/sheet-rows.ts';
import { createDataStyles } from '../../style/data-styles.ts';
import { STYLES } from '../../style/styles.ts';
import { figureCell } from './cell-value.ts';
import { MAX_LABEL_WIDTH } from './column-width.ts';
import type { Grid } from './grid.ts';
import { withRunningNote } from './headings.ts';

/** Headings wrap, so that a dozen columns fit across a page. */
const VALUE_WIDTH = 14;

/** The heading of a transposed section's values: its bucket, or "Value". */
function valueHeading(columns: readonly ViewColumn[], row: Row | undefined, locale: string): string {
  const bucket = columns.find((column) => column.role === 'bucket');
  const words = messagesFor(locale);
  const heading =
    bucket === undefined || row === undefined
      ? words.workbook.section.value
      : formatValue(bucket.read(row), bucket.quantity, locale);
  return withRunningNote(heading, row?.partial ?? false, words);
}

/** The grid of a single row without groups, transposed: one row per metric. Totals only get columns if they differ. */
export function transposedGrid(table: Table, all: readonly ViewColumn[], locale: string): Grid {
  const columns = all.filter(isFigureColumn);
  const words = messagesFor(locale);
  const { section: texts } = words.workbook;
  const styleOf = createDataStyles(words, locale);
  const [row] = firstRows(table.rows, 1);
  const read = (column: ViewColumn): Value => (row === undefined ? null : column.read(row));
  const differs = totalsDiffer(columns, row);
  const { comparisons, toDate } = table;
  const options = { partial: row?.partial ?? false, total: false, unitInCell: true };
  const rows = columns
    .filter((column) => column.role === 'value')
    .map((value): Cell[] => {
      const figures = columns.filter((column) => column.source === value.source);
      const cells = figures.map((column) => figureCell(read(column), column, options, styleOf));
      const asTotal = { ...options, partial: table.running, total: true };
      const totals = differs ? figures.map((column) => figureCell(column.total ?? null, column, asTotal, styleOf)) : [];
      const text = {
        quantity: { kind: 'text' },
        secondary: false,
        total: false,
        partial: options.partial,
        unitInCell: false,
      } as const;
      return [{ value: value.header, style: styleOf(text, false) }, ...cells, ...totals];
    });
  const extraColumns: readonly { readonly text: string; readonly change?: true }[] = [
    ...comparisons.flatMap(({ kind }) => [
      { text: words.table.previousName[kind] },
      { text: texts.change(namedComparison(kind, comparisons)), change: true as const },
    ]),
    ...(toDate === undefined ? [] : [{ text: words.table.toDateName[toDate.unit] }]),
  ];
  const total = withRunningNote(totalHeading(table, words), table.running, words);
  const headings = [
    valueHeading(all, row, locale),
    ...extraColumns.map(({ text }) => text),
    ...(differs ? [total, ...extraColumns.map(({ text }) => `${total} · ${text}`)] : []),
  ];
  const formats = [undefined, ...extraColumns.map(({ change }) => (change ? ('change' as const) : undefined))];
  const shown = columns.flatMap((column) =>
    [read(column), column.total ?? null].map((value) => formatValue(value, column.quantity, locale).length),
  );
  const width = Math.max(VALUE_WIDTH, ...shown.map((length) => length + 5));
  const longest = columns.reduce((most, column) => Math.max(most, column.header.length), 0);
  return {
    widths: [Math.min(Math.max(longest + 2, 24), MAX_LABEL_WIDTH), ...headings.map(() => width)],
    labels: 1,
    header: [
      { value: texts.metric, style: STYLES.headerLabel },
      ...headings.map((value, index) => ({ value, style: index === 0 ? STYLES.headerValue : STYLES.headerSecondary })),
    ],
    headings: [texts.metric, ...headings],
    names: [texts.metric, ...headings],
    groups: [undefined, ...headings],
    rows,
    count: rows.length,
    showsTotals: differs,
    filters: [false, ...headings.map(() => false)],
    conditionalFormats: [undefined, ...formats, ...(differs ? formats : [])],
  };
}
