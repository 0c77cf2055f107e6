import { isolate } from '../../base/bidi.ts';
import type { Logo } from '../../define/logo.ts';
import { inWords } from '../../define/period.ts';
import { type Dataset, incompleteNotes, lacksCounts, type Table } from '../../fetch/dataset.ts';
import type { Words } from '../../words/words.ts';
import type { ViewColumn } from '../columns.ts';
import { dayText, instantText } from '../format.ts';
import { markedNote, tableNotes } from '../words.ts';
import type { DrawnPicture } from './drawing.ts';
import { heightOf, linesOf } from './measure.ts';
import { COLOURS, STYLES } from './style.ts';
import type { Book, Cell, Footer } from './writer.ts';

export interface Pack {
  readonly dataset: Dataset;
  readonly run: string;
  readonly digest: string;
  /** Epoch ms. */
  readonly madeAt: number;
  readonly locale: string;
  /** Of the locale. */
  readonly words: Words;
  readonly logo: Logo | undefined;
  /** Who may read it. */
  readonly classification: string | undefined;
  /** Of each table. Made once for all sheets, because to make them reads all rows. */
  readonly columns: readonly (readonly ViewColumn[])[];
  /** Of every sheet, in order: front, one a table, back. */
  readonly names: {
    readonly cover: string;
    readonly contents: string;
    /** Of each table the sheets that its rows are on. */
    readonly tables: readonly (readonly string[])[];
    /** Absent when no section asks for a chart. */
    readonly charts?: string;
    readonly chartData?: string;
    readonly definitions: string;
    readonly run: string;
    /** Of a sheet that is there only when a text is too long for its cell. */
    readonly longTexts: string;
  };
  readonly rowsPerSheet: number;
}

export const footerOf = (pack: Pack): Footer => ({
  pages: pack.words.workbook.page('&P', '&N'),
  classification: pack.classification,
  left: `${isolate(pack.dataset.organization)} · ${isolate(pack.dataset.title)}`,
  // The time of day is on the cover: the middle needs the room.
  right: `${pack.dataset.period.label} · ${dayText(new Date(pack.madeAt), pack.dataset.period.timezone, pack.locale)}`,
});

/** Pixels that a logo may take on the cover. */
const LOGO_ROOM = { width: 320, height: 96 };

/** Made smaller where it is too large for its room, never larger: a small picture blown up is not sharp. */
function logoOnCover({ width, height, ...logo }: Logo, organization: string, { workbook }: Words): DrawnPicture {
  const scale = Math.min(1, LOGO_ROOM.width / width, LOGO_ROOM.height / height);
  return {
    ...logo,
    name: workbook.cover.logo,
    description: workbook.cover.logoOf(isolate(organization)),
    width: width * scale,
    height: height * scale,
    from: { row: 2, column: 1 },
  };
}

