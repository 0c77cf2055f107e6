import { describe, expect, it } from 'vitest';
import type { Dataset } from '../../../../src/fetch/dataset.ts';
import { zeroBasedScale } from '../../../../src/render/charts/axis-scale.ts';
import { buildChart } from '../../../../src/render/charts/chart.ts';
import { buildTicks } from '../../../../src/render/formats/pdf/data/axis-ticks.ts';
import { chartData } from '../../../../src/render/formats/pdf/data/chart-data.ts';
import { packData } from '../../../../src/render/formats/pdf/data/pack-data.ts';
import { samplePackData } from '../../../../src/render/formats/pdf/data/sample-data.ts';
import { columnWidths } from '../../../../src/render/formats/pdf/data/table-data.ts';
import { buildPack } from '../../../../src/render/pack/build-pack.ts';
import {
  countColumn,
  dataset,
  groupColumn,
  MADE_AT,
  nastyDataset,
  onboarding,
  row,
  table,
  workload,
} from '../../../support/dataset.ts';

const RUN = { run: 'r'.repeat(32), digest: 'd'.repeat(64), madeAt: MADE_AT, formats: ['pdf', 'csv'] };
const dataOf = (data: Dataset, locale = 'en-GB') => packData(buildPack(data, { locale }), data, RUN);

describe('the data of a PDF', () => {
  it('has the language of its locale and the paper of its region', () => {
    expect(dataOf(dataset([onboarding]))).toMatchObject({ paper: 'a4', language: 'en', region: 'GB', logo: null });
    expect(dataOf(dataset([onboarding]), 'en-US')).toMatchObject({ paper: 'letter', region: 'US' });
    expect(dataOf(dataset([onboarding]), 'de')).toMatchObject({ language: 'de', region: null });
  });

  it('has the figures of each row as the pack shows them, with the unit in the header or in the cell', () => {
    const [section] = dataOf(dataset([onboarding, workload])).sections;
    const [first] = section?.tables ?? [];
    expect(first?.headers.length).toBe(first?.widths.length);
    expect(first?.groups.reduce((sum, { span }) => sum + span, 0)).toBe(first?.headers.length);
    for (const { cells } of first?.rows ?? []) expect(cells).toHaveLength(first?.headers.length ?? 0);
    const texts = first?.rows[0]?.cells.map(({ text }) => text);
    expect(texts).toContain('1,204');
    expect(texts).toContain('81.0%');
    // 12,345 s; its header says hours or minutes.
    expect(texts).toContain('3.4');
    expect(first?.groups.map(({ text }) => text)).toContainEqual(expect.stringMatching(/hours\)$/));
    // Changes of ratios are in points, which no header says.
    expect(texts).toContainEqual(expect.stringMatching(/^[▲▼] [+-][\d.]+ pp$/));
    expect(first?.rows.at(-1)).toMatchObject({ total: true });
    expect(first?.rows.at(-2)).toMatchObject({ partial: true });
  });

  it('has nothing but a remark for a section without rows', () => {
    const empty = table({ id: 'empty', columns: [groupColumn, countColumn], rows: [] });
    const [section] = dataOf(dataset([empty])).sections;
    expect(section).toMatchObject({ tables: [], chart: null, scorecard: null, description: '', takeaway: '' });
    expect(section?.more).not.toBe('');
  });

  it('leaves out sections that are not printed, and has a table of contents from twelve sections on', () => {
    const sections = Array.from({ length: 12 }, (_, index) => ({ ...onboarding, id: `s${index}` }));
    expect(dataOf(dataset(sections)).contents).toBe(true);
    const [first, ...others] = sections;
    const data = dataOf(dataset([...(first === undefined ? [] : [{ ...first, print: false as const }]), ...others]));
    expect(data.contents).toBe(false);
    expect(data.sections.map(({ id }) => id)).toEqual(others.map(({ id }) => id));
  });

  it('splits 100 metrics into blocks of at most nine, and transposes a table with few rows', () => {
    const metrics = Array.from({ length: 100 }, (_, index) => ({
      ...countColumn,
      name: `m${index}`,
      label: `M ${index}`,
    }));
    const values = Object.fromEntries(metrics.map(({ name }, index) => [name, index]));
    const wide = (count: number) =>
      table({
        id: 'wide',
        columns: [groupColumn, ...metrics],
        rows: Array.from({ length: count }, (_, index) => row({ 'profile.group': `G ${index}`, ...values })),
      });
    const [split] = dataOf(dataset([wide(10)])).sections;
    for (const { headers } of split?.tables ?? []) expect(headers.length).toBeLessThanOrEqual(10);
    expect(split?.tables.reduce((sum, { headers }) => sum + headers.length - 1, 0)).toBe(100);
    const [turned] = dataOf(dataset([wide(3)])).sections;
    expect(turned?.tables).toHaveLength(1);
    expect(turned?.tables[0]?.rows).toHaveLength(100);
    expect(turned?.tables[0]?.headers.map(({ text }) => text).slice(1)).toEqual(['G 0', 'G 1', 'G 2']);
  });

  it('is plain JSON with the same fields as the sample for templates', () => {
    const data = dataOf(nastyDataset());
    expect(JSON.parse(JSON.stringify(data))).toEqual(data);
    const fields = (value: object | undefined) => Object.keys(value ?? {}).sort();
    const sample = samplePackData();
    expect(fields(sample)).toEqual(fields(data));
    expect(fields(sample.words)).toEqual(fields(data.words));
    expect(fields(sample.sections[0])).toEqual(fields(data.sections[0]));
    expect(fields(sample.sections.find(({ chart }) => chart !== null)?.chart ?? {})).toEqual(
      fields(data.sections.find(({ chart }) => chart !== null)?.chart ?? {}),
    );
  });
});

