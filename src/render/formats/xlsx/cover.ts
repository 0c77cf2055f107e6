import { isolateBidi } from '../../../base/text/bidi.ts';
import type { Logo } from '../../../definitions/load/logo.ts';
import { formatPeriod } from '../../../definitions/periods/period.ts';
import { incompleteNotes, lacksCurrentCounts, type Table } from '../../../fetch/dataset.ts';
import type { Words } from '../../../i18n/messages.ts';
import { formatDateRange, formatZonedInstant } from '../../figures/format-value.ts';
import { completenessText } from '../../pack/completeness.ts';
import { incompleteNoteText, isOfReadings, tableNotes } from '../../table-notes.ts';
import type { PictureDrawing } from './drawing-parts.ts';
import { sliceTitle } from './section-sheet.ts';
import type { Cell } from './sheet-rows.ts';
import { COLOURS, lineCount, STYLES, textRowPoints } from './style.ts';
import { footerOf, type WorkbookContext } from './workbook-context.ts';
import type { WorkbookFile } from './workbook-writer.ts';

/** Maximum size on the cover, in pixels. */
const MAX_LOGO_SIZE = { width: 320, height: 96 };

/** Scales a large logo down and never a small one up. */
function logoOnCover({ width, height, ...logo }: Logo, organization: string, { workbook }: Words): PictureDrawing {
  const scale = Math.min(1, MAX_LOGO_SIZE.width / width, MAX_LOGO_SIZE.height / height);
  return {
    ...logo,
    name: workbook.cover.logo,
    description: workbook.cover.logoOf(isolateBidi(organization)),
    width: width * scale,
    height: height * scale,
    from: { row: 2, column: 1 },
  };
}

/** The cover: organization, title, period, time of creation, owner, and what is incomplete. */
export async function writeCover(book: WorkbookFile, context: WorkbookContext): Promise<void> {
  const { dataset, locale, words } = context;
  const { cover: texts, incomplete: heading } = words.workbook;
  const sheet = book.addSheet(context.names.cover, {
    widths: [3, 24, 66, 3],
    landscape: false,
    footer: footerOf(context),
    tab: COLOURS.ink,
    sharedStrings: true,
  });
  const band = Array.from({ length: 4 }, (): Cell => ({ value: null, style: STYLES.band }));
  const wide = (value: string, style: Cell['style']): (Cell | undefined)[] => [undefined, { value, style, span: 2 }];
  const fact = (label: string, value: string): (Cell | undefined)[] => [
    undefined,
    { value: label, style: STYLES.label },
    { value, style: STYLES.text },
  ];

  await sheet.addRow(band, 12);
  await sheet.addRow([], 12);
  await sheet.addRow([], 78);
  if (context.logo !== undefined) sheet.addDrawings([logoOnCover(context.logo, dataset.organization, words)]);
  if (context.classification !== undefined) {
    await sheet.addRow(wide(context.classification, STYLES.coverClassification), 24);
  }
  await sheet.addRow(wide(dataset.organization, STYLES.coverOrganization), 24);
  await sheet.addRow(wide(dataset.title, STYLES.coverTitle), lineCount(dataset.title, 40) * 36);
  await sheet.addRow([], 6);
  await sheet.addRow(wide(formatPeriod(dataset.period, locale), STYLES.coverPeriod), 24);
  if (dataset.description !== undefined) {
    await sheet.addRow([], 10);
    await sheet.addRow(wide(dataset.description, STYLES.text), textRowPoints([dataset.description, 92]));
  }
  await sheet.addRow([], 30);
  const facts = [
    [texts.period, texts.days(dataset.period.from, dataset.period.to)],
    [texts.timezone, dataset.period.timezone],
    [texts.made, formatZonedInstant(new Date(context.madeAt), dataset.period.timezone, locale)],
    [texts.owner, dataset.owner],
    [texts.sections, texts.sectionCount(dataset.tables.length)],
  ] as const;
  for (const [label, value] of facts) await sheet.addRow(fact(label, value), 18);
  await sheet.addRow([], 24);

  const { headlines = [] } = dataset;
  if (headlines.length > 0) {
    await sheet.addRow(wide(words.status.headlines, STYLES.heading), 24);
    for (const headline of headlines) {
      await sheet.addRow(wide(headline, STYLES.text), Math.max(20, textRowPoints([headline, 90])));
    }
    await sheet.addRow([], 16);
  }
  const incomplete = incompleteNotes(dataset, words);
  if (incomplete.length === 0) {
    const text = completenessText(dataset, words);
    await sheet.addRow(wide(text, STYLES.text), Math.max(20, textRowPoints([text, 90])));
  } else {
    await sheet.addRow(wide(heading(incomplete.length), STYLES.warning), 24);
    const titles = new Map(dataset.tables.map((table) => [table.id, table.title]));
    for (const note of incomplete) {
      const title = titles.get(note.section) ?? note.section;
      const height = textRowPoints([note.text, 66], [title, 24]);
      await sheet.addRow(
        [undefined, { value: title, style: STYLES.text }, { value: note.text, style: STYLES.text }],
        height,
      );
    }
  }
  await sheet.close();
}

