import { rm } from 'node:fs/promises';
import { DocketError } from '../../base/error.ts';
import { type Logo, readLogo } from '../../define/logo.ts';
import type { Dataset } from '../../fetch/dataset.ts';
import { DEFAULT_LOCALE, wordsOf } from '../../words/words.ts';
import { viewColumns } from '../columns.ts';
import { writeDefinitions, writeLongTexts, writeRunSheet } from './back.ts';
import { planCharts, writeChartData, writeCharts } from './charts.ts';
import { encryptFile } from './encrypt.ts';
import { footerOf, type Pack, writeContents, writeCover } from './front.ts';
import { writeSection } from './section.ts';
import { sheetNames } from './sheet-name.ts';
import { createBook } from './writer.ts';

export interface WorkbookOptions extends WorkbookLook {
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
export interface WorkbookLook {
  /** Path of a PNG or JPEG, for the cover. */
  readonly logo?: string | undefined;
  /** Who may read it, e.g. `Confidential`: on the cover and on each printed page. */
  readonly classification?: string | undefined;
  /** Revealed, because it may travel to another thread: encrypts the file, whose bytes then differ each time. */
  readonly password?: string | undefined;
}

/** Our own sheets take their names first, so that a section called "Cover" is the one that gives way. */
function packOf(dataset: Dataset, options: WorkbookOptions, logo: Logo | undefined): Pack {
  const locale = options.locale ?? DEFAULT_LOCALE;
  const words = wordsOf(locale);
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
async function logoAt(path: string | undefined): Promise<Logo | undefined> {
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
async function writePack(path: string, dataset: Dataset, options: WorkbookOptions): Promise<void> {
  const pack = packOf(dataset, options, await logoAt(options.logo));
  const charts = planCharts(pack);
  const book = createBook(
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
      await writeSection(book, {
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
    await writeDefinitions(book, pack);
    await writeRunSheet(book, pack);
    if (charts !== undefined) await writeChartData(book, pack, charts);
    await writeContents(book, pack);
    if (book.longTexts.length > 0) await writeLongTexts(book, pack);
    await book.close();
  } catch (error) {
    await book.abandon();
    throw error;
  }
}

/**
 * The board pack, encrypted where there is a password. `path` must not exist; on failure the caller removes what is there.
 * Throws `render.failed`; `config.invalid` for a password that Excel does not take.
 */
export async function writeWorkbook(path: string, dataset: Dataset, options: WorkbookOptions): Promise<void> {
  const { password, ...open } = options;
  if (password === undefined) return writePack(path, dataset, open);
  const readable = `${path}.readable`;
  try {
    await rm(readable, { force: true });
    await writePack(readable, dataset, open);
    await encryptFile(readable, path, password);
  } finally {
    await rm(readable, { force: true });
  }
}
