import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { expect, it } from 'vitest';
import { judgeDataset } from '../../../../src/render/figures/judge.ts';
import { countColumn, dataset, ratioColumn, row, table, typeColumn, WEEK_BEFORE } from '../../../support/dataset.ts';
import { artifactNamed, useRenderFolder } from '../../../support/render-folder.ts';

const { render } = useRenderFolder();

const figures = { [countColumn.name]: 1, [ratioColumn.name]: 0.5 };

it('a column with the label of one of Docket’s own columns does not hide it', async () => {
  const collisions = table({
    id: 'types',
    title: 'Types',
    columns: [
      { ...typeColumn, label: 'STILL RUNNING' },
      { ...countColumn, label: 'Not comparable, previous period' },
      { ...ratioColumn, label: 'Not comparable, previous period: status' },
    ],
    comparisons: [WEEK_BEFORE],
    rows: [row({ 'profile.type': 'entity', ...figures }, figures)],
    totals: { values: figures, compare: { previous_period: { values: figures } } },
  });
  const targets = [{ metric: countColumn.name, better: 'higher', target: 1, source: 'report' }] as const;
  const judged = judgeDataset(dataset([collisions]), targets, { sections: [] });
  const files = await render(judged, [{ format: 'csv', csv: { values: 'formatted' } }]);
  for (const name of ['types', 'types.totals']) {
    const text = readFileSync(artifactNamed(files, `${name}.csv`).path, 'utf8').replace('\ufeff', '');
    const [header = []]: string[][] = parse(text, { record_delimiter: '\r\n' });
    expect(new Set(header.map((each) => each.toLowerCase())).size).toBe(header.length);
    const schema = JSON.parse(readFileSync(artifactNamed(files, `${name}.schema.json`).path, 'utf8'));
    expect(schema.fields.map((field: { name: string }) => field.name)).toEqual(header);
    expect(header).toContain('Not comparable, previous period (2)');
    expect(header).toContain('Not comparable, previous period: status (2)');
  }
});
