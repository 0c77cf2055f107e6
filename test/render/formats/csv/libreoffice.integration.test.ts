import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import ExcelJS from 'exceljs';
import { expect, onTestFinished, test } from 'vitest';
import { countColumn, dataset, groupColumn, ratioColumn, row, table } from '../../../support/dataset.ts';
import { program } from '../../../support/debian.ts';
import { artifactNamed, useRenderFolder } from '../../../support/render-folder.ts';

const run = promisify(execFile);
const { render } = useRenderFolder();

/**
 * Locales with the separator that Excel there expects, and Windows' number of the language. LibreOffice has a decimal point in
 * fr-CH; the Unicode CLDR, which Docket follows, has a comma, so this file is imported as French of France.
 */
const LOCALES = {
  'de-CH': [';', 2055],
  'de-DE': [';', 1031],
  'sv-SE': [';', 1053],
  'fr-CH': [';', 1036],
  'en-GB': [',', 2057],
} as const;

const TABLE = table({
  id: 'groups',
  columns: [groupColumn, countColumn, ratioColumn],
  rows: [
    ['Zürich; "Nord", 1', 1_234_567, 0.8125],
    ['Genève, Sud', 0, 1],
    ['Total\nof both', 1_204, null],
    ['Below', -1_234, -0.125],
  ].map(([group, count, ratio]) =>
    row({ [groupColumn.name]: group ?? null, [countColumn.name]: count ?? null, [ratioColumn.name]: ratio ?? null }),
  ),
});

/** The cells that LibreOffice imports from the file with these settings. */
async function open(path: string, [separator, language]: (typeof LOCALES)[keyof typeof LOCALES]) {
  const soffice = await program('soffice', 'libreoffice-calc');
  const folder = await mkdtemp(join(tmpdir(), 'docket-csv-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  const file = join(folder, 'groups.csv');
  await copyFile(path, file);
  // Separator, quotation mark, UTF-8, from line 1, columns as found, language, quoted fields are no texts, numbers are recognised.
  const filter = `Text - txt - csv (StarCalc):${separator.charCodeAt(0)},34,76,1,,${language},false,true`;
  const options = [`-env:UserInstallation=file://${join(folder, 'profile')}`, '--headless', `--infilter=${filter}`];
  await run(soffice, [...options, '--convert-to', 'xlsx', '--outdir', folder, file]);
  const workbook = new ExcelJS.Workbook();
  await workbook.xlsx.load((await readFile(join(folder, 'groups.xlsx'))) as never);
  const cells: unknown[][] = [];
  workbook.worksheets[0]?.eachRow((line) => cells.push((line.values as unknown[]).slice(1)));
  return cells;
}

test.each(Object.entries(LOCALES))(
  'LibreOffice reads the columns and numbers of a formatted file in %s',
  async (locale, settings) => {
    const files = await render(dataset([TABLE]), [{ format: 'csv', csv: { values: 'formatted' } }], { locale });
    const { path } = artifactNamed(files, ' groups.csv');
    const [header, ...rows] = await open(path, settings);
    expect(header).toHaveLength(4);
    expect(rows.map((cells) => cells.slice(0, 3))).toEqual([
      ['Zürich; "Nord", 1', 1_234_567, 0.813],
      ['Genève, Sud', 0, 1],
      ['Total\nof both', 1_204, '–'],
      ['Below', -1_234, -0.125],
    ]);
  },
);
