import type { WorkbookFile } from '../package/workbook-writer.ts';
import { STYLES } from '../style/styles.ts';
import { footerOf, textCell, type WorkbookContext, writeHeader, writeSheetHeading } from '../workbook-context.ts';

/** The texts that exceed Excel's cell limit, in chunks one below the other. */
export async function writeLongTexts(book: WorkbookFile, context: WorkbookContext): Promise<void> {
  const { sheets, longTexts: texts } = context.words.workbook;
  const widths = [8, 30, 10, 10, 90];
  const sheet = book.addSheet(context.names.longTexts, {
    widths,
    paper: context.page.paper,
    printed: false,
    footer: footerOf(context),
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
