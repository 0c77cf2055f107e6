import { readFile, rm, writeFile } from 'node:fs/promises';
import { DocketError } from '../../../base/error.ts';
import { type Logo, readLogo } from '../../../definitions/load/logo.ts';
import type { Dataset } from '../../../fetch/dataset.ts';
import { viewColumns } from '../../figures/columns.ts';
import { writeDefinitionsSheet, writeLongTexts, writeRunSheet } from './appendix.ts';
import { planCharts, writeChartData, writeCharts } from './chart-sheets.ts';
import { writeContents, writeCover } from './cover.ts';
import { writeSectionSheet } from './section-sheet.ts';
import { createWorkbookContext, footerOf, type WorkbookOptions } from './workbook-context.ts';
import { createWorkbookFile } from './workbook-writer.ts';

/** Reads the logo again: the file may have changed since the definitions were checked. */
async function readCurrentLogo(path: string | undefined): Promise<Logo | undefined> {
  if (path === undefined) return undefined;
  const logo = await readLogo(path);
  if (!('expected' in logo)) return logo;
  const { expected, got, next } = logo;
  throw new DocketError('render.failed', 'The logo of the organization cannot be used.', {
    where: path,
    expected,
    got,
    next: `Correct the logo file: ${next}.`,
  });
}

/**
 * Writes cover, contents, charts, one or more sheets per section, definitions, run record and chart data. `path` must not
 * exist; after a failure the caller removes it. The same dataset, run and instant give the same bytes.
 */
async function writePlainWorkbook(path: string, dataset: Dataset, options: WorkbookOptions): Promise<void> {
  const context = createWorkbookContext(dataset, options, await readCurrentLogo(options.logo));
  const { names, words, locale } = context;
  const charts = planCharts(context);
  const book = createWorkbookFile(
    path,
    {
      title: `${dataset.title} ${dataset.period.label}`,
      subject: dataset.organization,
      madeAt: new Date(options.madeAt),
      longTexts: names.longTexts,
      words: words.workbook.longTexts,
    },
    options.signal,
  );
  try {
    await writeCover(book, context);
    if (charts !== undefined) await writeCharts(book, context, charts);
    for (const [index, table] of dataset.tables.entries()) {
      await writeSectionSheet(book, {
        dataset,
        table,
        columns: context.columns[index] ?? viewColumns(table, locale),
        names: names.tables[index] ?? [table.id],
        rowsPerSheet: context.rowsPerSheet,
        contents: names.contents,
        locale,
        words,
        footer: footerOf(context),
      });
    }
    await writeDefinitionsSheet(book, context);
    await writeRunSheet(book, context);
    if (charts !== undefined) await writeChartData(book, context, charts);
    await writeContents(book, context);
    if (book.longTexts.length > 0) await writeLongTexts(book, context);
    await book.close();
  } catch (error) {
    await book.abort();
    throw error;
  }
}

/**
 * Writes the workbook of a report, encrypted if there is a password. `path` must not exist; after a failure the caller
 * removes it. Throws `render.failed`; `config.invalid` for a password longer than Excel accepts.
 */
export async function writeWorkbook(path: string, dataset: Dataset, options: WorkbookOptions): Promise<void> {
  const { password } = options;
  if (password === undefined) return writePlainWorkbook(path, dataset, options);
  const plain = `${path}.readable`;
  try {
    await rm(plain, { force: true });
    await writePlainWorkbook(plain, dataset, options);
    await encryptFile(plain, path, password);
  } finally {
    await rm(plain, { force: true });
  }
}

/** Excel's limit, in UTF-16 units. */
const MAX_PASSWORD_LENGTH = 255;

/**
 * Encrypts a workbook with a password (agile encryption, MS-OFFCRYPTO §2.3.4.10: AES-256, SHA-512, 100,000 rounds), as
 * Excel and LibreOffice read it. Holds several copies of the file in memory. The salts are random, so each result differs.
 * `to` must not exist. Throws `config.invalid` for a password longer than Excel accepts.
 */
export async function encryptFile(from: string, to: string, password: string): Promise<void> {
  if (password.length > MAX_PASSWORD_LENGTH) {
    throw new DocketError('config.invalid', 'The workbook password is too long for Excel.', {
      expected: `at most ${MAX_PASSWORD_LENGTH} characters`,
      got: `${password.length} characters`,
      next: 'Choose a shorter password.',
    });
  }
  const { encrypt } = (await import('officecrypto-tool')).default;
  await writeFile(to, encrypt(await readFile(from), { password }), { flag: 'wx' });
}
