import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseComment } from '../../src/definitions/commentary/comment-text.ts';
import type { Dataset } from '../../src/fetch/dataset.ts';
import { kpis, monthTable, october, SEPTEMBER } from '../render/pack/fixtures.ts';
import { countColumn, row } from '../support/dataset.ts';
import { pdfLines } from '../support/pdf-lines.ts';
import { commented } from '../support/reviewed-dataset.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-first-page-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const pagesOf = (name: string, data: Dataset, locale?: string) => pdfLines(folder, name, data, locale);

const isHeading = (text: string) => (line: string) => line.trim() === text;

test('page one has the first comment, its decisions and its actions, and says what the figures are based on', async () => {
  const text = 'As planned.\nDecision: Approve a second reviewer.\nAction (MLRO, 30 November): Move two analysts.';
  const data = commented(
    october([kpis({ comparisons: [{ kind: 'previous_period', range: SEPTEMBER, rows: null }] })]),
    parseComment(text),
  );
  const [first = []] = await pagesOf('asked', data);
  const page = first.join('\n').replaceAll(/\s+/g, ' ');
  for (const part of [/Computed/, /Asked of you/, /Approve a second reviewer/, /MLRO, 30 November: Move two analysts/])
    expect(page).toMatch(part);
  expect(page).not.toMatch(/Decision:|Action \(/);
});

test('a comment of 4,000 characters with twelve actions gets its own page, with text and actions side by side', async () => {
  const actions = Array.from(
    { length: 12 },
    (_, index) => `Action${index % 2 === 0 ? ' (MLRO, 30 November)' : ''}: Number ${index + 1}.`,
  );
  const words = 'The queue of entities is longer than in September. '.repeat(70).trim();
  const data = commented(october([kpis()]), parseComment(`${words}\n\nBeschluss: Ja.\n${actions.join('\n')}`));
  const pages = await pagesOf('long', data, 'de-CH');
  const page = pages.find((lines) => lines.some(isHeading('Kommentare'))) ?? [];
  const shown = page.join('\n').replaceAll(/\s+/g, ' ');
  expect(shown).toMatch(/The queue of entities.*Von Ihnen erbeten.*Massnahmen/);
  for (let index = 1; index <= 12; index += 1) expect(shown).toContain(`Number ${index}.`);
});

test('no page has only two lines, even with a scorecard of 30 rows, labels of 130 characters and a comment', async () => {
  const label = (index: number) =>
    `${index} ${'Profiles that were created in all regions and channels '.repeat(3)}`.slice(0, 130);
  for (const count of [14, 18, 22, 26, 30]) {
    const columns = Array.from({ length: count }, (_, index) => ({
      ...countColumn,
      name: `m${index}`,
      label: label(index),
    }));
    const values = Object.fromEntries(columns.map(({ name }, index) => [name, index]));
    const table = monthTable({ id: 'kpis', layout: { kind: 'scorecard', groups: [] }, columns, rows: [row(values)] });
    const pages = await pagesOf(
      `rows-${count}`,
      commented(october([table]), parseComment('All as planned.\nDecision: None.')),
    );
    // The header and the footer take two lines.
    for (const lines of pages) expect(lines.length, `${count} rows`).toBeGreaterThan(6);
    const requested = pages.find((lines) => lines.some((line) => line.includes('Asked of you'))) ?? [];
    expect(requested.some((line) => line.includes('All as planned.'))).toBe(true);
  }
});
