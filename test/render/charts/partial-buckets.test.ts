import { expect, test } from 'vitest';
import { buildChart } from '../../../src/render/charts/chart.ts';
import { echartsOption } from '../../../src/render/charts/echarts-option.ts';
import { csvColumns } from '../../../src/render/formats/csv/section-csv.ts';
import { tableSchema } from '../../../src/render/formats/csv/table-schema.ts';
import { chartData } from '../../../src/render/formats/pdf/data/chart-data.ts';
import { chartXml, sparklineCharts } from '../../../src/render/formats/xlsx/charts/chart-xml.ts';
import { sparklinesExtension } from '../../../src/render/formats/xlsx/package/sparkline-groups.ts';
import { dataset, table } from '../../support/dataset.ts';

const column = (name: string, kind: 'time' | 'metric' | 'dimension') =>
  ({ name, label: name, kind, type: 'x', unit: kind === 'metric' ? 'count' : null }) as const;

/** October: its first and its last week are cut off; `runningFrom` has not ended. */
const october = (kind: 'column' | 'line' | 'stacked_column' | 'sparkline', runningFrom = '9', grouped = false) =>
  table({
    id: 'weeks',
    granularity: 'week',
    range: { from: '2026-10-01', to: '2026-10-31' },
    chart: kind,
    columns: [column('bucket', 'time'), ...(grouped ? [column('risk', 'dimension')] : []), column('created', 'metric')],
    rows: ['2026-09-28', '2026-10-05', '2026-10-12', '2026-10-19', '2026-10-26'].flatMap((bucket) =>
      (grouped ? ['low', 'high'] : ['']).map((risk) => ({
        values: { bucket, ...(grouped ? { risk } : {}), created: 5 },
        partial: bucket >= runningFrom,
      })),
    ),
  });

test.each([false, true])('a chart marks weeks that are cut off or have not ended; grouped: %s', (grouped) => {
  expect(buildChart(october('column', '9', grouped))?.partial).toEqual([true, false, false, false, true]);
  expect(buildChart(october('column', '2026-10-19', grouped))?.partial).toEqual([true, false, false, true, true]);
});

test.each(['column', 'line', 'stacked_column'] as const)(
  'mail, PDF and workbook mark the same cut-off weeks in a %s chart',
  (kind) => {
    const chart = buildChart(october(kind));
    if (chart === undefined) throw new Error('expected a chart');
    expect(chartData(chart, 'en').partial).toEqual([true, false, false, false, true]);
    const xml = chartXml(chart, { sheet: 'x', row: 1 }, 'en', true);
    expect([...xml.matchAll(/<c:dPt><c:idx val="(\d)"/g)].map(([, index]) => Number(index))).toEqual([0, 4]);
    const { series } = echartsOption(chart, 'en').option as { series: { data: unknown[] }[] };
    const marked = series[0]?.data.map((each) => typeof each === 'object' && each !== null && 'itemStyle' in each);
    expect(marked).toEqual([true, false, false, false, true]);
  },
);

test('a raw CSV file has one column for weeks still running and one for weeks that are cut off', () => {
  const weeks = october('column', '2026-10-26');
  const columns = csvColumns(weeks, { values: 'raw', separator: 'comma' });
  const [running, cut] = columns.slice(-2);
  const rows = 'path' in weeks.rows ? [] : weeks.rows;
  expect(rows.map((row) => running?.field(row))).toEqual(['false', 'false', 'false', 'false', 'true']);
  expect(rows.map((row) => cut?.field(row))).toEqual(['true', 'false', 'false', 'false', 'true']);
  const fields = tableSchema(dataset([weeks]), weeks, columns, { values: 'raw', separator: 'comma' }).fields;
  expect(fields.at(-1)).toMatchObject({ name: cut?.header, type: 'boolean' });
  expect(fields.at(-1)?.description).not.toBe(fields.at(-2)?.description);
});

test('sparklines mark cut-off weeks in mail, PDF and workbook', () => {
  const chart = buildChart(october('sparkline'));
  if (chart === undefined) throw new Error('expected a chart');
  const marked = [true, false, false, false, true];
  expect(chartData(chart, 'en').lines.map(({ partial }) => partial)).toEqual([marked]);
  const { series } = echartsOption(chart, 'en').option as { series: { symbolSize: number; data: unknown[] }[] };
  expect(series[0]?.data.map((each) => typeof each === 'object' && each !== null && 'symbolSize' in each)).toEqual(
    marked,
  );
  expect(series[0]?.symbolSize).toBe(0);
  const [{ xml = '' } = {}] = sparklineCharts(chart, { sheet: 'x', row: 1 }, 'en');
  expect([...xml.matchAll(/<c:dPt><c:idx val="(\d)"/g)].map(([, index]) => Number(index))).toEqual([0, 4]);
});

test('a native sparkline in Excel ends in another colour when its last period is running or cut off', () => {
  const points = { sheet: 'Data', column: 1, rows: { from: 2, to: 6 } };
  const lines = [true, false].map((endsPartial, row) => ({ row: row + 1, column: 3, points, endsPartial }));
  const groups = sparklinesExtension(lines).split('<x14:sparklineGroup ').slice(1);
  const lastOf = groups.map((group) => [/colorLast rgb="(\w+)"/.exec(group)?.[1], /<xm:sqref>(\w+)/.exec(group)?.[1]]);
  expect(lastOf).toEqual([
    ['FFD55E00', 'D2'],
    ['FF9AA5B1', 'D1'],
  ]);
});
