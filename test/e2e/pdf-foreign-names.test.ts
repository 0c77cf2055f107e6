import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writePdf } from '../../src/render/formats/pdf/write-pdf.ts';
import { countColumn, dataset, groupColumn, MADE_AT, row, table } from '../support/dataset.ts';
import { program } from '../support/debian.ts';

const run = promisify(execFile);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-foreign-'));
  await program('pdftotext', 'poppler-utils');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test('groups in a script without a font are shown with their codes in tables and charts', async () => {
  const cities = {
    ...groupColumn,
    values: [
      { value: 'tyo', label: '東京' },
      { value: 'osa', label: '大阪' },
    ],
  };
  const pack = dataset(
    [
      table({
        id: 'cities',
        title: 'Cities',
        chart: 'bar',
        columns: [cities, countColumn],
        filters: [{ label: 'City', is: ['東京'] }],
        rows: ['tyo', 'osa', '京都', '神戸'].map((city, at) =>
          row({ [groupColumn.name]: city, [countColumn.name]: at + 1 }),
        ),
      }),
    ],
    { headlines: ['東京: 1.'] },
  );
  const path = join(folder, 'foreign.pdf');
  const about = { run: 'r'.repeat(32), digest: 'd'.repeat(64), madeAt: MADE_AT, locale: 'en-GB' };
  await writePdf(path, pack, { ...about, signal: new AbortController().signal });
  const { stdout } = await run('pdftotext', ['-layout', path, '-']);
  for (const code of ['[tyo]', '[osa]', '[#1]', '[#2]']) {
    // Once in the table, and once in the chart.
    expect(stdout.split(code).length - 1, code).toBeGreaterThanOrEqual(2);
  }
  expect(stdout).toContain('□□ [tyo]: 1.');
  expect(stdout).not.toContain('東');
});