describe('the positions of a chart', () => {
  it('have an axis that begins at zero, with labels that match the figures', () => {
    const chart = buildChart(onboarding);
    if (chart === undefined) throw new Error('no chart');
    const { axes, series, categories } = chartData(chart, 'en-GB');
    const counts = chart.axes[0]?.series[0]?.values ?? [];
    const [axis] = axes;
    const top = Number(axis?.ticks.at(-1)?.text.replaceAll(',', ''));
    expect(axis).toMatchObject({ zero: 0 });
    expect(axis?.ticks[0]).toEqual({ at: 0, text: '0' });
    expect(series[0]?.values).toEqual(counts.map((value) => (value === null ? null : value / top)));
    expect(series[0]?.values).toHaveLength(categories.length);
    // The second unit is on the second axis, undefined figures are gaps.
    expect(series.find((each) => each.axis === 1)?.values).toContain(null);
  });

  it('of stacked columns begin each column where the one below ends', () => {
    const values = [1, 2, 3];
    const rows = values.flatMap((value) =>
      ['A', 'B'].map((group) =>
        row({ bucket: `2026-11-0${value}`, 'profile.group': group, 'profiles.created': value }),
      ),
    );
    const columns = [onboarding.columns[0], groupColumn, countColumn].filter((each) => each !== undefined);
    const chart = buildChart(table({ id: 's', granularity: 'day', chart: 'stacked_column', columns, rows }));
    if (chart === undefined) throw new Error('no chart');
    const [one, other] = chartData(chart, 'en-GB').series;
    expect(one?.bases).toEqual([0, 0, 0]);
    expect(other?.bases).toEqual(one?.values);
  });

  it('have round intervals that include zero and every figure', () => {
    for (const values of [[0], [3, 7], [0.12, 0.9], [-5, 12], [1e9, 2], [-0.003]]) {
      const scale = zeroBasedScale(values, { kind: 'ratio' });
      expect(scale.min).toBeLessThanOrEqual(Math.min(0, ...values));
      expect(scale.max).toBeGreaterThanOrEqual(Math.max(0, ...values));
      const ticks = buildTicks(scale, { kind: 'ratio' }, 'en-GB');
      expect(ticks.length).toBeLessThanOrEqual(8);
      expect(ticks[0]?.at).toBe(0);
      expect(ticks.at(-1)?.at).toBeCloseTo(1);
    }
    expect(zeroBasedScale([1, 2], { kind: 'count' }).interval).toBe(1);
  });
});

describe('widths of columns', () => {
  const column = (number: boolean, header: string, text: string) => ({ number, header, texts: [text] });
  it('are what the cells need, and never exceed the page', () => {
    const few = columnWidths([column(false, 'Group', 'Retail'), column(true, 'Profiles', '12')], 762);
    expect(few.reduce((sum, width) => sum + width, 0)).toBeLessThan(200);
    const many = columnWidths(
      [
        column(false, 'Group', 'x'.repeat(200)),
        ...Array.from({ length: 12 }, () => column(true, 'Profiles created', '1,234,567')),
      ],
      762,
    );
    expect(many.reduce((sum, width) => sum + width, 0)).toBeLessThanOrEqual(762.001);
    expect(Math.min(...many)).toBeGreaterThan(30);
  });

  it('are at least a quarter of their neighbours where the page is too narrow', () => {
    const widths = columnWidths(
      [
        column(false, 'Id', 'x'),
        column(false, 'Name', 'x'.repeat(130)),
        ...Array.from({ length: 6 }, () => column(true, 'Profiles created', '1,234,567,890')),
        column(false, 'Remark', 'x'.repeat(130)),
      ],
      762,
    );
    expect(widths.reduce((sum, width) => sum + width, 0)).toBeLessThanOrEqual(762.001);
    widths.forEach((width, index) => {
      expect(width).toBeGreaterThanOrEqual((widths[index + 1] ?? 0) / 4 - 0.001);
      expect(width).toBeGreaterThanOrEqual((widths[index - 1] ?? 0) / 4 - 0.001);
    });
  });
});
