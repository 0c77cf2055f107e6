import { readFile, rm, writeFile } from 'node:fs/promises';
import { DocketError } from '../../../base/error.ts';
import { type Logo, readLogo } from '../../../definitions/load/logo.ts';
import type { Dataset } from '../../../fetch/dataset.ts';
import { DEFAULT_LOCALE, messagesFor } from '../../../i18n/messages.ts';
import { viewColumns } from '../../figures/columns.ts';
import { writeDefinitionsSheet, writeLongTexts, writeRunSheet } from './appendix.ts';
import { planCharts, writeChartData, writeCharts } from './chart-sheets.ts';
import { footerOf, type WorkbookContext, writeContents, writeCover } from './cover.ts';
import { writeSectionSheet } from './section-sheet.ts';
import { toLegalText } from './sheet-parts.ts';
import { createWorkbookFile } from './workbook-writer.ts';

export interface WorkbookOptions extends WorkbookBranding {
  readonly run: string;
  readonly digest: string;
  /** Epoch ms. */
  readonly madeAt: number;
  readonly locale?: string | undefined;
  /** Rows of a section on one sheet, at most; `ROWS_PER_SHEET` when absent. */
  readonly rowsPerSheet?: number | undefined;
  readonly signal: AbortSignal;
}

/** Rows of a section on one sheet, unless told otherwise. Excel has room for 48,576 more: for headers, totals and notes. */
export const ROWS_PER_SHEET = 1_000_000;

/** What an organization gives its workbooks of its own. */
export interface WorkbookBranding {
  /** Path of a PNG or JPEG, for the cover. */
  readonly logo?: string | undefined;
  /** Who may read it, e.g. `Confidential`: on the cover and on each printed page. */
  readonly classification?: string | undefined;
  /** Revealed, because it may travel to another thread: encrypts the file, whose bytes then differ each time. */
  readonly password?: string | undefined;
}

