import { isolateBidi } from '../../../base/text/bidi.ts';
import type { Logo } from '../../../definitions/load/logo.ts';
import type { Dataset } from '../../../fetch/dataset.ts';
import { DEFAULT_LOCALE, messagesFor, type Words } from '../../../i18n/messages.ts';
import { type ViewColumn, viewColumns } from '../../figures/columns.ts';
import { formatDayOf } from '../../figures/format-value.ts';
import { type Footer, toLegalText } from './sheet-parts.ts';
import { STYLES } from './style.ts';
import type { SheetWriter } from './workbook-writer.ts';

/** Data rows per sheet by default. Excel allows 48,576 rows more, for headers, totals and notes. */
export const ROWS_PER_SHEET = 1_000_000;

export interface WorkbookOptions {
  /** The run's id. */
  readonly run: string;
  /** SHA-256 (hex) of the definition. */
  readonly digest: string;
  /** Epoch ms. */
  readonly madeAt: number;
  /** BCP 47; `en-GB` when absent. */
  readonly locale?: string | undefined;
  /** Path of a PNG or JPEG for the cover. */
  readonly logo?: string | undefined;
  /** Shown on the cover and on each printed page, e.g. `Confidential`. */
  readonly classification?: string | undefined;
  /** Encrypts the file. An encrypted file has different bytes each time. */
  readonly password?: string | undefined;
  /** Data rows of a section per sheet; `ROWS_PER_SHEET` when absent. Only tests set it. */
  readonly rowsPerSheet?: number | undefined;
  readonly signal: AbortSignal;
}

/** What the sheets of one workbook share. */
export interface WorkbookContext {
  readonly dataset: Dataset;
  /** The run's id. */
  readonly run: string;
  /** SHA-256 (hex) of the definition. */
  readonly digest: string;
  /** Epoch ms. */
  readonly madeAt: number;
  /** BCP 47. */
  readonly locale: string;
  /** The messages of `locale`. */
  readonly words: Words;
  readonly logo: Logo | undefined;
  /** E.g. `Confidential`. */
  readonly classification: string | undefined;
  /** One list per table. Computed once for all sheets, because it scans all rows. */
  readonly columns: readonly (readonly ViewColumn[])[];
  /** Sheet names. */
  readonly names: {
    readonly cover: string;
    readonly contents: string;
    /** One list per table: the sheets that hold its rows. */
    readonly tables: readonly (readonly string[])[];
    /** Absent when no section has a chart. */
    readonly charts?: string;
    readonly chartData?: string;
    readonly definitions: string;
    readonly run: string;
    /** The sheet exists only when a text is too long for its cell. */
    readonly longTexts: string;
  };
  readonly rowsPerSheet: number;
}

/** Fixed sheets get their names first, so that a section called "Cover" is the one that is renamed. */
export function createWorkbookContext(
  dataset: Dataset,
  options: WorkbookOptions,
  logo: Logo | undefined,
): WorkbookContext {
  const locale = options.locale ?? DEFAULT_LOCALE;
  const words = messagesFor(locale);
  const { sheets } = words.workbook;
  const chartSheets = dataset.tables.some(({ chart }) => chart !== undefined) ? [sheets.charts, sheets.chartData] : [];
  const fixed = [sheets.cover, sheets.contents, sheets.definitions, sheets.run, sheets.longTexts, ...chartSheets];
  const rowsPerSheet = options.rowsPerSheet ?? ROWS_PER_SHEET;
  const parts = dataset.tables.map(({ rows }) => Math.max(1, Math.ceil(rows.length / rowsPerSheet)));
  const [cover = '', contents = '', definitions = '', run = '', longTexts = '', ...rest] = sheetNames(
    [...fixed, ...dataset.tables.flatMap(({ title }, index) => Array.from({ length: parts[index] ?? 1 }, () => title))],
    sheets.unnamed,
  );
  const [charts, chartData] = chartSheets.length === 0 ? [] : rest;
  const sections = rest.slice(chartSheets.length);
  return {
    dataset,
    run: options.run,
    digest: options.digest,
    madeAt: options.madeAt,
    locale,
    words,
    rowsPerSheet,
    columns: dataset.tables.map((table) => viewColumns(table, locale)),
    logo,
    classification: options.classification,
    names: {
      cover,
      contents,
      tables: parts.map((count) => sections.splice(0, count)),
      definitions,
      run,
      longTexts,
      ...(charts === undefined || chartData === undefined ? {} : { charts, chartData }),
    },
  };
}

export const footerOf = ({ dataset, words, classification, madeAt, locale }: WorkbookContext): Footer => ({
  pages: words.workbook.page('&P', '&N'),
  classification,
  left: `${isolateBidi(dataset.organization)} · ${isolateBidi(dataset.title)}`,
  // Without the time of day, which is on the cover: the footer is limited to 255 characters.
  right: `${dataset.period.label} · ${formatDayOf(new Date(madeAt), dataset.period.timezone, locale)}`,
});

/** The first two rows of a sheet: its title and the link back to the contents. Heights in points. */
export async function writeSheetHeading(
  sheet: SheetWriter,
  title: string,
  { names, words }: WorkbookContext,
  linkHeight: number,
): Promise<void> {
  await sheet.addRow([{ value: title, style: STYLES.title }], 26);
  await sheet.addRow([{ value: words.workbook.back, style: STYLES.back, link: names.contents }], linkHeight);
}

/** Excel's limit, in UTF-16 units. */
const MAX_SHEET_NAME_LENGTH = 31;

const truncateSheetName = (text: string, length: number, unnamed: string): string => {
  let name = '';
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (name.length + segment.length > length) break;
    name += segment;
  }
  // A single grapheme with many combining marks can exceed the limit.
  return name.trimEnd() || unnamed;
};

/**
 * Valid and unique Excel sheet names from titles: at most 31 characters, none of `[ ] : * ? / \`, no apostrophe at the
 * ends, unique regardless of case, not "History" (reserved by Excel). Duplicates get ` (2)`, ` (3)`, ….
 * @param unnamed used where nothing of a title is allowed
 */
export function sheetNames(titles: readonly string[], unnamed: string): string[] {
  const taken = new Set(['history']);
  return titles.map((title) => {
    const plain = toLegalText(title)
      .replace(/\s+/g, ' ')
      // Direction marks and overrides would affect the tabs beside.
      .replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '')
      .replace(/[[\]:*?/\\]/g, '-')
      // An apostrophe would have to be doubled in every reference to the sheet; the typographic one needs no escape.
      .replaceAll("'", '’')
      .trim();
    const stem = plain === '' ? unnamed : plain;
    let name = truncateSheetName(stem, MAX_SHEET_NAME_LENGTH, unnamed);
    for (let count = 2; taken.has(name.toLowerCase()); count += 1) {
      const suffix = ` (${count})`;
      name = truncateSheetName(stem, MAX_SHEET_NAME_LENGTH - suffix.length, unnamed) + suffix;
    }
    taken.add(name.toLowerCase());
    return name;
  });
}
