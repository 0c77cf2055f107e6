import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { kpis, metrics, monthTable, october } from '../render/pack/fixtures.ts';
import { groupColumn, row } from '../support/dataset.ts';
import { pdfLines } from '../support/pdf-lines.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-continued-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Each section has one row more than the one before, so that pages break at every place of a table. */
const sections = Array.from({ length: 12 }, (_, index) => {
  const columns = metrics(7);
  const values = Object.fromEntries(columns.map(({ name }, at) => [name, 1_000 + at]));
  return monthTable({
    id: `section_${index}`,
    title: `Section ${index}`,
    columns: [groupColumn, ...columns],
    rows: Array.from({ length: 30 + index }, (_, at) => row({ [groupColumn.name]: `Group ${at + 1}`, ...values })),
    totals: { values },
  });
});

const TOTAL = /^\s*Total\b/;
const ROW = /^\s*(Group \d+|Total)\b/;

test('every page of a table repeats the section title and the header, and no page starts with the totals', async () => {
  const pages = await pdfLines(folder, 'tables', october([kpis(), ...sections]));
  let section: string | undefined;
  let continued = 0;
  for (const lines of pages) {
    // Skip the running header and the footer.
    const [, first = '', ...rest] = lines.slice(0, -1);
    const title = /^\s*(Section \d+)( \(continued\))?\s*$/.exec(first);
    const at = rest.findIndex((line) => ROW.test(line));
    if (section !== undefined && at !== -1 && title?.[2] !== undefined) {
      expect(title[1]).toBe(section);
      expect(rest.slice(0, at).some((line) => /\bGroup\b.*Metric/.test(line))).toBe(true);
      continued += 1;
    } else if (at !== -1) expect(rest.slice(0, at).join('\n') + first).toMatch(/Section \d+/);
    expect(rest[at] ?? '').not.toMatch(TOTAL);
    section = lines.flatMap((line) => /^\s*(Section \d+)/.exec(line)?.[1] ?? []).at(-1) ?? section;
  }
  expect(continued).toBeGreaterThanOrEqual(6);
});

test('a scorecard over several pages repeats its title, and never leaves its last row alone', async () => {
  for (const count of [31, 32, 33, 34]) {
    const columns = metrics(count);
    const values = Object.fromEntries(columns.map(({ name }, at) => [name, at]));
    const scorecard = monthTable({
      id: 'second',
      title: 'Second',
      layout: { kind: 'scorecard', groups: [] },
      columns,
      rows: [row(values)],
    });
    const pages = await pdfLines(folder, `scorecard-${count}`, october([kpis(), scorecard]), 'de-CH');
    const rows = pages.map((lines) => lines.filter((line) => /^\s*Metric \d+\s+\d+/.test(line)).length);
    for (const [index, found] of rows.entries()) {
      if (found === 0) continue;
      expect(found, `${count} rows: ${rows}`).toBeGreaterThan(2);
      if ((rows[index - 1] ?? 0) > 0)
        expect(pages[index]?.some((line) => line.trim() === 'Second (Fortsetzung)')).toBe(true);
    }
  }
});