/** Our own sheets take their names first, so that a section called "Cover" is the one that gives way. */
function createWorkbookContext(dataset: Dataset, options: WorkbookOptions, logo: Logo | undefined): WorkbookContext {
  const locale = options.locale ?? DEFAULT_LOCALE;
  const words = messagesFor(locale);
  const { sheets } = words.workbook;
  const charted = dataset.tables.some((table) => table.chart !== undefined) ? [sheets.charts, sheets.chartData] : [];
  const own = [sheets.cover, sheets.contents, sheets.definitions, sheets.run, sheets.longTexts, ...charted];
  const rowsPerSheet = options.rowsPerSheet ?? ROWS_PER_SHEET;
  const parts = dataset.tables.map(({ rows }) => Math.max(1, Math.ceil(rows.length / rowsPerSheet)));
  const [cover = '', contents = '', definitions = '', run = '', longTexts = '', ...rest] = sheetNames(
    [...own, ...dataset.tables.flatMap(({ title }, index) => Array.from({ length: parts[index] ?? 1 }, () => title))],
    sheets.unnamed,
  );
  const [charts, chartData] = charted.length === 0 ? [] : rest;
  const sections = rest.slice(charted.length);
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

/** The logo as it is now: it was checked when the definitions were read, and may have changed since. */
async function readCurrentLogo(path: string | undefined): Promise<Logo | undefined> {
  if (path === undefined) return undefined;
  const read = await readLogo(path);
  if (!('expected' in read)) return read;
  const { expected, got, next } = read;
  throw new DocketError('render.failed', 'The logo of the organization cannot be put on the cover.', {
    where: path,
    expected,
    got,
    next: `As to the file: ${next}.`,
  });
}

/**
 * The board pack: cover, contents, charts, a sheet per section, definitions, the run's own record, the charts' figures.
 * `path` must not exist; on failure the caller removes what is there. The same dataset, run and instant give the same bytes.
 */
async function writePlainWorkbook(path: string, dataset: Dataset, options: WorkbookOptions): Promise<void> {
  const pack = createWorkbookContext(dataset, options, await readCurrentLogo(options.logo));
  const charts = planCharts(pack);
  const book = createWorkbookFile(
    path,
    {
      title: `${dataset.title} ${dataset.period.label}`,
      subject: dataset.organization,
      madeAt: new Date(options.madeAt),
      longTexts: pack.names.longTexts,
      words: pack.words.workbook.longTexts,
    },
    options.signal,
  );
  try {
    await writeCover(book, pack);
    if (charts !== undefined) await writeCharts(book, pack, charts);
    for (const [index, table] of dataset.tables.entries()) {
      await writeSectionSheet(book, {
        dataset,
        table,
        columns: pack.columns[index] ?? viewColumns(table, pack.locale),
        names: pack.names.tables[index] ?? [table.id],
        rowsPerSheet: pack.rowsPerSheet,
        contents: pack.names.contents,
        locale: pack.locale,
        words: pack.words,
        footer: footerOf(pack),
      });
    }
    await writeDefinitionsSheet(book, pack);
    await writeRunSheet(book, pack);
    if (charts !== undefined) await writeChartData(book, pack, charts);
    await writeContents(book, pack);
    if (book.longTexts.length > 0) await writeLongTexts(book, pack);
    await book.close();
  } catch (error) {
    await book.abort();
    throw error;
  }
}

/**
 * The board pack, encrypted where there is a password. `path` must not exist; on failure the caller removes what is there.
 * Throws `render.failed`; `config.invalid` for a password that Excel does not take.
 */
export async function writeWorkbook(path: string, dataset: Dataset, options: WorkbookOptions): Promise<void> {
  const { password, ...open } = options;
  if (password === undefined) return writePlainWorkbook(path, dataset, open);
  const readable = `${path}.readable`;
  try {
    await rm(readable, { force: true });
    await writePlainWorkbook(readable, dataset, open);
    await encryptFile(readable, path, password);
  } finally {
    await rm(readable, { force: true });
  }
}

/** Excel's limit, in UTF-16 units. */
const MAX_SHEET_NAME_LENGTH = 31;

const truncateSheetName = (text: string, length: number, unnamed: string): string => {
  let kept = '';
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (kept.length + segment.length > length) break;
    kept += segment;
  }
  // One "character" of many marks can be longer than a whole name.
  return kept.trimEnd() || unnamed;
};

/**
 * Titles → sheet names that Excel takes: at most 31 characters, none of `[ ] : * ? / \`, no apostrophe at the ends,
 * unique whatever their case, not "History" (Excel's own). A name that had to give way ends in ` (2)`, ` (3)`, ….
 * @param unnamed where a title leaves nothing
 */
export function sheetNames(titles: readonly string[], unnamed: string): string[] {
  const taken = new Set(['history']);
  return titles.map((title) => {
    const plain = toLegalText(title)
      .replace(/\s+/g, ' ')
      // What turns the reading direction around would do so to the names beside it.
      .replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '')
      .replace(/[[\]:*?/\\]/g, '-')
      // An apostrophe would have to be doubled wherever a range names the sheet; the typographic one reads the same.
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

/** Excel's limit, in UTF-16 units. */
const MAX_PASSWORD_LENGTH = 255;

/**
 * Encrypts a workbook so that Excel and LibreOffice ask for the password (agile encryption, MS-OFFCRYPTO §2.3.4.10:
 * AES-256, SHA-512, 100,000 rounds). The whole file is held in memory, a few times over; its salts are random, so the
 * same workbook gives other bytes each time. `to` must not exist.
 * Throws `config.invalid` for a password longer than Excel takes.
 */
export async function encryptFile(from: string, to: string, password: string): Promise<void> {
  if (password.length > MAX_PASSWORD_LENGTH) {
    throw new DocketError('config.invalid', 'The password of the workbook is longer than Excel takes.', {
      expected: `at most ${MAX_PASSWORD_LENGTH} characters`,
      got: `${password.length} characters`,
      next: 'Choose a shorter password.',
    });
  }
  const { encrypt } = (await import('officecrypto-tool')).default;
  await writeFile(to, encrypt(await readFile(from), { password }), { flag: 'wx' });
}
