import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { expect, it } from 'vitest';
import type { SourcedTarget } from '../../../../src/definitions/schema/targets.ts';
import { judgeDataset } from '../../../../src/render/figures/judge.ts';
import { countColumn, dataset, onboarding, ratioColumn, row, table } from '../../../support/dataset.ts';
import { artifactNamed, useRenderFolder } from '../../../support/render-folder.ts';

const { render } = useRenderFolder();
const TARGETS: readonly SourcedTarget[] = [
  {
    metric: ratioColumn.name,
    better: 'higher',
    target: '90%',
    watch: '80%',
    from: '2026-01-01',
    source: 'organization',
  },
  {
    metric: countColumn.name,
    better: 'higher',
    per: 'day',
    target: 1204,
    source: 'report',
    owner: 'mlro@acme.example',
  },
];

async function files(values: 'raw' | 'formatted', locale: string, targets = TARGETS) {
  const judged = judgeDataset(dataset([{ ...onboarding, filters: [] }]), targets, { sections: [] });
  const artifacts = await render(judged, [{ format: 'csv', csv: { values } }], { locale });
  const read = (ending: string) => readFileSync(artifactNamed(artifacts, ending).path, 'utf8').replace('\ufeff', '');
  const lines = (ending: string): string[][] =>
    parse(read(ending), {
      record_delimiter: '\r\n',
      delimiter: locale === 'de-DE' && values === 'formatted' ? ';' : ',',
    });
  return {
    rows: lines('onboarding.csv'),
    totals: lines('.totals.csv'),
    schema: JSON.parse(read('onboarding.schema.json')),
  };
}

it('raw files contain the status of each judged figure, and their schema contains the targets', async () => {
  const { rows, totals, schema } = await files('raw', 'de-DE');
  const [header = [], ...lines] = rows;
  const count = header.indexOf('Profiles created: status');
  const rate = header.indexOf('Approval rate: status');
  expect(lines.map((line) => line[count])).toEqual([...Array(5).fill('on_target'), 'breached', '']);
  expect(lines.map((line) => line[rate])).toEqual(Array(7).fill(''));
  expect(totals[1]?.[totals[0]?.indexOf('Approval rate: status') ?? -1]).toBe('watch');
  const field = (name: string) => schema.fields.find((each: { name: string }) => each.name === name);
  expect(schema.fields.map(({ name }: { name: string }) => name)).toEqual(header);
  expect(field('Approval rate (ratio 0–1)')).toMatchObject({
    targets: [{ better: 'higher', target: 0.9, watch: 0.8, from: '2026-01-01' }],
  });
  expect(field('Profiles created (count)').targets).toEqual([{ per: 'day', better: 'higher', target: 1204 }]);
  expect(field('Approval rate: status')).toMatchObject({ type: 'string' });
});

it('a row without bucket and group has the status of the totals when its figure equals theirs', async () => {
  const values = { [ratioColumn.name]: 0.85 };
  const columns = [ratioColumn];
  const judged = judgeDataset(
    dataset([
      table({ id: 'card', columns, rows: [row(values)], totals: { values } }),
      table({ id: 'later', columns, rows: [row({ [ratioColumn.name]: 0.84 })], totals: { values } }),
    ]),
    TARGETS,
    { sections: [] },
  );
  const artifacts = await render(judged, [{ format: 'csv' }]);
  const statusIn = (ending: string): string | undefined =>
    parse(readFileSync(artifactNamed(artifacts, ending).path), { bom: true })[1]?.at(-1);
  expect(statusIn(' card.csv')).toBe('watch');
  expect(statusIn(' card.totals.csv')).toBe('watch');
  expect(statusIn(' later.csv')).toBe('');
});

it('formatted files name the status in the language of the report', async () => {
  const { totals } = await files('formatted', 'de-DE');
  expect(totals[0]).toContain('Approval rate: Status');
  expect(totals[1]).toContain('beobachten');
});

it('files have no status column without targets', async () => {
  const { rows, schema } = await files('raw', 'en-GB', []);
  expect(rows[0]?.join()).not.toContain('status');
  expect(JSON.stringify(schema)).not.toContain('targets');
});
