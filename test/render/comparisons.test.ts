import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import type { Comparisons, Table } from '../../src/fetch/dataset.ts';
import { buildChart } from '../../src/render/charts/chart.ts';
import { renderEmail } from '../../src/render/email/render-email.ts';
import { bucketColumn, countColumn, dataset, MADE_AT, ratioColumn, row, table } from '../support/dataset.ts';
import { readCsv, readHtmlTables, tableOn } from '../support/read-files.ts';
import { artifactNamed, useRenderFolder } from '../support/render-folder.ts';

const { render } = useRenderFolder();
const CREATED = countColumn.name;
const RATE = ratioColumn.name;

const COMPARISONS: Table['comparisons'] = [
  { kind: 'previous_period', range: { from: '2026-11-02', to: '2026-11-08' } },
  { kind: 'previous_year', range: { from: '2025-11-10', to: '2025-11-16' } },
];
const TO_DATE: Table['toDate'] = { unit: 'year', range: { from: '2026-01-01', to: '2026-11-15' } };
const both = (period: number, year: number, notComparable?: 'partial' | 'weekdays'): Comparisons => ({
  previous_period: {
    values: { [CREATED]: period, [RATE]: 0.5 },
    ...(notComparable === undefined ? {} : { unlike: notComparable }),
  },
  previous_year: { values: { [CREATED]: year, [RATE]: 0.25 } },
});

/** A single row that is comparable with the year before, but not with the previous period. */
const card = table({
  id: 'card',
  title: 'Card',
  comparisons: COMPARISONS,
  toDate: TO_DATE,
  columns: [countColumn, ratioColumn],
  rows: [
    row(
      { [CREATED]: 120, [RATE]: 0.5 },
      { compare: both(60, 100, 'weekdays'), toDate: { [CREATED]: 900, [RATE]: 0.4 } },
    ),
  ],
});
const days = table({
  id: 'days',
  title: 'Days',
  granularity: 'day',
  chart: 'line',
  comparisons: COMPARISONS,
  columns: [bucketColumn, countColumn],
  rows: [
    row({ bucket: '2026-11-09', [CREATED]: 10 }, { compare: both(5, 4, 'partial') }),
    row({ bucket: '2026-11-10', [CREATED]: 10 }, { compare: both(8, 5) }),
  ],
});

describe('several comparisons and a figure to date', () => {
  test('are columns of the workbook, with a dash for the change when figures are not comparable', async () => {
    const { path } = artifactNamed(await render(dataset([card, days]), [{ format: 'xlsx' }]), '.xlsx');
    const shown = (sheet: string) => tableOn(path, sheet).rows.map((line) => line.map((cell) => cell?.w ?? cell?.v));
    expect([tableOn(path, 'Card').headers, ...shown('Card')]).toEqual([
      [
        'Metric',
        'Value',
        'Previous period',
        'Change (previous period)',
        'Year before',
        'Change (year before)',
        'Year to date',
      ],
      ['Profiles created', '120', '60', '–', '100', '▲ +20.0%', '900'],
      ['Approval rate (%)', '50.0%', '50.0%', '–', '25.0%', '▲ +25.0 pp', '40.0%'],
    ]);
    expect(shown('Days')[0]?.slice(1)).toEqual(['10', '5', '–', '4', '▲ +150.0%']);
  });

  test('are columns of a CSV file that says which figures are not comparable', async () => {
    const files = await render(dataset([card, days]), [{ format: 'csv' }]);
    expect(readCsv(artifactNamed(files, ' days.csv').path)).toEqual([
      [
        'Bucket',
        'Profiles created (count)',
        'Profiles created (count), previous period',
        'Profiles created (count), year before',
        'Still running',
        'Not comparable, previous period',
        'Not comparable, year before',
      ],
      ['2026-11-09', '10', '5', '4', 'false', 'partial', ''],
      ['2026-11-10', '10', '8', '5', 'false', '', ''],
    ]);
    const schema = JSON.parse(await readFile(artifactNamed(files, ' card.schema.json').path, 'utf8'));
    const kinds = schema.fields.map(({ name, comparison, to_date }: Record<string, string>) => [
      name,
      comparison ?? to_date,
    ]);
    expect(kinds.slice(0, 4)).toEqual([
      ['Profiles created (count)', undefined],
      ['Profiles created (count), previous period', 'previous_period'],
      ['Profiles created (count), year before', 'previous_year'],
      ['Profiles created (count), year to date', 'year'],
    ]);
  });

  test('are in the e-mail, each change with its comparison', async () => {
    const { html, text } = await renderEmail(dataset([card]), [], { run: 'r', madeAt: MADE_AT });
    expect(readHtmlTables(html)[0]?.slice(0, 2)).toEqual([
      ['Metric', 'This period', 'Change (previous period)', 'Change (year before)', 'Year to date'],
      ['Profiles created', '120', '–', '▲ 20%', '900'],
    ]);
    expect(text).toContain('Profiles created | 120 | was 60 | ▲ 20% from 100 | 900');
    expect(text).toContain('Profiles created: 120 (was 60 (previous period); ▲ 20% from 100 (year before))');
    expect(text).toMatch(/compared with 2\D+8 November 2026 and 10\D+16 November 2025; year to date: 1 January/);
  });
});

test('a chart draws the first comparison, with gaps where figures are not comparable, and says so', () => {
  const [axis] = buildChart(days)?.axes ?? [];
  expect(axis?.series.map(({ name, values }) => [name, values])).toEqual([
    ['Profiles created', [10, 10]],
    ['Previous period', [null, 8]],
  ]);
  expect(buildChart(days)?.omitted).toEqual(['previous period is drawn only where it can be compared']);
  const notComparable = {
    ...days,
    rows: [row({ bucket: '2026-11-09', [CREATED]: 10 }, { compare: both(5, 4, 'partial') })],
  };
  expect(buildChart(notComparable)?.axes[0]?.series.map(({ name }) => name)).toEqual(['Profiles created']);
});

test('a chart of a provisional metric draws no comparison', () => {
  const cohort = { ...days, columns: [bucketColumn, { ...countColumn, provisional: true }] };
  expect(buildChart(cohort)?.axes[0]?.series.map(({ name }) => name)).toEqual(['Profiles created']);
});
