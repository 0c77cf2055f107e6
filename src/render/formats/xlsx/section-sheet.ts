import { isolateBidi } from '../../../base/text/bidi.ts';
import type { Better } from '../../../definitions/schema/targets.ts';
import { type Dataset, lacksCurrentCounts, type Table } from '../../../fetch/dataset.ts';
import type { Words } from '../../../i18n/messages.ts';
import type { ViewColumn } from '../../figures/columns.ts';
import { betterOf } from '../../figures/judge.ts';
import { targetNotes } from '../../figures/target-notes.ts';
import { incompleteNoteText, legendNotes, tableFacts, tableNotes } from '../../table-notes.ts';
import { buildGrid, type Grid } from './grid.ts';
import { type ConditionalFormat, canBeTable, type Footer } from './sheet-parts.ts';
import type { Cell } from './sheet-rows.ts';
import { withStatuses } from './status-columns.ts';
import { type CellStyle, COLOURS, LINE_POINTS, lineCount, lineHeightPoints, STYLES, textRowPoints } from './style.ts';
import type { SheetOptions, SheetWriter, WorkbookFile } from './workbook-writer.ts';

/** Sections up to this size use the shared string table, which stays in memory until the workbook is closed. */
const MAX_SHARED_ROWS = 20_000;
/** Wider sheets are printed in landscape. */
const PORTRAIT_CHARACTERS = 95;
/** Minimum width, for title and notes of a narrow table. */
const MIN_SHEET_CHARACTERS = 76;
/** Maximum height of frozen rows: more would leave a small screen no space for the figures. */
const MAX_FROZEN_POINTS = 200;
const TITLE_POINTS = 26;
const BACK_LINK_POINTS = 22;

const totalWidth = (widths: readonly number[]): number => widths.reduce((sum, width) => sum + width, 0);

/** A text across all columns, with the row height that it needs. */
async function writeFullWidthLine(
  sheet: SheetWriter,
  text: string,
  style: CellStyle,
  widths: readonly number[],
): Promise<void> {
  const span = widths.length > 1 ? { span: widths.length } : {};
  await sheet.addRow([{ value: text, style, ...span }], textRowPoints([text, totalWidth(widths)]));
}

/** The filter button takes the last line of a header cell. */
function headerHeight({ header, widths, filter }: Grid): number {
  const lines = header.map(({ value }, index) => lineCount(String(value), widths[index] ?? 1));
  return (Math.max(1, ...lines) + (filter ? 1 : 0)) * LINE_POINTS + 4;
}

/**
 * Freezes the header with the rows above it, unless they are too high, and the label columns, unless they are many.
 * @param above lines between title and header
 */
function freezePanes(grid: Grid, above: readonly string[], widths: readonly number[]): Pick<SheetOptions, 'freeze'> {
  const lines = above.map((line) => textRowPoints([line, totalWidth(widths)]));
  const points = lines.reduce((sum, height) => sum + height, TITLE_POINTS + BACK_LINK_POINTS + headerHeight(grid));
  const rows = points > MAX_FROZEN_POINTS ? 0 : above.length + 3;
  const columns = grid.labels <= 3 && grid.labels < grid.header.length ? grid.labels : 0;
  return rows + columns === 0 ? {} : { freeze: { rows, columns } };
}

/** Long texts wrap: cut text would be lost in print. */
function dataRowHeight(cells: readonly Cell[], widths: readonly number[]): number {
  let lines = 1;
  for (let index = 0; index < cells.length; index += 1) {
    const value = cells[index]?.value;
    if (typeof value === 'string') lines = Math.max(lines, lineCount(value, widths[index] ?? 1));
  }
  return lineHeightPoints(lines);
}

export interface SectionSheet {
  readonly dataset: Dataset;
  readonly table: Table;
  /** The table's. */
  readonly columns: readonly ViewColumn[];
  /** The names of the sheets that its rows go to. */
  readonly names: readonly string[];
  readonly rowsPerSheet: number;
  /** The name of the contents sheet, for the link back. */
  readonly contents: string;
  readonly locale: string;
  /** The messages of `locale`. */
  readonly words: Words;
  readonly footer: Footer;
}

/** The part of a section that one sheet shows. */
interface SheetSlice {
  readonly name: string;
  /** The id of the Excel table. */
  readonly id: string;
  readonly title: string;
  /** Lines above the header. */
  readonly above: readonly string[];
  /** Rows of the grid. */
  readonly count: number;
  /** The last sheet has totals and notes. */
  readonly last: boolean;
}

/** Header, rows and totals. A narrow empty row separates the totals from the filtered range: sorting must not move them. */
async function writeGrid(
  sheet: SheetWriter,
  { id, count, last }: SheetSlice,
  grid: Grid,
  rows: Iterator<readonly Cell[]>,
  widths: readonly number[],
  noRows: string,
): Promise<void> {
  await sheet.addRow(grid.header, headerHeight(grid));
  const headerRow = sheet.rowCount;
  for (let row = 0; row < count; row += 1) {
    const next = rows.next();
    if (next.done === true) break;
    await sheet.addRow(next.value, dataRowHeight(next.value, grid.widths));
  }
  if (count === 0) {
    await writeFullWidthLine(sheet, noRows, STYLES.quiet, widths);
  }
  const range = { id, headerRow, headers: grid.header.map(({ value }) => String(value)), rows: count };
  if (canBeTable(range)) sheet.addTable({ ...range, filter: grid.filter });
  else if (grid.filter)
    sheet.addFilter({ row: headerRow, column: 1 }, { row: sheet.rowCount, column: grid.header.length });
  if (grid.totals !== undefined && last) {
    await sheet.addRow([], 5);
    await sheet.addRow(grid.totals, 18);
  }
  if (count === 0) return;
  const { rowChanges } = grid;
  const from = headerRow + 1;
  sheet.addConditionalFormats(
    grid.conditionalFormats.flatMap((kind, column): ConditionalFormat[] => {
      if (kind === undefined) return [];
      if (kind === 'bar') return [{ kind, column, rows: { from, to: headerRow + count } }];
      if (rowChanges === undefined) return [{ kind, column, rows: { from, to: sheet.rowCount } }];
      return rowChanges.map((each, row) => ({ kind: each, column, rows: { from: from + row, to: from + row } }));
    }),
  );
}

