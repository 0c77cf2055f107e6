import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Dataset } from '../../src/fetch/dataset.ts';
import { packData } from '../../src/render/formats/pdf/data/pack-data.ts';
import type { TableData } from '../../src/render/formats/pdf/data/table-data.ts';
import { type PdfOptions, writePdf } from '../../src/render/formats/pdf/write-pdf.ts';
import { buildPack } from '../../src/render/pack/build-pack.ts';
import { judged, kpis, october, SEPTEMBER, target } from '../render/pack/fixtures.ts';
import {
  countColumn,
  dataset,
  durationColumn,
  groupColumn,
  MADE_AT,
  ratioColumn,
  row,
  table,
} from '../support/dataset.ts';
import { program } from '../support/debian.ts';

const run = promisify(execFile);
const LARGE = { maxBuffer: 64 * 1024 * 1024 };
const RUN = { run: 'r'.repeat(32), digest: 'd'.repeat(64), madeAt: MADE_AT };
/** The margins of `templates/pack`, in points. */
const [LEFT, PAGE_WIDTH, RIGHT] = [40, 841.89, 801.89];
const PADDING = 5;
/** The rounding of poppler. */
const TOLERANCE = 0.5;
/** Typst lets the hyphen at the end of a line stick out, here into the padding. */
const HYPHEN = 3;

const HASH = '0x9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'; // 66 characters
const WALLET = '0x52908400098527886E0F7030069857D2E4169EE7'; // 42 characters

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-pdf-'));
  await program('pdfinfo', 'poppler-utils');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Box {
  readonly page: number;
  readonly xMin: number;
  readonly xMax: number;
  readonly yMin: number;
  readonly yMax: number;
  readonly text: string;
}

async function wordsOf(data: Dataset, options: Partial<PdfOptions> = {}): Promise<Box[]> {
  const path = join(folder, 'pack.pdf');
  await rm(path, { force: true });
  await writePdf(path, data, { ...RUN, signal: new AbortController().signal, ...options });
  const { stdout } = await run('pdftotext', ['-bbox', path, '-'], LARGE);
  return stdout.split('<page ').flatMap((text, page) =>
    [...text.matchAll(/<word xMin="([\d.-]+)" yMin="([\d.-]+)" xMax="([\d.-]+)" yMax="([\d.-]+)">(.*?)<\/word>/g)].map(
      ([, xMin, yMin, xMax, yMax, word = '']) => ({
        page,
        xMin: Number(xMin),
        yMin: Number(yMin),
        xMax: Number(xMax),
        yMax: Number(yMax),
        text: word,
      }),
    ),
  );
}

/** Words that exceed the page or its left and right margins. */
const outside = (words: readonly Box[]): readonly Box[] =>
  words.filter(({ xMin, xMax }) => xMin < LEFT - TOLERANCE || xMax > RIGHT + TOLERANCE);

/** Words that are printed over another word. */
const overprinted = (words: readonly Box[]): readonly (readonly [Box, Box])[] =>
  words.flatMap((one, index) =>
    words.slice(index + 1).flatMap((other): (readonly [Box, Box])[] => {
      const wide = Math.min(one.xMax, other.xMax) - Math.max(one.xMin, other.xMin);
      const middle = (box: Box) => (box.yMin + box.yMax) / 2;
      const sameLine = one.page === other.page && Math.abs(middle(one) - middle(other)) < 4;
      return sameLine && wide > TOLERANCE ? [[one, other]] : [];
    }),
  );

/** The positions of the columns of a table that starts at the left margin. */
const columnsOf = ({ widths }: TableData): readonly (readonly [number, number])[] =>
  widths.map((width, index) => {
    const from = LEFT + widths.slice(0, index).reduce((sum, each) => sum + each, 0);
    return [from, from + width] as const;
  });

/** The words between two others, top to bottom, that are in no column within its padding. */
function outsideCells(words: readonly Box[], data: TableData, top: Box, bottom: Box): readonly Box[] {
  const columns = columnsOf(data);
  return words
    .filter(({ page, yMin }) => page === top.page && yMin > top.yMax && yMin <= bottom.yMax)
    .filter(
      ({ xMin, xMax, text }) =>
        !columns.some(
          ([from, to]) =>
            xMin >= from + PADDING - TOLERANCE && xMax <= to - PADDING + (text.endsWith('\u00ad') ? HYPHEN : TOLERANCE),
        ),
    );
}

