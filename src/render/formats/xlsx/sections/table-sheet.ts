import { isolateBidi } from '../../../../base/text/bidi.ts';
import type { Words } from '../../../../i18n/messages.ts';
import type { SectionOf } from '../../../pack/pack.ts';
import { chartDrawings } from '../charts/chart-placement.ts';
import type { SheetWriter } from '../package/sheet-writer.ts';
import type { WorkbookFile } from '../package/workbook-writer.ts';
import { COLOURS } from '../style/styles.ts';
import {
  buildFooter,
  FIRST_PRINTED_ROW,
  LINK_POINTS,
  type WorkbookContext,
  writeSheetHeading,
} from '../workbook-context.ts';
import type { Grid } from './grid/grid.ts';
import { headerRows, writeGrid } from './grid/grid-rows.ts';
import { buildHeadings, withPeriodHeadings } from './grid/headings.ts';
import { sectionGrid } from './grid/section-grid.ts';
import type { PrintedCopy } from './printed-copy.ts';
import { NO_BREAKS, type RowBreaks } from './row-breaks.ts';
import { footnotes, introduction, quietLines, type SheetLine, writeLines } from './sheet-lines.ts';
import { CHART_GAP_POINTS, layoutTable, SPACER_POINTS, type TableLayout } from './table-layout.ts';

/** Up to this many rows, a section uses the shared string table, which stays in memory until the workbook is closed. */
const MAX_SHARED_ROWS = 20_000;

type TableSection = SectionOf<'table' | 'exceptions'>;

/** The part of a section on one sheet. */
interface SheetSlice {
  readonly name: string;
  /** The id of the Excel table. */
  readonly id: string;
  readonly title: string;
  readonly above: readonly SheetLine[];
  /** The number of rows of the grid. */
  readonly count: number;
  readonly first: boolean;
  /** This is the last sheet, which has totals and notes. */
  readonly last: boolean;
}

/** The title of one sheet of a section, with its part number if there are several. */
export const sliceTitle = (title: string, part: number, parts: number, { workbook }: Words): string =>
  parts === 1 ? title : workbook.part(isolateBidi(title), part + 1, parts);

/** Splits the rows of a section into sheets. */
function sliceRows(
  section: TableSection,
  grid: Grid,
  names: readonly string[],
  { rowsPerSheet, words }: WorkbookContext,
): SheetSlice[] {
  const { id } = section.table;
  return names.map((name, index) => {
    const from = index * rowsPerSheet;
    const last = index === names.length - 1;
    const count = last ? grid.count - from : rowsPerSheet;
    const next = last ? undefined : isolateBidi(names[index + 1] ?? '');
    const which = words.workbook.section.rows(from + 1, from + count, grid.count, next);
    return {
      name,
      id: index === 0 ? id : `${id}_${index + 1}`,
      title: sliceTitle(section.title, index, names.length, words),
      above: introduction(section, words, names.length === 1 ? [] : [which]),
      count,
      first: index === 0,
      last,
    };
  });
}

/** Notes for this workbook only: what its colours mean, and what its chart leaves out. */
function ownNotes({ chart, table }: TableSection, grid: Grid, { workbook, chart: texts }: Words): string[] {
  const colours = grid.rowChanges ?? grid.conditionalFormats;
  const omitted = chart?.chart.omitted ?? [];
  return [
    ...(grid.count > 0 && colours.includes('change') ? [workbook.section.arrowsMean] : []),
    ...(omitted.length > 0 ? [texts.omits(omitted)] : []),
    ...(chart === undefined && table.chart !== undefined && grid.count > 0 ? [texts.noAxis] : []),
  ];
}

/** Writes the chart above the table, in rows of its own, or beside the table, over its rows. */
async function writeChart(
  sheet: SheetWriter,
  section: TableSection,
  layout: TableLayout,
  { chartData, locale }: WorkbookContext,
): Promise<void> {
  const range = chartData?.charts.get(section.table.id);
  const { chart: place, widths } = layout;
  if (section.chart === undefined || range === undefined || place === undefined) return;
  const area = { widths, row: sheet.rowCount, left: place.left, right: place.right, rows: place.rows };
  const drawings = chartDrawings(section.chart.chart, range, area, locale, false);
  if (drawings.length > 0) sheet.addDrawings(drawings);
  if (place.beside) return;
  await addRows(sheet, place.rows, place.rowPoints);
  if (place.ownPage) sheet.addPageBreak();
  else await sheet.addRow([], CHART_GAP_POINTS);
}

async function addRows(sheet: SheetWriter, count: number, points: number): Promise<void> {
  for (let row = 0; row < count; row += 1) await sheet.addRow([], points);
}

