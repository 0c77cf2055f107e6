import { isolate } from '../../base/bidi.ts';
import { type Dataset, lacksCounts, type Table } from '../../fetch/dataset.ts';
import type { Words } from '../../words/words.ts';
import type { ViewColumn } from '../columns.ts';
import { markedNote, readingNotes, tableFacts, tableNotes } from '../words.ts';
import type { Mark } from './conditional.ts';
import { partTitle } from './front.ts';
import { type Grid, gridOf } from './grid.ts';
import { heightOf, LINE_POINTS, linesOf, pointsOf } from './measure.ts';
import { type CellStyle, COLOURS, STYLES } from './style.ts';
import { canBeTable } from './table.ts';
import type { Book, Cell, Footer, Sheet, SheetOptions } from './writer.ts';

/** Rows up to which the texts of a section are kept in memory until the workbook ends. */
const MAX_SHARED_ROWS = 20_000;
/** Characters over which a page is turned on its side. */
const PORTRAIT_CHARACTERS = 95;
/** A short table must still have room for its title and notes. */
const MIN_CHARACTERS = 76;
/** Points of rows that stay in sight: with more of them a small screen would have no room for the figures. */
const MAX_FROZEN_POINTS = 200;
const TITLE_POINTS = 26;
const BACK_POINTS = 22;

const charactersOf = (widths: readonly number[]): number => widths.reduce((sum, width) => sum + width, 0);

/** A line across all columns, as high as its text needs. */
async function fullWidth(sheet: Sheet, text: string, style: CellStyle, widths: readonly number[]): Promise<void> {
  const span = widths.length > 1 ? { span: widths.length } : {};
  await sheet.row([{ value: text, style, ...span }], heightOf([text, charactersOf(widths)]));
}

/** The filter's button takes the last line of a header cell. */
function headerHeight({ header, widths, filter }: Grid): number {
  const lines = header.map(({ value }, index) => linesOf(String(value), widths[index] ?? 1));
  return (Math.max(1, ...lines) + (filter ? 1 : 0)) * LINE_POINTS + 4;
}

/**
 * What stays in sight: the header with all that is above it, unless that is so much that the figures would have no room
 * below; and the labels, where they are few.
 * @param above lines between title and header
 */
function frozen(grid: Grid, above: readonly string[], widths: readonly number[]): Pick<SheetOptions, 'freeze'> {
  const lines = above.map((line) => heightOf([line, charactersOf(widths)]));
  const points = lines.reduce((sum, height) => sum + height, TITLE_POINTS + BACK_POINTS + headerHeight(grid));
  const rows = points > MAX_FROZEN_POINTS ? 0 : above.length + 3;
  const columns = grid.labels <= 3 && grid.labels < grid.header.length ? grid.labels : 0;
  return rows + columns === 0 ? {} : { freeze: { rows, columns } };
}

/** Long texts wrap: what a reader cannot see on paper would be cut silently. */
function rowHeight(cells: readonly Cell[], widths: readonly number[]): number {
  let lines = 1;
  for (let index = 0; index < cells.length; index += 1) {
    const value = cells[index]?.value;
    if (typeof value === 'string') lines = Math.max(lines, linesOf(value, widths[index] ?? 1));
  }
  return pointsOf(lines);
}

export interface SectionPage {
  readonly dataset: Dataset;
  readonly table: Table;
  /** The table's. */
  readonly columns: readonly ViewColumn[];
  /** Of the sheets that its rows are on. */
  readonly names: readonly string[];
  readonly rowsPerSheet: number;
  /** The contents sheet's name, for the way back. */
  readonly contents: string;
  readonly locale: string;
  /** Of the locale. */
  readonly words: Words;
  readonly footer: Footer;
}

/** One sheet's share of a section. */
interface Part {
  readonly name: string;
  /** Of the table. */
  readonly id: string;
  readonly title: string;
  /** Lines above the header. */
  readonly above: readonly string[];
  /** Rows of the grid. */
  readonly count: number;
  /** Totals and notes stand below the last row of all. */
  readonly last: boolean;
}