const tableOf = (data: Dataset, id: string): TableData => {
  const pack = packData(buildPack(data, { locale: 'en-GB' }), data, { ...RUN, formats: [] });
  const found = pack.sections.find((section) => section.id === id)?.tables[0];
  if (found === undefined) throw new Error(`no table ${id}`);
  return found;
};

const metrics = (count: number, label: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => ({ ...countColumn, name: `metric.${index}`, label: label(index) }));

const figures = (columns: readonly { readonly name: string }[], value: number) =>
  Object.fromEntries(columns.map(({ name }) => [name, value]));

describe('a long word in the PDF', () => {
  test.each([
    ['a hash beside one figure', HASH, 1, 'Count'],
    ['an address beside nine metrics', WALLET, 9, 'Addresses screened'],
    ['an address beside nine metrics with long headers', WALLET, 9, 'Sanktionslistentrefferquote'],
    ['a name of 20 capitals beside nine metrics', 'WWWWWWWWWWWWWWWWWWWW', 9, 'Screened'],
    ['a word in another script beside nine metrics', 'Ω'.repeat(66), 9, 'Screened'],
  ])('stays in its cell: %s', async (_, word, count, label) => {
    const columns = metrics(count, (index) => `${label} ${index}`);
    const rows = [word, `Other ${word}`].map((group) =>
      row({ 'profile.group': group, ...figures(columns, 1_234_567_890) }),
    );
    const data = dataset([
      table({ id: 'wide', title: 'Topmost', columns: [groupColumn, ...columns], rows, notes: [] }),
    ]);
    const words = await wordsOf(data);
    expect(outside(words)).toEqual([]);
    expect(overprinted(words)).toEqual([]);
    const top = words.find(({ text }) => text === 'Topmost');
    const bottom = words.findLast(({ text, page }) => text.startsWith('1,234,567,890') && page === top?.page);
    if (top === undefined || bottom === undefined) throw new Error('the table is not on one page');
    expect(outsideCells(words, tableOf(data, 'wide'), top, bottom)).toEqual([]);
    // Figures are not broken.
    expect(words.filter(({ text }) => text === '1,234,567,890').length).toBeGreaterThanOrEqual(2 * count);
    expect(words.map(({ text }) => text).join('')).toContain(word);
  });

  test('stays on the page as title, description, organization, label, definition, chart and comment', async () => {
    const columns = metrics(3, (index) => `${HASH}${index}`);
    const group = { ...groupColumn, label: HASH };
    const rows = [HASH, WALLET, 'Third'].map((name, index) =>
      row({ 'profile.group': name, ...figures(columns, index + 1) }),
    );
    const data = dataset(
      (['column', 'bar', 'line'] as const).map((chart) =>
        table({ id: chart, title: HASH, description: HASH, chart, columns: [group, ...columns], rows }),
      ),
      { title: HASH, description: HASH, organization: HASH },
    );
    const words = await wordsOf(data, { classification: HASH.slice(0, 40) });
    expect(words.filter(({ xMin, xMax }) => xMin < 0 || xMax > PAGE_WIDTH)).toEqual([]);
    expect(outside(words)).toEqual([]);
    expect(overprinted(words)).toEqual([]);
  });

  test.each([HASH, WALLET, 'W'.repeat(20)])('stays in its column of a scorecard with all columns: %s', async (word) => {
    const columns = [countColumn, ratioColumn, durationColumn].map((column) => ({
      ...column,
      label: word,
      unit: 'count',
    }));
    const own = kpis({
      title: word,
      columns,
      comparisons: [
        { kind: 'previous_period', range: SEPTEMBER },
        { kind: 'previous_year', range: { from: '2025-10-01', to: '2025-10-31' } },
      ],
      rows: [
        row(figures(columns, 1_234_567_890), {
          compare: {
            previous_period: { values: figures(columns, 234_567_890) },
            previous_year: { values: figures(columns, 1_234_567_890) },
          },
          toDate: figures(columns, 12_345_678_901),
        }),
      ],
    });
    const targets = columns.map(({ name }) => target({ metric: name, better: 'lower', target: 1_000_000_000 }));
    const words = await wordsOf(judged(october([own]), targets));
    expect(words.map(({ text }) => text)).toContain('12,345,678,901');
    expect(outside(words)).toEqual([]);
    expect(overprinted(words)).toEqual([]);
  });
});
