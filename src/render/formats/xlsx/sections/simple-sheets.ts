import type { SectionOf } from '../../../pack/pack.ts';
import type { WorkbookFile } from '../package/workbook-writer.ts';
import { scaleForHeight } from '../style/page-layout.ts';
import { COLOURS, STYLES } from '../style/styles.ts';
import { type LineWidth, totalWidth } from '../style/text-size.ts';
import {
  FIRST_PRINTED_ROW,
  footerOf,
  titlePoints,
  type WorkbookContext,
  writeSheetHeading,
} from '../workbook-context.ts';
import { layoutScorecard, writeScorecard } from './scorecard.ts';
import { footnotes, introduction, linesPoints, writeLines } from './sheet-lines.ts';

/** The longest line of a paragraph; longer ones are hard to read. */
const PARAGRAPH_CHARACTERS = 100;

/** Writes a text section. */
export async function writeTextSheet(
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
    footer: footerOf(context),
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
export async function writeScorecardSheet(
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
    footer: footerOf(context),
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