/** Header, rows and totals. A narrow empty row keeps the totals out of the filtered range, where sorting would move them. */
async function writeGrid(
  sheet: Sheet,
  { id, count, last }: Part,
  grid: Grid,
  rows: Iterator<readonly Cell[]>,
  widths: readonly number[],
  noRows: string,
): Promise<void> {
  await sheet.row(grid.header, headerHeight(grid));
  const headerRow = sheet.rows;
  for (let row = 0; row < count; row += 1) {
    const next = rows.next();
    if (next.done === true) break;
    await sheet.row(next.value, rowHeight(next.value, grid.widths));
  }
  if (count === 0) {
    await fullWidth(sheet, noRows, STYLES.quiet, widths);
  }
  const range = { id, headerRow, headers: grid.header.map(({ value }) => String(value)), rows: count };
  if (canBeTable(range)) sheet.table({ ...range, filter: grid.filter });
  else if (grid.filter) sheet.filter({ row: headerRow, column: 1 }, { row: sheet.rows, column: grid.header.length });
  if (grid.totals !== undefined && last) {
    await sheet.row([], 5);
    await sheet.row(grid.totals, 18);
  }
  if (count === 0) return;
  const to = { bar: headerRow + count, change: sheet.rows };
  sheet.mark(
    grid.marks.flatMap((kind, column): Mark[] =>
      kind === undefined ? [] : [{ kind, column, rows: { from: headerRow + 1, to: to[kind] } }],
    ),
  );
}

/** The rows of a long section go on from sheet to sheet, as many as it has names for. */
function partsOf({ table, names, rowsPerSheet, words }: SectionPage, grid: Grid, above: readonly string[]): Part[] {
  return names.map((name, index) => {
    const from = index * rowsPerSheet;
    const last = index === names.length - 1;
    const count = last ? grid.count - from : rowsPerSheet;
    const next = last ? undefined : isolate(names[index + 1] ?? '');
    const which = words.workbook.section.rows(from + 1, from + count, grid.count, next);
    return {
      name,
      id: index === 0 ? table.id : `${table.id}_${index + 1}`,
      title: partTitle(table.title, index, names.length, words),
      above: names.length === 1 ? above : [...above, which],
      count,
      last,
    };
  });
}

/** One section as one sheet: title, what it covers, what is incomplete, the figures, the service's totals, notes. */
export async function writeSection(book: Book, page: SectionPage): Promise<void> {
  const { table, locale, words } = page;
  const { back, section: own } = words.workbook;
  const grid = gridOf(table, page.columns, locale);
  const characters = charactersOf(grid.widths);
  const widths = characters < MIN_CHARACTERS ? [...grid.widths, MIN_CHARACTERS - characters] : grid.widths;
  const notes = tableNotes(table, locale);
  const warnings = notes.filter((note) => note.incomplete).map((note) => markedNote(note, words));
  const facts = tableFacts(page.dataset, table, locale);
  const about = table.description === undefined ? facts : [table.description, ...facts];
  const remarks = [
    ...notes.filter((note) => !note.incomplete).map((note) => note.text),
    ...readingNotes(table, locale, grid.showsTotals, page.columns),
    ...(grid.marks.includes('change') && grid.count > 0 ? [own.arrowsMean] : []),
  ];
  const rows = grid.rows[Symbol.iterator]();
  try {
    for (const part of partsOf(page, grid, about)) {
      const above = [...part.above, ...warnings];
      const sheet = book.sheet(part.name, {
        widths,
        ...frozen(grid, above, widths),
        headerRow: above.length + 3,
        landscape: characters > PORTRAIT_CHARACTERS,
        footer: page.footer,
        sharedStrings: table.rows.length <= MAX_SHARED_ROWS,
        ...(warnings.length > 0 ? { tab: COLOURS.warnInk } : {}),
      });
      await sheet.row([{ value: part.title, style: STYLES.title }], TITLE_POINTS);
      for (const line of part.above) await fullWidth(sheet, line, STYLES.quiet, widths);
      for (const warning of warnings) await fullWidth(sheet, warning, STYLES.warning, widths);
      await sheet.row([{ value: back, style: STYLES.back, link: page.contents }], BACK_POINTS);
      await writeGrid(sheet, part, grid, rows, widths, lacksCounts(table) ? words.table.noCounts : own.noRows);
      if (part.last && remarks.length > 0) {
        await sheet.row([], 8);
        for (const remark of remarks) await fullWidth(sheet, remark, STYLES.quiet, widths);
      }
      await sheet.close();
    }
  } finally {
    // Rows in a file hold it open until they are let go.
    rows.return?.();
  }
}
