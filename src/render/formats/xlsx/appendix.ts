import { isolateBidi } from '../../../base/text/bidi.ts';
import { formatPeriod } from '../../../definitions/periods/period.ts';
import { type CallRecord, incompleteNotes, lacksCurrentCounts } from '../../../fetch/dataset.ts';
import type { Words } from '../../../i18n/messages.ts';
import { completenessText } from '../../pack/completeness.ts';
import { columnNotes, definedColumns, unitText } from '../../pack/definitions.ts';
import { describeFilters } from '../../table-notes.ts';
import type { Cell } from './sheet-rows.ts';
import { STYLES, textRowPoints } from './style.ts';
import { footerOf, type WorkbookContext, writeSheetHeading } from './workbook-context.ts';
import type { SheetWriter, WorkbookFile } from './workbook-writer.ts';

const writeHeader = (sheet: SheetWriter, labels: readonly string[]): Promise<void> =>
  sheet.addRow(
    labels.map((value) => ({ value, style: STYLES.headerLabel })),
    22,
  );

const textCell = (value: string | undefined, style: Cell['style'] = STYLES.cellText): Cell => ({
  value: value ?? '',
  style,
});

/** Definitions: metrics with their units, dimensions with their values, and the filters of each section. */
export async function writeDefinitionsSheet(book: WorkbookFile, context: WorkbookContext): Promise<void> {
  const { dataset, names, locale, words } = context;
  const { sheets, definitions: texts } = words.workbook;
  const widths = [30, 52, 22, 14, 34, 26];
  const sheet = book.addSheet(names.definitions, {
    widths,
    landscape: true,
    footer: footerOf(context),
    sharedStrings: true,
  });
  await writeSheetHeading(sheet, sheets.definitions, context, 18);
  await sheet.addRow([{ value: texts.metrics, style: STYLES.heading, span: 6 }], 24);
  await writeHeader(sheet, [
    texts.metric,
    texts.description,
    texts.unit,
    texts.aggregation,
    texts.toKnow,
    texts.sections,
  ]);
  for (const { column, tables } of definedColumns(dataset.tables, ['metric'])) {
    const name = `${column.label}\n${column.name}`;
    const where = tables.map(({ title }) => isolateBidi(title)).join(', ');
    const unit = unitText(column, words);
    const notes = columnNotes(column, texts).join('\n');
    await sheet.addRow(
      [
        textCell(name),
        textCell(column.description),
        textCell(unit),
        textCell(column.aggregation),
        textCell(notes),
        textCell(where, STYLES.cellQuiet),
      ],
      textRowPoints([name, 30], [column.description, 52], [unit, 22], [notes, 34], [where, 26]),
    );
  }
  const groups = definedColumns(dataset.tables, ['dimension', 'field']);
  if (groups.length > 0) {
    await sheet.addRow([], 14);
    await sheet.addRow([{ value: texts.groups, style: STYLES.heading, span: 6 }], 24);
    await writeHeader(sheet, [texts.name, texts.description, texts.type, '', texts.values, texts.sections]);
    for (const { column, tables } of groups) {
      const name = column.label === column.name ? column.label : `${column.label}\n${column.name}`;
      const values = (column.values ?? []).map(({ label }) => isolateBidi(label)).join(', ');
      const where = tables.map(({ title }) => isolateBidi(title)).join(', ');
      await sheet.addRow(
        [
          textCell(name),
          textCell(column.description),
          textCell(column.type),
          textCell(''),
          textCell(values),
          textCell(where, STYLES.cellQuiet),
        ],
        textRowPoints([name, 30], [column.description, 52], [values, 34], [where, 26]),
      );
    }
  }
  const filtered = dataset.tables.filter((table) => table.filters.length > 0);
  if (filtered.length > 0) {
    await sheet.addRow([], 14);
    await sheet.addRow([{ value: texts.filters, style: STYLES.heading, span: 6 }], 24);
    for (const table of filtered) {
      const filters = words.table.onlyWhere(describeFilters(table, locale));
      await sheet.addRow(
        [textCell(table.title), { ...textCell(filters), span: 5 }],
        textRowPoints([table.title, 30], [filters, 140]),
      );
    }
  }
  await sheet.close();
}

/** The source of a response that this attempt did not request; empty otherwise. */
function responseSource({ shared, saved }: CallRecord, words: Words['workbook']['run']): string {
  if (shared !== undefined) return words.shared(shared.run, shared.at);
  return saved ? words.saved : '';
}

/** The audit record of the run: run, definition, API calls, and what is incomplete and why. */
export async function writeRunSheet(book: WorkbookFile, context: WorkbookContext): Promise<void> {
  const { dataset, names, locale, words } = context;
  const { sheets, run: texts } = words.workbook;
  const widths = [20, 52, 24, 26, 12, 40];
  const sheet = book.addSheet(names.run, { widths, landscape: true, footer: footerOf(context), sharedStrings: true });
  await writeSheetHeading(sheet, sheets.run, context, 18);
  const facts = [
    [texts.report, `${dataset.org}/${dataset.report}`],
    [texts.run, context.run],
    [texts.definition, `SHA-256 ${context.digest}`],
    [texts.period, formatPeriod(dataset.period, locale)],
    [texts.made, `${new Date(context.madeAt).toISOString()} (UTC)`],
    [texts.registry, texts.version(dataset.registryVersion)],
    [texts.calls, texts.callCount(dataset.calls.length)],
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
    const nothing = dataset.tables.some(lacksCurrentCounts) ? completenessText(dataset, words) : texts.nothing;
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

/** The texts that exceed Excel's cell limit, in chunks one below the other. */
export async function writeLongTexts(book: WorkbookFile, context: WorkbookContext): Promise<void> {
  const { sheets, longTexts: texts } = context.words.workbook;
  const widths = [8, 30, 10, 10, 90];
  const footer = footerOf(context);
  const sheet = book.addSheet(context.names.longTexts, { widths, landscape: true, footer, sharedStrings: false });
  await writeSheetHeading(sheet, sheets.longTexts, context, 18);
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
