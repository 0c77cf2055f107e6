import { DocketError } from '../../../base/error.ts';
import type { Dataset } from '../../../fetch/dataset.ts';
import { rawColumns } from '../../figures/raw-columns.ts';
import { buildPack } from '../../pack/build-pack.ts';
import type { PackSection, SectionOf } from '../../pack/pack.ts';
import { readCurrentLogo } from '../format.ts';
import { writeDefinitionsSheet } from './appendix/definitions.ts';
import { writeRunSheet } from './appendix/run-record.ts';
import { writeChartData, writeChartsSheet } from './charts/chart-data-sheet.ts';
import { writeContents } from './front/contents.ts';
import { writeSummary } from './front/summary.ts';
import { createWorkbookFile, type WorkbookFile } from './package/workbook-writer.ts';
import { layoutScorecard, writeScorecard } from './sections/scorecard.ts';
import { footnotes, introduction, linesPoints, writeLines } from './sections/sheet-lines.ts';
import { writeTableSheets } from './sections/table-sheet.ts';
import { writeTrendSheet } from './sections/trend-sheet.ts';
import { scaleForHeight } from './style/page-layout.ts';
import { COLOURS, STYLES } from './style/styles.ts';
import { type LineWidth, totalWidth } from './style/text-size.ts';
import {
  buildFooter,
  createWorkbookContext,
  FIRST_PRINTED_ROW,
  textCell,
  titlePoints,
  type WorkbookContext,
  type WorkbookOptions,
  writeHeader,
  writeSheetHeading,
} from './workbook-context.ts';

/** @param names the sheets of the section; empty for the scorecard and the texts that the summary shows */
async function writeSection(
  book: WorkbookFile,
  context: WorkbookContext,
  section: PackSection,
  names: readonly string[],
): Promise<void> {
  const [name] = names;
  if (name === undefined) return;
  switch (section.kind) {
    case 'scorecard':
      return writeScorecardSheet(book, context, section, name);
    case 'trend':
      return writeTrendSheet(book, context, section, name);
    case 'text':
      return writeTextSheet(book, context, section, name);
    default:
      return writeTableSheets(book, context, section, names);
  }
}

/** Excel's last column, XFD, except for the hidden one that sheets end with. */
const MAX_COLUMNS = 16_383;

/** Refuses a section that does not fit on a sheet, such as a list with very many fields. */
function assertColumns({ tables }: Dataset): void {
  for (const table of tables) {
    const columns = rawColumns(table).length;
    if (columns <= MAX_COLUMNS) continue;
    throw new DocketError('render.failed', `The section "${table.id}" has too many columns for Excel.`, {
      expected: `at most ${MAX_COLUMNS.toLocaleString('en')} columns`,
      got: `${columns.toLocaleString('en')} columns`,
      next: 'Write this section as CSV instead.',
    });
  }
}

/**
 * Writes the workbook of a report: summary, charts, one or more sheets per section, definitions, run record and chart
 * data, and a contents sheet in a long pack. `path` must not exist; after a failure the caller removes it. The same
 * dataset, run and instant give the same bytes.
 */
export async function writeWorkbook(path: string, dataset: Dataset, options: WorkbookOptions): Promise<void> {
  assertColumns(dataset);
  const pack = buildPack(dataset, options);
  const context = createWorkbookContext(dataset, pack, options, await readCurrentLogo(options.logo));
  const { names, words, chartData } = context;
  const book = createWorkbookFile(
    path,
    {
      title: `${dataset.title} ${dataset.period.label}`,
      subject: dataset.organization,
      language: context.locale,
      madeAt: new Date(options.madeAt),
      longTexts: names.longTexts,
      words: words.workbook.longTexts,
    },
    options.signal,
  );
  try {
    await writeSummary(book, context);
    if (names.charts !== undefined) await writeChartsSheet(book, context, names.charts);
    for (const [index, section] of pack.sections.entries()) {
      await writeSection(book, context, section, names.sections[index] ?? []);
    }
    await writeDefinitionsSheet(book, context);
    await writeRunSheet(book, context);
    if (chartData !== undefined) await writeChartData(book, context, chartData);
    if (names.contents !== undefined) await writeContents(book, context, names.contents);
    if (book.longTexts.length > 0) await writeLongTexts(book, context);
    await book.close();
  } catch (error) {
    await book.abort();
    throw error;
  }
}

