import { expect, test } from 'vitest';
import { countColumn, dataset, groupColumn, ratioColumn, row, table } from '../../../support/dataset.ts';
import { readParts } from '../../../support/read-files.ts';
import { artifactNamed, useRenderFolder } from '../../../support/render-folder.ts';

const { render } = useRenderFolder();

const bucket = { name: 'bucket', label: 'Month', kind: 'time', type: 'date', unit: null } as const;
const MONTHS = ['2026-08-01', '2026-09-01', '2026-10-01'];
const section = (id: string, more: object) =>
  table({
    id,
    granularity: 'month',
    range: { from: '2026-08-01', to: '2026-10-31' },
    columns: [bucket, countColumn, ratioColumn],
    rows: MONTHS.map((each, at) => row({ bucket: each, [countColumn.name]: at + 1, [ratioColumn.name]: 0.5 })),
    ...more,
  });

test('a Swiss German workbook names de-CH in all charts, and no other language', async () => {
  const pack = dataset([
    section('lines', { chart: 'line' }),
    section('small', { chart: 'sparkline' }),
    section('trend', { layout: { kind: 'trend' } }),
    table({
      id: 'groups',
      chart: 'bar',
      columns: [groupColumn, countColumn],
      rows: [row({ [groupColumn.name]: 'lang="en-GB"', [countColumn.name]: 1 })],
    }),
  ]);
  const { path } = artifactNamed(await render(pack, [{ format: 'xlsx' }], { locale: 'de-CH' }), '.xlsx');
  const parts = readParts(path);
  const languages = new Set(
    [...parts].flatMap(([, xml]) => [...xml.matchAll(/\b(?:xml:)?lang="([^"]*)"/gi)].map(([, language]) => language)),
  );
  expect([...languages]).toEqual(['de-CH']);
  const charts = [...parts].filter(([name]) => /charts?\/chart\d+\.xml$/.test(name));
  expect(charts.length).toBeGreaterThan(3);
  for (const [, xml] of charts) expect(xml).toContain('lang="de-CH"');
});
