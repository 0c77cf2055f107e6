import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Dataset } from '../../src/fetch/dataset.ts';
import { writePdf } from '../../src/render/formats/pdf/write-pdf.ts';
import { countColumn, dataset, groupColumn, MADE_AT, ratioColumn, row, table } from '../support/dataset.ts';
import { program } from '../support/debian.ts';

const run = promisify(execFile);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-headings-'));
  await program('pdfinfo', 'poppler-utils');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

let made = 0;
async function pdfOf(data: Dataset): Promise<string> {
  made += 1;
  const path = join(folder, `${made}.pdf`);
  const about = { run: 'r'.repeat(32), digest: 'd'.repeat(64), madeAt: MADE_AT, locale: 'en-GB' };
  await writePdf(path, data, { ...about, signal: new AbortController().signal });
  return path;
}

const MONTHS = ['2026-07-01', '2026-08-01', '2026-09-01'];
const PACK = dataset(
  [
    table({
      id: 'courses',
      title: 'Courses',
      layout: { kind: 'trend' },
      granularity: 'month',
      range: { from: '2026-07-01', to: '2026-09-30' },
      columns: [{ name: 'bucket', label: 'Month', kind: 'time', type: 'date', unit: null }, countColumn, ratioColumn],
      rows: MONTHS.map((bucket, at) => row({ bucket, [countColumn.name]: 10 + at, [ratioColumn.name]: 0.5 + at / 10 })),
    }),
    table({
      id: 'groups',
      title: 'Groups',
      columns: [groupColumn, countColumn],
      chart: 'column',
      rows: [row({ [groupColumn.name]: 'North', [countColumn.name]: 3 })],
    }),
    table({
      id: 'score',
      title: 'Score',
      layout: { kind: 'scorecard', groups: [] },
      columns: [countColumn],
      rows: [row({ [countColumn.name]: 3 })],
      trend: {
        granularity: 'month',
        buckets: MONTHS.map((label, at) => ({ label, partial: at === 2 })),
        values: { [countColumn.name]: [1, null, 3] },
      },
    }),
    table({
      id: 'lines',
      title: 'Lines',
      chart: 'sparkline',
      granularity: 'month',
      range: { from: '2026-07-01', to: '2026-09-20' },
      columns: [{ name: 'bucket', label: 'Month', kind: 'time', type: 'date', unit: null }, countColumn],
      rows: MONTHS.map((bucket, at) => row({ bucket, [countColumn.name]: at })),
    }),
  ],
  { headlines: ['Profiles created: 12.'] },
);

/** The headings of the structure tree in reading order, with level and text. */
async function headingsOf(path: string): Promise<string[]> {
  const { stdout } = await run('pdfinfo', ['-struct-text', path]);
  const found: string[] = [];
  let depth = -1;
  for (const line of stdout.split('\n')) {
    const indent = line.search(/\S/);
    const level = /^\s*(H\d)\b/.exec(line)?.[1];
    if (level !== undefined) {
      found.push(`${level} `);
      depth = indent;
    } else if (indent <= depth) depth = -1;
    else if (depth >= 0) found.push(`${found.pop() ?? ''}${/^\s*"(.*)"$/.exec(line)?.[1] ?? ''}`);
  }
  return found;
}

test('the structure of a PDF has a heading for each section, and a lower one for each panel', async () => {
  const headings = await headingsOf(await pdfOf(PACK));
  expect(headings).toEqual(
    expect.arrayContaining(['H1 Courses', 'H2 Profiles created', 'H2 Approval rate', 'H1 Groups']),
  );
  expect(headings.indexOf('H2 Profiles created')).toBe(headings.indexOf('H1 Courses') + 1);
  // No level is skipped.
  expect(headings[0]).toMatch(/^H1 /);
});

test('a PDF without a headline starts with a heading of the first level', async () => {
  const commented: Dataset = { ...PACK, headlines: [] };
  expect((await headingsOf(await pdfOf(commented)))[0]).toMatch(/^H1 /);
});
