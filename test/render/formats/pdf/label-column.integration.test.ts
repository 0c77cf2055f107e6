import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writePdf } from '../../../../src/render/formats/pdf/write-pdf.ts';
import { countColumn, MADE_AT, row } from '../../../support/dataset.ts';
import { program } from '../../../support/debian.ts';
import { judged, kpis, october, SEPTEMBER, target } from '../../pack/fixtures.ts';

const run = promisify(execFile);
/** 130 letters. */
const LONG =
  'Number of newly created customer profiles of natural persons and legal entities, without related parties and beneficial owners AB';
const RUN = { run: 'r'.repeat(32), digest: 'd'.repeat(64), madeAt: MADE_AT };

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-labels-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test('a label of 130 letters takes two lines of a scorecard with two comparisons, a target and 30 rows', async () => {
  const columns = Array.from({ length: 30 }, (_, index) => ({
    ...countColumn,
    name: `metric.${index}`,
    label: index === 0 ? LONG : `Profiles decided ${index}`,
  }));
  const figures = (value: number) => Object.fromEntries(columns.map(({ name }) => [name, value]));
  const scorecard = kpis({
    columns,
    comparisons: [
      { kind: 'previous_period', range: SEPTEMBER },
      { kind: 'previous_year', range: { from: '2025-10-01', to: '2025-10-31' } },
    ],
    rows: [
      row(figures(699), {
        compare: { previous_period: { values: figures(638) }, previous_year: { values: figures(490) } },
        toDate: figures(1337),
      }),
    ],
    trend: {
      granularity: 'month',
      buckets: ['2026-08-01', '2026-09-01', '2026-10-01'].map((label) => ({ label, partial: false })),
      values: Object.fromEntries(columns.map(({ name }) => [name, [600, 638, 699]])),
    },
  });
  const data = judged(october([scorecard]), [
    target({ metric: 'metric.0', better: 'higher', target: 12_345_678 }),
    target({ metric: 'metric.1', better: 'higher', target: 600, watch: 550 }),
  ]);
  const path = join(folder, 'labels.pdf');
  await writePdf(path, data, { ...RUN, signal: new AbortController().signal });
  const pdftotext = await program('pdftotext', 'poppler-utils');
  const { stdout } = await run(pdftotext, ['-bbox', '-f', '1', '-l', '1', path, '-']);
  const lines = new Map<string, string[]>();
  for (const [, x, y = '', word = ''] of stdout.matchAll(/<word xMin="([\d.]+)" yMin="([\d.]+)"[^>]*>(.*?)<\/word>/g)) {
    if (Number(x) < 380) lines.set(y, [...(lines.get(y) ?? []), word]);
  }
  const texts = [...lines.values()].map((words) => words.join(' '));
  const first = texts.findIndex((text) => text.startsWith('Number of newly'));
  expect(`${texts[first]} ${texts[first + 1]}`.startsWith(LONG)).toBe(true);
  expect(texts.filter((text) => text.startsWith('Profiles decided')).length).toBeGreaterThan(15);
});
