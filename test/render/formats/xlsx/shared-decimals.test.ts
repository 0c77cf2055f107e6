import { expect, it } from 'vitest';
import type { SourcedTarget } from '../../../../src/definitions/schema/targets.ts';
import type { Column, Dataset, Table } from '../../../../src/fetch/dataset.ts';
import { judgeDataset } from '../../../../src/render/figures/judge.ts';
import {
  bucketColumn,
  countColumn,
  dataset,
  durationColumn,
  previous,
  ratioColumn,
  row,
  table,
  WEEK_BEFORE,
} from '../../../support/dataset.ts';
import { cellsOf, readWorkbook } from '../../../support/read-files.ts';
import { artifactNamed, useRenderFolder } from '../../../support/render-folder.ts';

const { render } = useRenderFolder();
const hours: Column = { ...durationColumn, shownIn: 'hours' };
const rate: SourcedTarget = { metric: ratioColumn.name, better: 'higher', target: '90%', source: 'organization' };
const TARGETS = [rate, { ...rate, metric: hours.name, better: 'lower', target: '24h' } satisfies SourcedTarget];

async function cellsIn(of: Table, judged = true) {
  const plain: Dataset = dataset([of]);
  const data = judged ? judgeDataset(plain, TARGETS, { sections: [{ id: of.id }] }) : plain;
  const { path } = artifactNamed(await render(data, [{ format: 'xlsx' }]), '.xlsx');
  // The only scorecard of a report stands on its first sheet.
  return cellsOf(readWorkbook(path), of.layout?.kind === 'scorecard' ? 'Summary' : of.title).flat();
}
const shown = async (of: Table, judged = true) =>
  (await cellsIn(of, judged)).flatMap((cell) => cell?.w ?? cell?.v ?? []);

const earlier = table({
  id: 'kpis',
  title: 'KPIs',
  comparisons: [WEEK_BEFORE],
  columns: [ratioColumn, hours],
  rows: [
    row(
      { [ratioColumn.name]: 0.8996, [hours.name]: 86_401 },
      { compare: previous({ [ratioColumn.name]: 0.8999, [hours.name]: 86_402 }) },
    ),
  ],
});

it.each<[string, Table]>([
  ['in a section of one row', earlier],
  ['in a scorecard', { ...earlier, layout: { kind: 'scorecard', groups: [] } }],
])('an earlier figure has as many decimals as the judged figure beside it %s', async (_, of) => {
  const texts = await shown(of);
  for (const text of ['89.96%', '89.99%', '24.0003', '24.0006']) expect(texts).toContain(text);
});

it('an earlier figure has as many decimals as the judged figure beside it in rows', async () => {
  const rows = ['2026-11-09', '2026-11-10'].map((bucket, index) =>
    row(
      { bucket, [ratioColumn.name]: index === 0 ? 0.8996 : 0.5 },
      { compare: previous({ [ratioColumn.name]: index === 0 ? 0.8999 : 0.4 }) },
    ),
  );
  const days = table({
    id: 'days',
    title: 'Days',
    granularity: 'day',
    comparisons: [WEEK_BEFORE],
    columns: [bucketColumn, ratioColumn],
    rows,
  });
  const judged = judgeDataset(dataset([days]), [{ ...rate, per: 'day' }], { sections: [{ id: 'days' }] });
  const { path } = artifactNamed(await render(judged, [{ format: 'xlsx' }]), '.xlsx');
  const texts = cellsOf(readWorkbook(path), 'Days')
    .flat()
    .map((cell) => cell?.w);
  for (const text of ['89.96%', '89.99%', '50.0%', '40.0%']) expect(texts).toContain(text);
});

it('the cells of a trend show judged figures with enough decimals', async () => {
  const days = table({
    id: 'days',
    title: 'Days',
    granularity: 'day',
    columns: [bucketColumn, ratioColumn],
    rows: ['2026-11-09', '2026-11-10'].map((bucket, index) =>
      row({ bucket, [ratioColumn.name]: index === 0 ? 0.5 : 0.8996 }),
    ),
    layout: { kind: 'trend' },
  });
  const texts = await shown(days);
  for (const text of ['89.96%', '50.0%']) expect(texts).toContain(text);
});

// Like the e-mail, a scorecard shows a whole percentage when the figures have fewer than four digits.
it.each<[string, string, Partial<Table>]>([
  ['a section of one row', '▲ +1000.0%', {}],
  ['a scorecard', '▲ +1000%', { layout: { kind: 'scorecard', groups: [] } }],
])('a cell of %s shows an increase of more than 1,000%% without decimals', async (_, thousand, more) => {
  const grown = table({
    id: 'kpis',
    title: 'KPIs',
    comparisons: [WEEK_BEFORE],
    columns: [countColumn],
    rows: [row({ [countColumn.name]: 4000 }, { compare: previous({ [countColumn.name]: 3 }) })],
    ...more,
  });
  const times = (await cellsIn(grown, false)).find((cell) => cell?.w?.startsWith('▲'));
  expect([times?.w, times?.t]).toEqual(['▲ +133,233%', 'n']);
  expect(times?.v).toBeCloseTo(4000 / 3 - 1, 6);
  const less = { ...grown, rows: [row({ [countColumn.name]: 33 }, { compare: previous({ [countColumn.name]: 3 }) })] };
  expect(await shown(less, false)).toContain(thousand);
});
