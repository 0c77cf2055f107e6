import { formatPeriod } from '../../../../definitions/periods/period.ts';
import type { CallRecord } from '../../../../fetch/dataset.ts';
import { incompleteNotes, lacksCurrentCounts } from '../../../../fetch/notes.ts';
import type { Words } from '../../../../i18n/messages.ts';
import { completenessText } from '../../../pack/build-pack.ts';
import { unlistedChanges } from '../../../pack/review/correction.ts';
import type { WorkbookFile } from '../package/workbook-writer.ts';
import { STYLES } from '../style/styles.ts';
import { textRowPoints } from '../style/text-size.ts';
import { buildFooter, textCell, type WorkbookContext, writeHeader, writeSheetHeading } from '../workbook-context.ts';

/** Where a response came from if this attempt did not request it; otherwise empty. */
function responseSource({ shared, saved }: CallRecord, words: Words['workbook']['run']): string {
  if (shared !== undefined) return words.shared(shared.run, shared.at);
  return saved ? words.saved : '';
}

/**
 * Writes the audit record of the run, which is not printed: run, definition, API calls, and what is incomplete and why.
 */
export async function writeRunSheet(book: WorkbookFile, context: WorkbookContext): Promise<void> {
  const { dataset, names, locale, words, page } = context;
  const { sheets, run: texts } = words.workbook;
  const widths = [20, 52, 24, 26, 12, 40];
  const sheet = book.addSheet(names.run, {
    widths,
    paper: page.paper,
    printed: false,
    footer: buildFooter(context),
    sharedStrings: true,
  });
  await writeSheetHeading(sheet, sheets.run, context);
  const facts = [
    [texts.report, `${dataset.org}/${dataset.report}`],
    [texts.run, context.run],
    ...(context.pack.correction === undefined
      ? []
      : [[context.pack.correction.runLabel, context.pack.correction.run] as const]),
    [texts.definition, `SHA-256 ${context.digest}`],
    [texts.period, formatPeriod(dataset.period, locale)],
    [texts.made, `${new Date(context.madeAt).toISOString()} (UTC)`],
    [texts.registry, texts.version(dataset.registryVersion)],
    [texts.calls, texts.callCount(dataset.calls.length)],
    ...(context.logo.leftOut === undefined
      ? []
      : [[words.workbook.summary.logo, texts.leftOut(context.logo.leftOut)] as const]),
  ] as const;
  for (const [label, value] of facts) {
    await sheet.addRow(
      [
        { value: label, style: STYLES.cellQuiet },
        { value, style: STYLES.cellText, span: 5 },
      ],
      18,
    );
  }
  const unlisted = unlistedChanges(context);
  if (unlisted.length > 0) {
    await sheet.addRow([], 14);
    await sheet.addRow([{ value: words.review.moreChanges(unlisted.length), style: STYLES.heading, span: 6 }], 24);
  }
  for (const text of unlisted) {
    await sheet.addRow([{ ...textCell(text), span: 6 }], textRowPoints([text, 160]));
  }
  await sheet.addRow([], 14);
  await sheet.addRow([{ value: texts.calls, style: STYLES.heading, span: 6 }], 24);
  await writeHeader(sheet, [texts.call, texts.request, texts.sections, texts.asOf, texts.cached, texts.correlation]);
  for (const call of dataset.calls) {
    const sections = call.sections.join(', ');
    const request = `${call.method} ${call.path}\n${texts.rows(call.rows)}${responseSource(call, texts)}`;
    await sheet.addRow(
      [
        textCell(call.id, STYLES.cellCode),
        textCell(request),
        textCell(sections),
        textCell(call.asOf ?? '–'),
        textCell(call.cached === null ? '–' : call.cached ? words.table.yes : words.table.no),
        textCell(call.correlationId ?? '–', STYLES.cellCode),
      ],
      textRowPoints([request, 52], [sections, 24], [call.id, 20]),
    );
  }
  await sheet.addRow([], 14);
  await sheet.addRow([{ value: texts.incomplete, style: STYLES.heading, span: 6 }], 24);
  const incomplete = incompleteNotes(dataset, words);
  if (incomplete.length === 0) {
    const nothing = dataset.tables.some(lacksCurrentCounts) ? completenessText(dataset, words, locale) : texts.nothing;
    await sheet.addRow([{ value: nothing, style: STYLES.plain, span: 6 }], 18);
  }
  for (const note of incomplete) {
    await sheet.addRow(
      [
        textCell(note.section),
        { ...textCell(note.text), span: 4 },
        undefined,
        undefined,
        undefined,
        textCell(note.code, STYLES.cellCode),
      ],
      textRowPoints([note.section, 20], [note.text, 110]),
    );
  }
  await sheet.close();
}
