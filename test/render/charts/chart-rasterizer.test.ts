import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { chartAltText } from '../../../src/render/charts/alt-text.ts';
import { buildChart, type Chart } from '../../../src/render/charts/chart.ts';
import { createPaintable, IMAGE_WIDTH, loadRasterizer } from '../../../src/render/charts/chart-rasterizer.ts';
import {
  bucketColumn,
  countColumn,
  durationColumn,
  groupColumn,
  nastyDataset,
  onboarding,
  ratioColumn,
  row,
  table,
} from '../../support/dataset.ts';

/** Keeps an e-mail with three charts small. */
const MOST_BYTES = 60_000;

const drawn = (chart: Chart | undefined): Chart => {
  if (chart === undefined) throw new Error('no chart');
  return chart;
};
const kinds = ['line', 'column', 'stacked_column', 'bar', 'sparkline'] as const;
const long = table({
  id: 'long',
  chart: 'bar',
  columns: [groupColumn, countColumn],
  rows: Array.from({ length: 60 }, (_, index) =>
    row({ 'profile.group': `Group with a name that goes on and on ${index}`, 'profiles.created': index ** 3 }),
  ),
});
const many = table({
  id: 'many',
  granularity: 'day',
  chart: 'stacked_column',
  columns: [bucketColumn, groupColumn, countColumn],
  rows: Array.from({ length: 366 * 8 }, (_, index) =>
    row({
      bucket: new Date(Date.UTC(2026, 0, 1 + Math.floor(index / 8))).toISOString().slice(0, 10),
      'profile.group': `Group ${index % 8}`,
      'profiles.created': (index * 7919) % 1000,
    }),
  ),
});

/** The content of the chunks of a PNG, each compared with its checksum. */
function readPng(bytes: Uint8Array): Map<string, Buffer> {
  const png = Buffer.from(bytes);
  expect(png.subarray(0, 8).toString('latin1')).toBe('\x89PNG\r\n\x1a\n');
  const chunks = new Map<string, Buffer>();
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const body = png.subarray(at + 4, at + 8 + length);
    expect(png.readUInt32BE(at + 8 + length)).toBe(crc32(body));
    chunks.set(body.subarray(0, 4).toString('latin1'), body.subarray(4));
    at += 12 + length;
  }
  return chunks;
}

describe('the picture of a chart', () => {
  it.each([
    ...kinds.map((chart) => [chart, { ...onboarding, chart }] as const),
    ['many groups', long] as const,
    ['a year of days and eight groups', many] as const,
  ])('is twice as wide as it is shown, and smaller than 60 kB: %s', async (_, of) => {
    const png = (await loadRasterizer())(drawn(buildChart(of, 'en-GB', 15)), 'en-GB');
    expect(readPng(png).get('IHDR')?.readUInt32BE(0)).toBe(2 * IMAGE_WIDTH);
    expect(png.length).toBeLessThan(MOST_BYTES);
  });

  it('has the same bytes for the same figures', async () => {
    const hash = async (chart: Chart) =>
      createHash('sha256')
        .update((await loadRasterizer())(chart, 'en-GB'))
        .digest('hex');
    const chart = drawn(buildChart(onboarding));
    expect(await hash(chart)).toBe(await hash(drawn(buildChart(onboarding))));
    const [axis] = chart.axes;
    const [series] = axis?.series ?? [];
    const other = { ...chart, axes: [{ ...axis!, series: [{ ...series!, values: [1, 2, 3, 4, 5, 6, 7] }] }] };
    expect(await hash(other)).not.toBe(await hash(chart));
  });

  it('is drawn even when names contain characters that XML forbids', async () => {
    const groups = drawn(buildChart(nastyDataset().tables.find(({ id }) => id === 'groups')!));
    expect(readPng((await loadRasterizer())(groups, 'en-GB')).has('IDAT')).toBe(true);
  });

  it('can tell which names its font can show', () => {
    const isPaintable = createPaintable();
    for (const name of ['Zürich – Łódź', 'Αθήνα', 'Київ', 'תל אביב', '100 % “<b>” €'])
      expect(isPaintable(name)).toBe(true);
    for (const name of ['مجموعة', '東京', '🚀 Growth', '① East', '★', 'Ａ', '𝐀']) expect(isPaintable(name)).toBe(false);
  });

  it('is drawn even when its font cannot show the names', async () => {
    const rows = ['東京', '大阪'].map((name) => row({ 'profile.group': name, 'profiles.created': 1 }));
    const of = table({ id: 'a', chart: 'bar', columns: [groupColumn, countColumn], rows });
    expect(readPng((await loadRasterizer())(drawn(buildChart(of)), 'en-GB')).has('IDAT')).toBe(true);
  });
});

describe('the alternative text of a chart', () => {
  it('names the first, last, highest and lowest figure of each series over time', () => {
    expect(chartAltText(drawn(buildChart({ ...onboarding, columns: [bucketColumn, ratioColumn] })), 'en-GB')).toBe(
      'Line chart by Day. Approval rate: from 81.0% (9 Nov) to 86.2% (13 Nov), highest 86.2% (13 Nov), ' +
        'lowest 81.0% (9 Nov). Previous period: from 83.0% (9 Nov) to 83.0% (13 Nov), highest 83.0% (9 Nov), ' +
        'lowest 83.0% (9 Nov).',
    );
  });

  it('names groups with their figures, and says how many it leaves out', () => {
    const text = chartAltText(drawn(buildChart(long, 'en-GB', 15)), 'en-GB');
    expect(text).toMatch(/^Bar chart by Group\. Profiles created: .* and 9 more\.$/);
  });

  it('says “no figures” for a series without figures, instead of zero', () => {
    const chartOf = (created: number | null) => {
      const rows = [row({ bucket: '2026-11-09', 'profiles.created': created, 'profiles.time_to_decision_p50': null })];
      const columns = [bucketColumn, countColumn, durationColumn];
      return buildChart(table({ id: 'a', granularity: 'day', chart: 'line', columns, rows }));
    };
    expect(chartAltText(drawn(chartOf(5)), 'en-GB')).toMatch(/ Time to decision \(median\): no figures\.$/);
    // A chart without any figure is left out.
    expect(chartOf(null)).toBeUndefined();
  });
});
