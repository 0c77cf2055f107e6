import { describe, expect, it } from 'vitest';
import type { Row } from '../../../src/fetch/dataset.ts';
import { buildChart, type Chart } from '../../../src/render/charts/chart.ts';
import { loadRasterizer } from '../../../src/render/charts/chart-rasterizer.ts';
import { echartsOption } from '../../../src/render/charts/echarts-option.ts';
import {
  bucketColumn,
  countColumn,
  durationColumn,
  groupColumn,
  ratioColumn,
  row,
  strangeColumn,
  table,
} from '../../support/dataset.ts';

const optionOf = (of: ReturnType<typeof table>): Record<string, unknown> => {
  const chart = buildChart(of);
  if (chart === undefined) throw new Error('no chart');
  return echartsOption(chart, 'en-GB').option;
};
const days = (values: readonly Row['values'][]) =>
  values.map((each, index) => row({ bucket: `2026-11-0${index + 1}`, ...each }));
const byDay = { granularity: 'day' } as const;

describe('the axis scales of an image', () => {
  it('of sparklines start at zero, as in the workbook, unless there are negative figures', () => {
    const rows = days([
      { [countColumn.name]: 1000, [strangeColumn.name]: -5, [ratioColumn.name]: null },
      { [countColumn.name]: 1001, [strangeColumn.name]: 5, [ratioColumn.name]: 0.5 },
    ]);
    const columns = [bucketColumn, countColumn, strangeColumn, ratioColumn];
    const { yAxis } = optionOf(table({ id: 'a', ...byDay, chart: 'sparkline', columns, rows }));
    expect(yAxis).toMatchObject([{ min: 0 }, {}, { min: 0 }]);
    expect(yAxis).not.toMatchObject([{}, { min: expect.anything() }, {}]);
    expect(yAxis).not.toMatchObject([{ scale: true }]);
  });

  it('of a line of rates may begin above zero, those of its columns never do', () => {
    const rows = days([0.86, 0.9, 0.91].map((rate) => ({ [ratioColumn.name]: rate })));
    const rates = { ...byDay, columns: [bucketColumn, ratioColumn], rows };
    expect(optionOf(table({ id: 'a', ...rates, chart: 'line' })).yAxis).toMatchObject([{ min: 0.8, interval: 0.05 }]);
    expect(optionOf(table({ id: 'a', ...rates, chart: 'column' })).yAxis).not.toMatchObject([{ min: 0.8 }]);
  });

  it('of two axes have zero and grid lines at the same heights where figures are negative', () => {
    const rows = days([
      { [strangeColumn.name]: -40, [durationColumn.name]: 7200 },
      { [strangeColumn.name]: 90, [durationColumn.name]: 36_000 },
    ]);
    const columns = [bucketColumn, strangeColumn, durationColumn];
    const { yAxis } = optionOf(table({ id: 'a', ...byDay, chart: 'column', columns, rows }));
    expect(yAxis).toMatchObject([
      { min: -50, max: 100, interval: 25 },
      // Drawn in hours.
      { min: -5, max: 10, interval: 2.5 },
    ]);
  });

  it('of stacked columns cover the whole stack', () => {
    const more = { ...strangeColumn, name: 'more' };
    const rows = days([{ [strangeColumn.name]: -40, more: -40, [countColumn.name]: 3 }]);
    const columns = [bucketColumn, strangeColumn, more, countColumn];
    const { yAxis } = optionOf(table({ id: 'a', ...byDay, chart: 'stacked_column', columns, rows }));
    expect(yAxis).toMatchObject([
      { min: -100, max: 150, interval: 50 },
      { min: -2, max: 3, interval: 1 },
    ]);
  });

  it('are left to ECharts when no figure is negative', () => {
    const rows = days([{ [countColumn.name]: 1, [ratioColumn.name]: 0.5 }]);
    const columns = [bucketColumn, countColumn, ratioColumn];
    const { yAxis } = optionOf(table({ id: 'a', ...byDay, chart: 'line', columns, rows }));
    expect(yAxis).not.toMatchObject([{ max: expect.anything() }]);
  });
});

describe('the names in an image', () => {
  const start = 'Profiles of natural persons who were asked again';

  it('stay distinguishable by their ends', () => {
    const metric = (name: string) => ({ ...countColumn, name, label: `${start} ${name}` });
    const rows = days([{ once: 1, twice: 2, other: 3 }]);
    const columns = [bucketColumn, metric('once'), metric('twice'), { ...countColumn, name: 'other', label: 'Other' }];
    const { series, legend } = optionOf(table({ id: 'a', ...byDay, chart: 'line', columns, rows }));
    const { data } = legend as { data: string[] };
    expect(data).toEqual([
      expect.stringMatching(/^Profiles of….* once$/),
      expect.stringMatching(/^Profiles of….* twice$/),
      'Other',
    ]);
    expect(series).toMatchObject(data.map((name) => ({ name })));
    for (const name of data) expect(name.length).toBeLessThanOrEqual(36);
  });

  it('of groups stay distinguishable even when only their middles differ', () => {
    const rows = ['a', 'b'].map((middle) =>
      row({ 'profile.group': `${start} ${middle} ${start}`, 'profiles.created': 1 }),
    );
    const { yAxis } = optionOf(table({ id: 'a', chart: 'bar', columns: [groupColumn, countColumn], rows }));
    const { data } = yAxis as { data: string[] };
    expect(new Set(data).size).toBe(2);
  });
});

it('a bar with a long name wraps the name', () => {
  const names = ['Retail', 'Persons with an address in a country of high risk'];
  const rows = names.map((name) => row({ [groupColumn.name]: name, [countColumn.name]: 5 }));
  const of = table({ id: 'a', chart: 'bar', columns: [{ ...groupColumn, values: [] }, countColumn], rows });
  expect(optionOf(of).yAxis).toMatchObject({
    data: names,
    axisLabel: { overflow: 'break', width: expect.any(Number) },
  });
});

describe('a chart with an unfinished period', () => {
  const chart: Chart = {
    kind: 'column',
    title: 'Time to decision',
    categoryTitle: 'Month',
    categories: ['Sept 2026', 'Oct 2026'],
    overTime: true,
    partial: [false, true],
    omitted: [],
    axes: [
      {
        title: 'Time to decision (hours)',
        quantity: { kind: 'duration', scale: 'hours' },
        series: [
          {
            name: 'Time to decision',
            metric: 'ttd',
            values: [7200, 3600],
            quantity: { kind: 'duration', scale: 'hours' },
            previous: false,
          },
        ],
      },
    ],
  };

  it('hatches the unfinished column, and draws figures in the shown unit', () => {
    const { series } = echartsOption(chart, 'en-GB').option;
    expect(series).toMatchObject([{ type: 'bar', data: [2, { value: 1, itemStyle: { decal: {} } }] }]);
  });

  it('shows the hatching in its picture', async () => {
    const draw = await loadRasterizer();
    const plain = draw({ ...chart, partial: [false, false] }, 'en-GB');
    expect(Buffer.from(draw(chart, 'en-GB')).equals(plain)).toBe(false);
  });
});
