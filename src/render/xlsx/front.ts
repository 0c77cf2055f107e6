import { isolate } from '../../base/bidi.ts';
import type { Logo } from '../../define/logo.ts';
import { inWords } from '../../define/period.ts';
import { type Dataset, incompleteNotes, type Table } from '../../fetch/dataset.ts';
import type { ViewColumn } from '../columns.ts';
import { dayText, instantText } from '../format.ts';
import { counted } from '../words.ts';
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
  classification: pack.classification,
  left: `${isolate(pack.dataset.organization)} · ${isolate(pack.dataset.title)}`,
  // The time of day is on the cover: the middle needs the room.
  right: `${pack.dataset.period.label} · ${dayText(new Date(pack.madeAt), pack.dataset.period.timezone, pack.locale)}`,
});

/** Pixels that a logo may take on the cover. */
const LOGO_ROOM = { width: 320, height: 96 };

/** Made smaller where it is too large for its room, never larger: a small picture blown up is not sharp. */
function logoOnCover({ width, height, ...logo }: Logo, organization: string): DrawnPicture {
  const scale = Math.min(1, LOGO_ROOM.width / width, LOGO_ROOM.height / height);
  return {
    ...logo,
    name: 'Logo',
    description: `Logo of ${isolate(organization)}`,
    width: width * scale,
    height: height * scale,
    from: { row: 2, column: 1 },
  };
}

/** The page a board sees first: whose figures, of what, of when, made when, whom to ask, and what is missing. */
export async function writeCover(book: Book, pack: Pack): Promise<void> {
  const { dataset, locale } = pack;
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
  if (pack.logo !== undefined) sheet.draw([logoOnCover(pack.logo, dataset.organization)]);
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
    ['Period', `${dataset.period.from} to ${dataset.period.to}, both days included`],
    ['Time zone', dataset.period.timezone],
    ['Made', instantText(new Date(pack.madeAt), dataset.period.timezone, locale)],
    ['Owner', dataset.owner],
    ['Sections', counted(dataset.tables.length, 'section', 'sections', locale)],
  ] as const;
  for (const [label, value] of facts) await sheet.row(fact(label, value), 18);
  await sheet.row([], 24);

  const incomplete = incompleteNotes(dataset);
  if (incomplete.length === 0) {
    await sheet.row(wide('Complete: the service answered every section in full.', STYLES.plain), 20);
  } else {
    const heading = `Incomplete: ${counted(incomplete.length, 'thing', 'things', locale)} to know before you use these figures`;
    await sheet.row(wide(heading, STYLES.warning), 24);
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

const covers = (table: Table): string => {
  if (table.current) return 'Current counts';
  if (table.range === null) return 'List';
  return table.granularity === null ? 'Whole period' : `By ${table.granularity}`;
};

/** A section whose rows are on several sheets says on each which part it is. */
export const partTitle = (title: string, part: number, parts: number): string =>
  parts === 1 ? title : `${isolate(title)} (part ${part + 1} of ${parts})`;

export async function writeContents(book: Book, pack: Pack): Promise<void> {
  const { dataset, names } = pack;
  const sheet = book.sheet(names.contents, {
    widths: [46, 18, 10, 48],
    landscape: false,
    footer: footerOf(pack),
    sharedStrings: true,
  });
  await sheet.row([{ value: 'Contents', style: STYLES.title }], 26);
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
      { value: 'Section', style: STYLES.headerLabel },
      { value: 'Covers', style: STYLES.headerLabel },
      { value: 'Rows', style: STYLES.headerValue },
      { value: 'To know', style: STYLES.headerIndented },
    ],
    22,
  );
  for (const [index, table] of dataset.tables.entries()) {
    const incomplete = table.notes.filter((note) => note.incomplete);
    const remark = incomplete.map((note) => `Incomplete: ${note.text}`).join('\n');
    const sheets = names.tables[index] ?? [];
    for (const [part, name] of sheets.entries()) {
      const title = partTitle(table.title, part, sheets.length);
      await sheet.row(
        [
          { value: title, style: STYLES.cellLink, link: name },
          { value: covers(table), style: STYLES.cellText },
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
    [names.charts, 'The charts of the sections'],
    [names.definitions, 'What each figure means'],
    [names.run, 'How this pack was made'],
    [names.chartData, 'The figures that the charts draw'],
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
  await sheet.row(
    [
      {
        value: 'Every figure is as the service computed it; nothing is added up here.',
        style: STYLES.quiet,
        span: 4,
      },
    ],
    18,
  );
  await sheet.close();
}
