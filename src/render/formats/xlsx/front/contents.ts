import { isolateBidi } from '../../../../base/text/bidi.ts';
import { isTextTable, type Table } from '../../../../fetch/dataset.ts';
import { lacksCurrentCounts } from '../../../../fetch/notes.ts';
import { formatDateRange } from '../../../figures/format-date.ts';
import { incompleteNoteText, isOfReadings, tableNotes } from '../../../table-notes.ts';
import type { WorkbookFile } from '../package/workbook-writer.ts';
import { sliceTitle } from '../sections/table-sheet.ts';
import { STYLES } from '../style/styles.ts';
import { textRowPoints } from '../style/text-size.ts';
import { buildFooter, type WorkbookContext } from '../workbook-context.ts';

const coverageLabel = (table: Table, { dataset, locale, words }: WorkbookContext): string => {
  const { contents } = words.workbook;
  if (isTextTable(table)) return contents.text;
  if (table.current) return contents.current;
  if (table.range === null) return contents.list;
  const { from, to } = dataset.period;
  const own = table.period.from !== from || table.period.to !== to ? formatDateRange(table.period, locale) : undefined;
  if (table.granularity !== null)
    return [contents.by[table.granularity], ...(own === undefined ? [] : [own])].join(', ');
  if (isOfReadings(table)) return contents.lastDay;
  return own ?? contents.whole;
};

/**
 * Writes the table of contents of a long pack. It is written last, when it is known whether there is a sheet of long
 * texts.
 */
export async function writeContents(book: WorkbookFile, context: WorkbookContext, name: string): Promise<void> {
  const { dataset, pack, names, locale, words, page, rowsPerSheet, chartData } = context;
  const { contents: texts, sheets } = words.workbook;
  const sheet = book.addSheet(name, {
    widths: [46, 24, 10, 56],
    paper: page.paper,
    printed: false,
    footer: buildFooter(context),
    sharedStrings: true,
    position: 1,
  });
  await sheet.addRow([{ value: sheets.contents, style: STYLES.title }], 26);
  const about = `${isolateBidi(dataset.organization)} · ${isolateBidi(dataset.title)} · ${dataset.period.label}`;
  await sheet.addRow([{ value: about, style: STYLES.quiet, span: 4 }], 24);
  await sheet.addRow(
    [
      { value: texts.section, style: STYLES.headerLabel },
      { value: texts.covers, style: STYLES.headerLabel },
      { value: texts.rows, style: STYLES.headerValue },
      { value: texts.toKnow, style: STYLES.headerIndented },
    ],
    22,
  );
  for (const [index, { table, title }] of pack.sections.entries()) {
    const undefinedAll = lacksCurrentCounts(table);
    const incomplete = tableNotes(table, locale).filter(
      (note) => note.incomplete || (undefinedAll && note.code === 'undefined'),
    );
    const notes = incomplete.map((note) => incompleteNoteText(note, words)).join('\n');
    const own = names.sections[index] ?? [];
    const sheetNames = own.length === 0 ? [names.summary] : own;
    for (const [part, target] of sheetNames.entries()) {
      const text = sliceTitle(title, part, sheetNames.length, words);
      const covers = coverageLabel(table, context);
      await sheet.addRow(
        [
          { value: text, style: STYLES.cellLink, link: target },
          { value: covers, style: STYLES.cellText },
          isTextTable(table)
            ? { value: '', style: STYLES.cellText }
            : { value: Math.min(table.rows.length - part * rowsPerSheet, rowsPerSheet), style: STYLES.cellCount },
          { value: notes, style: notes === '' ? STYLES.cellText : STYLES.cellWarning },
        ],
        textRowPoints([text, 46], [covers, 24], [notes, 54]),
      );
    }
  }
  const others = [
    [names.summary, texts.summary],
    [names.charts, texts.charts],
    [names.definitions, texts.definitions],
    [names.run, texts.run],
    [chartData?.sheet, texts.chartData],
    [book.longTexts.length === 0 ? undefined : names.longTexts, texts.longTexts],
  ] as const;
  for (const [target, description] of others) {
    if (target === undefined) continue;
    await sheet.addRow(
      [
        { value: target, style: STYLES.cellLink, link: target },
        { value: description, style: STYLES.cellQuiet, span: 3 },
      ],
      18,
    );
  }
  await sheet.close();
}
