import { expect, test } from 'vitest';
import { parseComment, spansText } from '../../src/definitions/commentary/comment-text.ts';
import type { Chart } from '../../src/render/charts/chart.ts';
import { truncateLabel, truncateLabels } from '../../src/render/charts/label-texts.ts';
import { chartData } from '../../src/render/formats/pdf/data/chart-data.ts';
import { sparklineCharts } from '../../src/render/formats/xlsx/charts/chart-xml.ts';
import { footerCodes } from '../../src/render/formats/xlsx/package/page-footer.ts';
import { sheetNames } from '../../src/render/formats/xlsx/sheet-names.ts';
import { blockLines, shortenLines } from '../../src/render/pack/review/block-lines.ts';

test('a sheet name without spaces does not end inside a figure', () => {
  expect(sheetNames([`${'x'.repeat(28)}34300`], 'Sheet')).toEqual(['x'.repeat(28)]);
});

test('a sheet whose title begins with a long figure is named after the text that follows', () => {
  expect(sheetNames([`${'1234567890'.repeat(4)} profiles`], 'Sheet')).toEqual(['profiles']);
  expect(sheetNames(['1234567890'.repeat(4)], 'Sheet')).toEqual(['Sheet']);
});

test.each(['\u00a0', '\u202f'])('no label or sheet name is cut inside a figure with a no-break space', (space) => {
  const text = `Profiles created: 34${space}300`;
  expect(truncateLabel(text, 23)).toBe('Profiles created…');
  expect(truncateLabel(text, 24)).toBe('Profiles created: 34 300');
  expect(sheetNames([`Profiles that we created: 12${space}345${space}678`], 'Sheet')).toEqual([
    'Profiles that we created',
  ]);
  expect(sheetNames([`Profiles: 34${space}300`], 'Sheet')).toEqual(['Profiles- 34 300']);
});

test.each([
  ['٣٤٬٣٠٠', 3],
  ['३४,३००', 3],
  ['３４，３００', 3],
  ['−12,345', 6],
])('a label shortened in the middle keeps no part of the figure %s', (figure, kept) => {
  // An end of this length would begin inside the figure or after its sign.
  const texts = ['a', 'b'].map((each) => `${'x'.repeat(20)}${each}${figure}`);
  for (const text of truncateLabels(texts, 2 * kept + 1)) expect(text).toMatch(/^x+…( \(2\))?$/);
});

test('names that would be cut to the same text stay distinct, and keep no part of a figure', () => {
  const stem = 'Profiles that were created by the onboarding team in';
  expect(truncateLabels([`${stem} Zurich`, `${stem} Geneva`], 48)).toEqual([
    'Profiles that were… team in Zurich',
    'Profiles that were… team in Geneva',
  ]);
  const figures = truncateLabels([`${'x'.repeat(20)}1234567890123`, `${'x'.repeat(20)}1234567890124`], 20);
  expect(new Set(figures).size).toBe(2);
  for (const text of figures) expect(text).toMatch(/^x+…(?: \(2\))?$/);
});

test('two charts of one section keep distinct names in PDF and workbook', () => {
  const name = (end: string) => `Profiles that were created by the onboarding team in ${end}`;
  const chart: Chart = {
    kind: 'sparkline',
    title: 'Teams',
    categoryTitle: 'Month',
    categories: ['Oct', 'Nov'],
    overTime: true,
    axes: ['Zurich', 'Geneva'].map((end) => ({
      title: name(end),
      quantity: { kind: 'count' },
      series: [{ name: name(end), metric: end, values: [1, 2], quantity: { kind: 'count' }, previous: false }],
    })),
    omitted: [],
  };
  expect(new Set(chartData(chart, 'en').lines.map((line) => line.name)).size).toBe(2);
  const titles = sparklineCharts(chart, { sheet: 'x', row: 1 }, 'en').map(({ xml }) => /<a:t>([^<]*)/.exec(xml)?.[1]);
  expect(new Set(titles).size).toBe(2);
  expect(new Set(chartData({ ...chart, kind: 'line' }, 'en').series.map((line) => line.name)).size).toBe(2);
});

test('the footer of a page is cut at a word, and counts an ampersand as two characters', () => {
  const left = `${'word & '.repeat(8)}34,300 profiles`;
  const shown = footerCodes({ left, right: '', pages: '' }, 100);
  expect(shown).toContain(`${'word && '.repeat(8)}34,300…`);
  const longer = footerCodes({ left: `words ${left}`, right: '', pages: '' }, 100);
  expect(longer).toContain(`${'word && '.repeat(8).trimEnd()}…`);
});

test('a comment in a mail does not end inside a figure', () => {
  const { lines } = shortenLines(blockLines(parseComment(`${'x'.repeat(38)}34300`)), 40, 12);
  expect(lines.map(({ spans }) => spansText(spans))).toEqual([`${'x'.repeat(38)} …`]);
});