/** The page a board sees first: whose figures, of what, of when, made when, whom to ask, and what is missing. */
export async function writeCover(book: Book, pack: Pack): Promise<void> {
  const { dataset, locale, words } = pack;
  const { cover: own, incomplete: heading } = words.workbook;
  const sheet = book.sheet(pack.names.cover, {
    widths: [3, 24, 66, 3],
    landscape: false,
    footer: footerOf(pack),
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

  await sheet.row(band, 12);
  await sheet.row([], 12);
  await sheet.row([], 78);
  if (pack.logo !== undefined) sheet.draw([logoOnCover(pack.logo, dataset.organization, words)]);
  if (pack.classification !== undefined) {
    await sheet.row(wide(pack.classification, STYLES.coverClassification), 24);
  }
  await sheet.row(wide(dataset.organization, STYLES.coverOrganization), 24);
  await sheet.row(wide(dataset.title, STYLES.coverTitle), linesOf(dataset.title, 40) * 36);
  await sheet.row([], 6);
  await sheet.row(wide(inWords(dataset.period, locale), STYLES.coverPeriod), 24);
  if (dataset.description !== undefined) {
    await sheet.row([], 10);
    await sheet.row(wide(dataset.description, STYLES.text), heightOf([dataset.description, 92]));
  }
  await sheet.row([], 30);
  const facts = [
    [own.period, own.days(dataset.period.from, dataset.period.to)],
    [own.timezone, dataset.period.timezone],
    [own.made, instantText(new Date(pack.madeAt), dataset.period.timezone, locale)],
    [own.owner, dataset.owner],
    [own.sections, own.sectionCount(dataset.tables.length)],
  ] as const;
  for (const [label, value] of facts) await sheet.row(fact(label, value), 18);
  await sheet.row([], 24);

  const incomplete = incompleteNotes(dataset, words);
  if (incomplete.length === 0) {
    const text = completeText(dataset, words);
    await sheet.row(wide(text, STYLES.text), Math.max(20, heightOf([text, 90])));
  } else {
    await sheet.row(wide(heading(incomplete.length), STYLES.warning), 24);
    const titles = new Map(dataset.tables.map((table) => [table.id, table.title]));
    for (const note of incomplete) {
      const title = titles.get(note.section) ?? note.section;
      const height = heightOf([note.text, 66], [title, 24]);
      await sheet.row(
        [undefined, { value: title, style: STYLES.text }, { value: note.text, style: STYLES.text }],
        height,
      );
    }
  }
  await sheet.close();
}

/** Of a dataset that is not incomplete: whether every figure is there. */
export function completeText({ tables }: Pick<Dataset, 'tables'>, { workbook }: Words): string {
  const lacking = tables.filter(lacksCounts).map(({ title }) => isolate(title));
  return lacking.length === 0 ? workbook.complete : workbook.completeBut(lacking);
}

const covers = (table: Table, { workbook: { contents } }: Words): string => {
  if (table.current) return contents.current;
  if (table.range === null) return contents.list;
  return table.granularity === null ? contents.whole : contents.by[table.granularity];
};

/** A section whose rows are on several sheets says on each which part it is. */
export const partTitle = (title: string, part: number, parts: number, { workbook }: Words): string =>
  parts === 1 ? title : workbook.part(isolate(title), part + 1, parts);

/** Written after all that it lists, because only then it is known whether texts were too long for their cells. */
export async function writeContents(book: Book, pack: Pack): Promise<void> {
  const { dataset, names, locale, words } = pack;
  const { contents: own, sheets } = words.workbook;
  const sheet = book.sheet(names.contents, {
    widths: [46, 18, 10, 48],
    landscape: false,
    footer: footerOf(pack),
    sharedStrings: true,
    place: 1,
  });
  await sheet.row([{ value: sheets.contents, style: STYLES.title }], 26);
  await sheet.row(
    [
      {
        value: `${isolate(dataset.organization)} · ${isolate(dataset.title)} · ${dataset.period.label}`,
        style: STYLES.quiet,
        span: 4,
      },
    ],
    24,
  );
  await sheet.row(
    [
      { value: own.section, style: STYLES.headerLabel },
      { value: own.covers, style: STYLES.headerLabel },
      { value: own.rows, style: STYLES.headerValue },
      { value: own.toKnow, style: STYLES.headerIndented },
    ],
    22,
  );
  for (const [index, table] of dataset.tables.entries()) {
    const undefinedAll = lacksCounts(table);
    const incomplete = tableNotes(table, locale).filter(
      (note) => note.incomplete || (undefinedAll && note.code === 'undefined'),
    );
    const remark = incomplete.map((note) => markedNote(note, words)).join('\n');
    const on = names.tables[index] ?? [];
    for (const [part, name] of on.entries()) {
      const title = partTitle(table.title, part, on.length, words);
      await sheet.row(
        [
          { value: title, style: STYLES.cellLink, link: name },
          { value: covers(table, words), style: STYLES.cellText },
          {
            value: Math.min(table.rows.length - part * pack.rowsPerSheet, pack.rowsPerSheet),
            style: STYLES.cellCount,
          },
          {
            value: remark,
            style: remark === '' ? STYLES.cellText : STYLES.cellWarning,
          },
        ],
        heightOf([title, 46], [remark, 44]),
      );
    }
  }
  const others = [
    [names.charts, own.charts],
    [names.definitions, own.definitions],
    [names.run, own.run],
    [names.chartData, own.chartData],
    [book.longTexts.length === 0 ? undefined : names.longTexts, own.longTexts],
  ] as const;
  for (const [name, what] of others) {
    if (name === undefined) continue;
    await sheet.row(
      [
        { value: name, style: STYLES.cellLink, link: name },
        { value: what, style: STYLES.cellQuiet, span: 3 },
      ],
      18,
    );
  }
  await sheet.row([], 12);
  const summed = dataset.tables.filter(({ id }) => dataset.sums?.[id] !== undefined).map(({ title }) => isolate(title));
  const untouched = own.untouched(
    summed,
    dataset.tables.some(({ compared }) => compared),
  );
  await sheet.row([{ value: untouched, style: STYLES.quiet, span: 4 }], heightOf([untouched, 122]));
  await sheet.close();
}