const coverageLabel = (table: Table, { dataset, locale, words }: WorkbookContext): string => {
  const { contents } = words.workbook;
  if (table.current) return contents.current;
  if (table.range === null) return contents.list;
  const { from, to } = dataset.period;
  const own = table.period.from !== from || table.period.to !== to ? formatDateRange(table.period, locale) : undefined;
  if (table.granularity !== null)
    return [contents.by[table.granularity], ...(own === undefined ? [] : [own])].join(', ');
  if (isOfReadings(table)) return contents.lastDay;
  return own ?? contents.whole;
};

/** The table of contents. Written last, when it is known whether the sheet of long texts exists. */
export async function writeContents(book: WorkbookFile, context: WorkbookContext): Promise<void> {
  const { dataset, names, locale, words } = context;
  const { contents: texts, sheets } = words.workbook;
  const sheet = book.addSheet(names.contents, {
    widths: [46, 18, 10, 48],
    landscape: false,
    footer: footerOf(context),
    sharedStrings: true,
    position: 1,
  });
  await sheet.addRow([{ value: sheets.contents, style: STYLES.title }], 26);
  await sheet.addRow(
    [
      {
        value: `${isolateBidi(dataset.organization)} · ${isolateBidi(dataset.title)} · ${dataset.period.label}`,
        style: STYLES.quiet,
        span: 4,
      },
    ],
    24,
  );
  await sheet.addRow(
    [
      { value: texts.section, style: STYLES.headerLabel },
      { value: texts.covers, style: STYLES.headerLabel },
      { value: texts.rows, style: STYLES.headerValue },
      { value: texts.toKnow, style: STYLES.headerIndented },
    ],
    22,
  );
  for (const [index, table] of dataset.tables.entries()) {
    const undefinedAll = lacksCurrentCounts(table);
    const incomplete = tableNotes(table, locale).filter(
      (note) => note.incomplete || (undefinedAll && note.code === 'undefined'),
    );
    const notes = incomplete.map((note) => incompleteNoteText(note, words)).join('\n');
    const sheetNames = names.tables[index] ?? [];
    for (const [part, name] of sheetNames.entries()) {
      const title = sliceTitle(table.title, part, sheetNames.length, words);
      const covers = coverageLabel(table, context);
      await sheet.addRow(
        [
          { value: title, style: STYLES.cellLink, link: name },
          { value: covers, style: STYLES.cellText },
          {
            value: Math.min(table.rows.length - part * context.rowsPerSheet, context.rowsPerSheet),
            style: STYLES.cellCount,
          },
          {
            value: notes,
            style: notes === '' ? STYLES.cellText : STYLES.cellWarning,
          },
        ],
        textRowPoints([title, 46], [covers, 18], [notes, 44]),
      );
    }
  }
  const others = [
    [names.charts, texts.charts],
    [names.definitions, texts.definitions],
    [names.run, texts.run],
    [names.chartData, texts.chartData],
    [book.longTexts.length === 0 ? undefined : names.longTexts, texts.longTexts],
  ] as const;
  for (const [name, description] of others) {
    if (name === undefined) continue;
    await sheet.addRow(
      [
        { value: name, style: STYLES.cellLink, link: name },
        { value: description, style: STYLES.cellQuiet, span: 3 },
      ],
      18,
    );
  }
  await sheet.addRow([], 12);
  const summed = dataset.tables
    .filter(({ id }) => Object.hasOwn(dataset.sums ?? {}, id))
    .map(({ title }) => isolateBidi(title));
  const untouched = texts.untouched(
    summed,
    dataset.tables.some(({ comparisons }) => comparisons.length > 0),
  );
  await sheet.addRow([{ value: untouched, style: STYLES.quiet, span: 4 }], textRowPoints([untouched, 122]));
  await sheet.close();
}