/** Whether any metric has changes. Those of provisional ones are never shown. */
const showsChanges = (columns: readonly ViewColumn[]): boolean =>
  columns.some(({ role, source }) => role === 'change' && source.provisional !== true);

/** What the colours of changes mean. */
function changeLegend({ conditionalFormats, rowChanges }: Grid, { dataset, columns, words }: SectionSheet): string[] {
  if (!conditionalFormats.some((kind) => kind !== undefined && kind !== 'bar')) return [];
  const labelsWhere = (better: Better): string[] =>
    columns.flatMap(({ role, source }) =>
      role === 'value' && betterOf(dataset, source.name) === better ? [isolateBidi(source.label)] : [],
    );
  const kinds = rowChanges ?? conditionalFormats;
  return [
    ...(kinds.includes('change') ? [words.workbook.section.arrowsMean] : []),
    ...(kinds.includes('change_higher') || kinds.includes('change_lower')
      ? [words.status.betterMeans(labelsWhere('higher'), labelsWhere('lower'))]
      : []),
  ];
}

/** The title of one sheet of a section, with its part number where there are several. */
export const sliceTitle = (title: string, part: number, parts: number, { workbook }: Words): string =>
  parts === 1 ? title : workbook.part(isolateBidi(title), part + 1, parts);

/** Splits the rows of a section over its sheets. */
function sliceRows(
  { table, names, rowsPerSheet, words }: SectionSheet,
  grid: Grid,
  above: readonly string[],
): SheetSlice[] {
  return names.map((name, index) => {
    const from = index * rowsPerSheet;
    const last = index === names.length - 1;
    const count = last ? grid.count - from : rowsPerSheet;
    const next = last ? undefined : isolateBidi(names[index + 1] ?? '');
    const which = words.workbook.section.rows(from + 1, from + count, grid.count, next);
    return {
      name,
      id: index === 0 ? table.id : `${table.id}_${index + 1}`,
      title: sliceTitle(table.title, index, names.length, words),
      above: names.length === 1 ? above : [...above, which],
      count,
      last,
    };
  });
}

/**
 * Writes one section: title, facts, warnings, link back, figures, the service's totals, notes. It takes one sheet, or
 * several when the section has more rows than a sheet may have.
 */
export async function writeSectionSheet(book: WorkbookFile, page: SectionSheet): Promise<void> {
  const { table, locale, words } = page;
  const { back, section: texts } = words.workbook;
  const grid = withStatuses(buildGrid(table, page.columns, locale), page.dataset, table, page.columns, words, locale);
  const characters = totalWidth(grid.widths);
  const widths = characters < MIN_SHEET_CHARACTERS ? [...grid.widths, MIN_SHEET_CHARACTERS - characters] : grid.widths;
  const notes = tableNotes(table, locale);
  const warnings = notes.filter((note) => note.incomplete).map((note) => incompleteNoteText(note, words));
  const facts = tableFacts(page.dataset, table, locale);
  const introduction = table.description === undefined ? facts : [table.description, ...facts];
  const footnotes = [
    ...notes.filter((note) => !note.incomplete).map((note) => note.text),
    ...targetNotes(page.dataset, table, page.columns, words, locale),
    ...legendNotes(table, locale, grid.showsTotals, page.columns),
    ...(grid.count > 0 && showsChanges(page.columns) ? changeLegend(grid, page) : []),
  ];
  const rows = grid.rows[Symbol.iterator]();
  try {
    for (const slice of sliceRows(page, grid, introduction)) {
      const above = [...slice.above, ...warnings];
      const sheet = book.addSheet(slice.name, {
        widths,
        ...freezePanes(grid, above, widths),
        headerRow: above.length + 3,
        landscape: characters > PORTRAIT_CHARACTERS,
        footer: page.footer,
        sharedStrings: table.rows.length <= MAX_SHARED_ROWS,
        ...(warnings.length > 0 ? { tab: COLOURS.warnInk } : {}),
      });
      await sheet.addRow([{ value: slice.title, style: STYLES.title }], TITLE_POINTS);
      for (const line of slice.above) await writeFullWidthLine(sheet, line, STYLES.quiet, widths);
      for (const warning of warnings) await writeFullWidthLine(sheet, warning, STYLES.warning, widths);
      await sheet.addRow([{ value: back, style: STYLES.back, link: page.contents }], BACK_LINK_POINTS);
      const noRows = lacksCurrentCounts(table) ? words.table.noCounts : texts.noRows;
      await writeGrid(sheet, slice, grid, rows, widths, noRows);
      if (slice.last && footnotes.length > 0) {
        await sheet.addRow([], 8);
        for (const note of footnotes) await writeFullWidthLine(sheet, note, STYLES.quiet, widths);
      }
      await sheet.close();
    }
  } finally {
    // Closes the file that the rows are read from.
    rows.return?.();
  }
}
