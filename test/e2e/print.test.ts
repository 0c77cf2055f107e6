import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ExcelJS from 'exceljs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Output } from '../../src/definitions/schema/kinds.ts';
import { FORMATS } from '../../src/render/formats/registry.ts';
import { renderFiles } from '../../src/render/render-files.ts';
import { MADE_AT } from '../support/dataset.ts';
import { type DemoPacks, openDemoPacks } from '../support/demo-packs.ts';
import { printToPdf } from '../support/libreoffice.ts';
import { type PackCase, samplePacks } from '../support/pack-datasets.ts';
import { type PrintedPage, printedPages } from '../support/printed-pages.ts';
import { artifactNamed } from '../support/render-folder.ts';

/** The smallest size that a board member can read without glasses, in points. */
const LEAST_POINTS = 8;
/** Both programs scale sizes. Half a hundredth of a point is rounding. */
const ROUNDING = 0.005;
const LEAST_USED = 0.25;
const MOST_DEMO_PAGES = 10;
const PAPERS = { 'en-GB': [842, 595], 'de-CH': [842, 595], 'en-US': [792, 612] } as const;
const DEMO_LOCALES = ['en-GB', 'de-CH', 'en-US'] as const;
const GENERATED = 10;
const OUTPUTS: Output[] = [{ format: 'xlsx' }, { format: 'pdf' }];

const smallTexts = (pages: readonly PrintedPage[]) =>
  pages
    .filter(({ smallest }) => smallest !== undefined && smallest.size < LEAST_POINTS - ROUNDING)
    .map(({ number, section, smallest }) => ({ number, section, ...smallest }));

/** Pages less than a quarter full, except the last page of a section with several pages. */
const emptyPages = (pages: readonly PrintedPage[], mayBeEmpty: (page: PrintedPage, index: number) => boolean) =>
  pages
    .filter((page, index) => page.used < LEAST_USED && !mayBeEmpty(page, index))
    .map(({ number, section, used }) => ({ number, section, used }));

const isLastOfSeveral = (pages: readonly PrintedPage[]) => (page: PrintedPage, index: number) =>
  pages[index - 1]?.section === page.section && pages[index + 1]?.section !== page.section;

const isLast = (pages: readonly PrintedPage[]) => (_: PrintedPage, index: number) => index === pages.length - 1;

