import { expect, test } from 'vitest';
import { sectionTable } from '../../../src/render/email/section-tables.ts';
import { buildPack } from '../../../src/render/pack/build-pack.ts';
import { dataset, table } from '../../support/dataset.ts';

test.each([
  ['a finished month as cut off', false, [false, true]],
  ['a running month as cut off and still running', true, [true, true]],
])('an e-mail marks the last week of %s', (_, partial, expected) => {
  const weeks = table({
    id: 'weeks',
    granularity: 'week',
    layout: { kind: 'trend' },
    range: { from: '2026-10-01', to: '2026-10-31' },
    columns: [
      { name: 'bucket', label: 'Week', kind: 'time', type: 'date', unit: null },
      { name: 'created', label: 'Created', kind: 'metric', type: 'integer', unit: 'count' },
    ],
    rows: [
      { values: { bucket: '2026-10-19', created: 4 }, partial: false },
      { values: { bucket: '2026-10-26', created: 5 }, partial },
    ],
  });
  const data = dataset([weeks]);
  const [section] = buildPack(data, { locale: 'de' }).sections;
  const [row] = section === undefined ? [] : (sectionTable(section, data, 'de')?.rows ?? []);
  expect([row?.partial, row?.clipped]).toEqual(expected);
});