/** Writes the texts that exceed Excel's limit for a cell, in chunks one below the other. */
async function writeLongTexts(book: WorkbookFile, context: WorkbookContext): Promise<void> {
  const { sheets, longTexts: texts } = context.words.workbook;
  const widths = [8, 30, 10, 10, 90];
  const sheet = book.addSheet(context.names.longTexts, {
    widths,
    paper: context.page.paper,
    printed: false,
    footer: buildFooter(context),
    sharedStrings: false,
  });
  await writeSheetHeading(sheet, sheets.longTexts, context);
  await sheet.addRow([{ value: texts.what, style: STYLES.plain }], 18);
  await writeHeader(sheet, [texts.number, texts.sheet, texts.cell, texts.part, texts.text]);
  for (const [index, { sheet: from, cell, chunks }] of book.longTexts.entries()) {
    for (const [part, chunk] of chunks.entries()) {
      await sheet.addRow([
        { value: index + 1, style: STYLES.cellCount },
        { ...textCell(from, STYLES.cellLink), link: from },
        textCell(cell),
        textCell(texts.partOf(part + 1, chunks.length)),
        textCell(chunk),
      ]);
    }
  }
  await sheet.close();
}

/** The longest line of a paragraph; longer ones are hard to read. */
const PARAGRAPH_CHARACTERS = 100;

/** Writes a text section. */
async function writeTextSheet(
  book: WorkbookFile,
  context: WorkbookContext,
  section: SectionOf<'text'>,
  name: string,
): Promise<void> {
  const widths = [PARAGRAPH_CHARACTERS, context.page.characters - PARAGRAPH_CHARACTERS];
  const sheet = book.addSheet(name, {
    widths,
    paper: context.page.paper,
    printed: section.printed,
    footer: buildFooter(context),
    sharedStrings: true,
  });
  const whole: LineWidth = { columns: 2, characters: totalWidth(widths) };
  await writeSheetHeading(sheet, section.title, context, whole);
  const width = { columns: 1, characters: PARAGRAPH_CHARACTERS };
  await writeLines(sheet, introduction(section, context.words), width);
  for (const text of section.paragraphs) {
    await sheet.addRow([], 8);
    await writeLines(sheet, [{ text, style: STYLES.text }], width);
  }
  await writeLines(sheet, footnotes(section), width);
  sheet.addPrintArea({ rows: { from: FIRST_PRINTED_ROW, to: sheet.rowCount }, columns: { from: 0, to: 1 } });
  await sheet.close();
}

/** Writes a section with metrics as rows. */
async function writeScorecardSheet(
  book: WorkbookFile,
  context: WorkbookContext,
  section: SectionOf<'scorecard'>,
  name: string,
): Promise<void> {
  const layout = layoutScorecard(section.scorecard, context.page, context);
  const { widths } = layout;
  const width = { columns: widths.length, characters: totalWidth(widths) };
  const above = introduction(section, context.words);
  const notes = footnotes(section);
  const points =
    titlePoints(section.title, width.characters) + linesPoints([...above, ...notes], width) + layout.points + 16;
  const headerRow = FIRST_PRINTED_ROW + above.length + 2;
  const sheet = book.addSheet(name, {
    widths,
    paper: context.page.paper,
    scale: scaleForHeight(points, context.page, layout.scale),
    printed: section.printed,
    printTitles: { rows: { from: headerRow, to: headerRow } },
    freeze: { rows: headerRow, columns: 1 },
    headerRow,
    footer: buildFooter(context),
    sharedStrings: true,
    ...(section.warnings.length > 0 ? { tab: COLOURS.warnInk } : {}),
  });
  await writeSheetHeading(sheet, section.title, context, width);
  await writeLines(sheet, above, width);
  await sheet.addRow([], 6);
  await writeScorecard(sheet, layout, section.table.id, context);
  if (section.empty !== undefined) await writeLines(sheet, [{ text: section.empty, style: STYLES.quiet }], width);
  await sheet.addRow([], 8);
  await writeLines(sheet, notes, width);
  const columns = { from: 0, to: widths.length - 1 };
  sheet.addPrintArea({ rows: { from: FIRST_PRINTED_ROW, to: sheet.rowCount }, columns });
  await sheet.close();
}