/** Lines with hashes, which show that a column is too narrow for its figure. */
const hashes = (pages: readonly PrintedPage[]): string[] =>
  pages.flatMap(({ number, lines }) => lines.filter((line) => /#{3,}/.test(line)).map((line) => `${number}: ${line}`));

const paperOf = (pages: readonly PrintedPage[]): string[] => [
  ...new Set(pages.map(({ width, height }) => `${Math.round(width)} × ${Math.round(height)}`)),
];

let folder: string;
let demo: DemoPacks;
let generated: readonly PackCase[];
const printed = new Map<string, readonly PrintedPage[]>();
const pdfs = new Map<string, readonly PrintedPage[]>();

const pagesOf = (from: ReadonlyMap<string, readonly PrintedPage[]>, name: string): readonly PrintedPage[] => {
  const pages = from.get(name);
  if (pages === undefined) throw new Error(`${name} was not printed`);
  return pages;
};

/** Renames a file, so that its PDF gets that name. */
async function named(path: string, name: string): Promise<string> {
  const to = join(folder, name);
  await rename(path, to);
  return to;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-print-'));
  demo = await openDemoPacks(folder);
  const workbooks: string[] = [];
  const documents: string[] = [];
  const keep = async (name: string, artifacts: Parameters<typeof artifactNamed>[0]) => {
    workbooks.push(await named(artifactNamed(artifacts, '.xlsx').path, `${name}.xlsx`));
    documents.push(await named(artifactNamed(artifacts, '.pdf').path, `${name}.typst.pdf`));
  };
  for (const locale of DEMO_LOCALES) {
    const { artifacts } = await demo.run('board-pack', `board-${locale}`, { locale, outputs: OUTPUTS });
    await keep(`board ${locale}`, artifacts);
  }
  generated = samplePacks(GENERATED);
  for (const [index, { dataset, locale }] of generated.entries()) {
    const own = join(folder, `generated-${index}`);
    await mkdir(own);
    const artifacts = await renderFiles(dataset, OUTPUTS, FORMATS, {
      folder: own,
      run: '0123456789abcdef0123456789abcdef',
      madeAt: MADE_AT,
      digest: 'd'.repeat(64),
      locale,
      classification: 'Confidential',
      signal: new AbortController().signal,
    });
    await keep(`generated ${index}`, artifacts);
  }
  workbooks.push(await shrunkWorkbook());
  const prints = await printToPdf(workbooks, folder);
  for (const [index, path] of workbooks.entries()) {
    printed.set(nameOf(path, '.xlsx'), await printedPages(prints[index] ?? ''));
  }
  for (const path of documents) pdfs.set(nameOf(path, '.typst.pdf'), await printedPages(path));
});
afterAll(async () => {
  await demo?.close();
  await rm(folder, { recursive: true, force: true });
});

const nameOf = (path: string, ending: string): string => path.slice(folder.length + 1, -ending.length);

/** Two sheets: one with 12 points at 60 % on a nearly empty page, one with a figure that is too wide for its column. */
async function shrunkWorkbook(): Promise<string> {
  const book = new ExcelJS.Workbook();
  const small = book.addWorksheet('Small', { pageSetup: { scale: 60 } });
  small.getCell('A1').value = 'Small print';
  small.getCell('A1').font = { name: 'Arial', size: 12 };
  const full = book.addWorksheet('Full');
  for (let row = 1; row <= 60; row += 1) full.getCell(row, 1).value = `Row ${row}`;
  full.getColumn(2).width = 2;
  full.getCell('B1').value = 123_456_789;
  const path = join(folder, 'shrunk.xlsx');
  await book.xlsx.writeFile(path);
  return path;
}

test('the measurement finds small text, empty pages and cut figures', () => {
  const pages = pagesOf(printed, 'shrunk');
  const [small] = pages;
  expect(small).toMatchObject({ section: 'Small', smallest: { text: 'Small print' } });
  expect(small?.smallest?.size).toBeCloseTo(7.2, 1);
  expect(smallTexts(pages).map(({ section }) => section)).toEqual(['Small']);
  const several = isLastOfSeveral(pages);
  expect(emptyPages(pages, several).map(({ section }) => section)).toEqual(['Small']);
  // The second page of this sheet has only the last rows.
  expect(pages.filter(({ section }) => section === 'Full')).toHaveLength(2);
  expect(pages[1]?.used).toBeGreaterThan(0.9);
  expect(hashes(pages)).not.toEqual([]);
});

describe.each(DEMO_LOCALES)('the board pack of the demo in %s', (locale) => {
  test.each([
    ['printed from the workbook', printed, isLastOfSeveral],
    ['as PDF', pdfs, isLast],
  ] as const)('%s has at most ten readable pages, none of them nearly empty', (_, from, mayBeEmpty) => {
    const pages = pagesOf(from, `board ${locale}`);
    expect({
      paper: paperOf(pages),
      small: smallTexts(pages),
      empty: emptyPages(pages, mayBeEmpty(pages)),
      cut: hashes(pages),
    }).toEqual({ paper: [PAPERS[locale].join(' × ')], small: [], empty: [], cut: [] });
    expect(pages.length).toBeLessThanOrEqual(MOST_DEMO_PAGES);
  });

  test('starts with the title, the period and the first headline', () => {
    for (const from of [printed, pdfs]) {
      const [first] = pagesOf(from, `board ${locale}`);
      const text = first?.lines.join(' ') ?? '';
      expect(text).toContain('Compliance board pack');
      expect(text).toContain('2026');
      expect(text).toMatch(locale === 'de-CH' ? /Oktober/ : /October/);
    }
  });
});

describe('generated packs', () => {
  test('cover every layout', () => {
    const layouts = generated.flatMap(({ dataset }) => dataset.tables.map(({ layout }) => layout?.kind ?? 'table'));
    expect([...new Set(layouts)].sort()).toEqual(['exceptions', 'scorecard', 'table', 'text', 'trend']);
    expect(new Set(generated.map(({ locale }) => locale.slice(0, 2)))).toEqual(new Set(['de', 'en']));
    const counts = generated.map(({ dataset }) => dataset.tables.length);
    expect(Math.min(...counts)).toBeLessThanOrEqual(5);
    expect(Math.max(...counts)).toBeGreaterThanOrEqual(25);
  });

  /** All problems of the pages of all packs. */
  const faultsOf = (
    from: ReadonlyMap<string, readonly PrintedPage[]>,
    mayBeEmpty: (pages: readonly PrintedPage[]) => (page: PrintedPage, index: number) => boolean,
  ) =>
    generated.flatMap((_, pack) => {
      const pages = pagesOf(from, `generated ${pack}`);
      return [
        ...smallTexts(pages).map((fault) => ({ pack, small: fault })),
        ...emptyPages(pages, mayBeEmpty(pages)).map((fault) => ({ pack, empty: fault })),
        ...hashes(pages).map((fault) => ({ pack, cut: fault })),
      ];
    });
  const isLastOfSheet = (pages: readonly PrintedPage[]) => (page: PrintedPage, index: number) =>
    pages[index + 1]?.section !== page.section;

  test('are readable when printed from the workbook, and a sheet fills all pages except its last', () => {
    expect(faultsOf(printed, isLastOfSheet)).toEqual([]);
  });

  test('are readable as PDF, and fill all pages except the last', () => {
    expect(faultsOf(pdfs, isLast)).toEqual([]);
  });

  test('have no text in the PDF that overlaps other text or leaves the page', () => {
    const collisions = [...pdfs].flatMap(([name, pages]) =>
      pages.flatMap(({ number, collisions }) => collisions.map((fault) => ({ name, number, fault }))),
    );
    expect(collisions).toEqual([]);
  });
});
