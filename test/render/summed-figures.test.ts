import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Table } from '../../src/fetch/dataset.ts';
import type { TableNote } from '../../src/fetch/notes.ts';
import { messagesFor } from '../../src/i18n/messages.ts';
import { renderEmail } from '../../src/render/email/render-email.ts';
import { countColumn, dataset, MADE_AT, ratioColumn, row, table, typeColumn, WEEK_BEFORE } from '../support/dataset.ts';
import { cellsOf, readWorkbook } from '../support/read-files.ts';
import { artifactNamed, useRenderFolder } from '../support/render-folder.ts';

const { render } = useRenderFolder();

const { name: count, label } = countColumn;
const UNDEFINED: TableNote = {
  code: 'undefined',
  message: { id: 'undefined_cells', of: { labels: [ratioColumn.label] } },
  incomplete: false,
};

const plain = table({
  id: 'plain',
  title: 'Plain',
  columns: [typeColumn, countColumn, ratioColumn],
  rows: [row({ 'profile.type': 'entity', [count]: 3, [ratioColumn.name]: null })],
  totals: { values: { [count]: 3, [ratioColumn.name]: null } },
  notes: [UNDEFINED],
});
const summed: Table = { ...plain, id: 'summed', title: 'Three years' };
const SUMS = { summed: { cells: [count], totals: [count] } };

const sheetsOf = async (tables: readonly Table[], locale: string) => {
  const { path } = artifactNamed(
    await render(dataset(tables, { sums: SUMS }), [{ format: 'xlsx' }], { locale }),
    '.xlsx',
  );
  const book = readWorkbook(path);
  return book.SheetNames.map((sheet) => ({
    sheet,
    texts: cellsOf(book, sheet).flatMap((line) => line.flatMap((cell) => (cell?.t === 's' ? [String(cell.v)] : []))),
  }));
};

describe.each(['en-GB', 'de-DE'])('sums of several calls, in %s', (locale) => {
  const words = messagesFor(locale);
  const { untouched } = words.workbook.contents;
  const sums = words.table.sumsOfCalls([label], [label]);

  it('are not mentioned if the table has none', async () => {
    const sheets = await sheetsOf([plain], locale);
    expect(sheets.find(({ sheet }) => sheet === words.workbook.sheets.definitions)?.texts).toContain(
      untouched([], false),
    );
    expect(sheets.flatMap(({ texts }) => texts)).not.toContain(sums);
  });

  it('are not mentioned for a section with the id “constructor”', async () => {
    const sheets = await sheetsOf([{ ...plain, id: 'constructor' }], locale);
    expect(sheets.find(({ sheet }) => sheet === words.workbook.sheets.definitions)?.texts).toContain(
      untouched([], false),
    );
    expect(sheets.flatMap(({ texts }) => texts)).not.toContain(sums);
  });

  it('are named in workbook, e-mail and schema', async () => {
    const sheets = await sheetsOf([plain, summed], locale);
    const definitions = sheets.find(({ sheet }) => sheet === words.workbook.sheets.definitions)?.texts;
    expect(definitions?.some((text) => text.includes('Three years') && text !== 'Three years')).toBe(true);
    expect(definitions).not.toContain(untouched([], false));
    expect(sheets.find(({ sheet }) => sheet === 'Three years')?.texts).toContain(sums);
    const { text } = await renderEmail(dataset([plain, summed], { sums: SUMS }), [], {
      run: 'r',
      madeAt: MADE_AT,
      locale,
    });
    expect(text).toContain(sums);
    const files = await render(dataset([summed], { sums: SUMS }), [{ format: 'csv', csv: { values: 'formatted' } }], {
      locale,
    });
    const schema = JSON.parse(readFileSync(artifactNamed(files, 'summed.schema.json').path, 'utf8'));
    expect(schema.description).toContain(sums);
  });

  it('do not hide that changes are computed by Docket', async () => {
    const compared = { ...plain, comparisons: [WEEK_BEFORE] };
    const sheets = await sheetsOf([compared], locale);
    const definitions = sheets.find(({ sheet }) => sheet === words.workbook.sheets.definitions)?.texts;
    expect(definitions).toContain(untouched([], true));
    expect(untouched([], true)).not.toBe(untouched([], false));
  });

  it('leave a dash in undefined cells, which no text calls empty', async () => {
    const shown = [
      ...(await sheetsOf([plain], locale)).flatMap(({ texts }) => texts),
      (await renderEmail(dataset([plain]), [], { run: 'r', madeAt: MADE_AT, locale })).text,
    ].join('\n');
    expect(shown).toContain('–');
    expect(shown).not.toMatch(/\bempty\b|\bleere?\b/i);
  });
});
