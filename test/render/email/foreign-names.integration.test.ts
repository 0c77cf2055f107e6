import { expect, test } from 'vitest';
import { renderEmail } from '../../../src/render/email/render-email.ts';
import { buildSummary } from '../../../src/render/email/summary.ts';
import { countColumn, dataset, groupColumn, MADE_AT, row, table } from '../../support/dataset.ts';

const cities = {
  ...groupColumn,
  values: [
    { value: 'tyo', label: '東京' },
    { value: 'zrh', label: 'Zürich' },
  ],
};
const PACK = dataset([
  table({
    id: 'cities',
    title: 'Cities',
    chart: 'bar',
    columns: [cities, { ...countColumn, label: '件数' }],
    // The font cannot draw the id of the last one either.
    rows: ['tyo', 'zrh', '大阪'].map((city, at) => row({ [groupColumn.name]: city, [countColumn.name]: at + 1 })),
  }),
]);

test('a chart shows codes for names that its font cannot draw', () => {
  const [section] = buildSummary({ dataset: PACK, locale: 'en-GB' }).sections;
  expect(section?.chart?.categories).toEqual(['東京', 'Zürich', '大阪']);
  expect(section?.drawn?.categories).toEqual(['tyo', 'Zürich', '#1']);
  expect(section?.drawn?.axes[0]?.series[0]?.name).toBe(countColumn.name);
});

test('an e-mail says below the picture what its codes stand for', async () => {
  const { html, pictures } = await renderEmail(PACK, [], { run: 'r', madeAt: MADE_AT });
  expect(pictures.map(({ name }) => name)).toContain('mail-cities.png');
  const text = html.replaceAll(/[\u2066-\u2069]/gu, '');
  for (const code of ['tyo = 東京', '#1 = 大阪', `${countColumn.name} = 件数`]) expect(text).toContain(code);
  // Screen readers read the full names.
  expect(text).toContain('東京 1');
});

test('a chart whose names can all be drawn has no codes', () => {
  const plain = dataset([
    table({
      id: 'a',
      chart: 'bar',
      columns: [groupColumn, countColumn],
      rows: [row({ [groupColumn.name]: 'Zürich', [countColumn.name]: 1 })],
    }),
  ]);
  const [section] = buildSummary({ dataset: plain, locale: 'en-GB' }).sections;
  expect([section?.drawn, section?.codes]).toEqual([undefined, undefined]);
});