async function writeCopy(sheet: SheetWriter, { rows }: PrintedCopy, breaks: RowBreaks): Promise<void> {
  const ends = new Set([...(breaks.beforeHeader ? [0] : []), ...breaks.after]);
  for (const [index, { cells, points, change: kind }] of rows.entries()) {
    if (ends.has(index)) sheet.addPageBreak();
    await sheet.addRow(cells, points);
    if (kind === undefined) continue;
    const own = { from: sheet.rowCount, to: sheet.rowCount };
    const columns = cells.flatMap((cell, column) => (cell !== undefined && column > 0 ? [column] : []));
    sheet.addConditionalFormats(columns.map((column) => ({ kind, column, rows: own })));
  }
}

/** Adds the print areas of a sheet: one for each page of columns. */
function addPrintAreas(
  sheet: SheetWriter,
  { pages, widths, copy }: TableLayout,
  rows: { readonly header: number; readonly grid: number; readonly last: number },
): void {
  for (const [index, { from, to }] of pages.entries()) {
    const only = pages.length === 1 && copy === undefined;
    sheet.addPrintArea(
      index === 0
        ? {
            rows: { from: FIRST_PRINTED_ROW, to: rows.last },
            columns: { from: 0, to: only ? widths.length - 1 : to },
          }
        : { rows: { from: rows.header, to: rows.grid }, columns: { from, to } },
    );
  }
}

/**
 * Writes a section with a table: title, facts, warnings, chart, figures, the service's totals, notes. It takes several
 * sheets if the section has more rows than a sheet may have.
 */
export async function writeTableSheets(
  book: WorkbookFile,
  context: WorkbookContext,
  section: TableSection,
  names: readonly string[],
): Promise<void> {
  const { dataset, words, locale, page } = context;
  const { table } = section;
  const plain = sectionGrid(
    dataset,
    table,
    section.columns,
    buildHeadings(section.blocks, words),
    words,
    locale,
    section.cells,
  );
  const single = section.kind === 'table' && section.transposed && table.granularity === null;
  const grid = single && section.scorecard !== undefined ? withPeriodHeadings(plain, section.scorecard, words) : plain;
  const notes = [...footnotes(section), ...quietLines(ownNotes(section, grid, words))];
  const rows = grid.rows[Symbol.iterator]();
  try {
    for (const slice of sliceRows(section, grid, names, context)) {
      const { above } = slice;
      const chart = slice.first && section.chart?.place !== 'own_sheet' ? section.chart : undefined;
      const content = {
        title: slice.title,
        above,
        below: slice.last ? notes : [],
        rows: slice.count,
        whole: names.length === 1,
        chart,
      };
      const layout = layoutTable(grid, content, page);
      const { copy, lines } = layout;
      const titleRows = { from: layout.headerRow - headerRows(grid) + 1, to: layout.headerRow };
      const sheet = book.addSheet(slice.name, {
        widths: layout.widths,
        ...layout.freeze,
        headerRow: layout.headerRow,
        paper: page.paper,
        scale: layout.scale,
        printed: section.printed,
        printTitles:
          copy === undefined
            ? { rows: titleRows, columns: layout.pages.length > 1 ? layout.keys : 0 }
            : { rows: { from: layout.copyRow, to: layout.copyRow + copy.labels - 1 } },
        footer: buildFooter(context),
        ...(layout.onePage ? {} : { title: slice.title }),
        sharedStrings: table.rows.length <= MAX_SHARED_ROWS,
        ...(section.warnings.length > 0 ? { tab: COLOURS.warnInk } : {}),
      });
      await writeSheetHeading(sheet, slice.title, context, lines);
      await writeLines(sheet, above, lines);
      await sheet.addRow([], SPACER_POINTS);
      await writeChart(sheet, section, layout, context);
      if (copy !== undefined) await writeCopy(sheet, copy, layout.breaks);
      const below = async () => {
        await sheet.addRow([], SPACER_POINTS);
        await writeLines(sheet, content.below, lines);
      };
      if (copy !== undefined) await below();
      const copyEnd = sheet.rowCount;
      if (copy !== undefined) await sheet.addRow([], LINK_POINTS);
      const top = sheet.rowCount;
      const noRows = section.empty ?? words.workbook.section.noRows;
      await writeGrid(sheet, slice, grid, rows, lines, noRows, copy === undefined ? layout.breaks : NO_BREAKS);
      const gridEnd = sheet.rowCount;
      const beside = layout.chart?.beside === true ? layout.chart.rows : 0;
      await addRows(sheet, beside - (sheet.rowCount - top), layout.chart?.rowPoints ?? 0);
      if (copy === undefined && content.below.length > 0) await below();
      const last = copy === undefined ? sheet.rowCount : copyEnd;
      addPrintAreas(sheet, layout, { header: top + 1, grid: gridEnd, last });
      await sheet.close();
    }
  } finally {
    // Closes the file that the rows are read from.
    rows.return?.();
  }
}
