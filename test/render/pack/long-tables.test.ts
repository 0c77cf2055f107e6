import { expect, test } from 'vitest';
import { buildPack } from '../../../src/render/pack/build-pack.ts';
import type { PackSection } from '../../../src/render/pack/pack.ts';
import { groupColumn, ratioColumn, row } from '../../support/dataset.ts';
import { judged, monthTable, october, SEPTEMBER, sectionOf, target } from './fixtures.ts';

const RATE = ratioColumn.name;

/** Groups with a rate, of which the first one is just below its target. */
function groups(count: number): PackSection {
  const table = monthTable({
    id: 'risk',
    comparisons: [{ kind: 'previous_period', range: SEPTEMBER }],
    columns: [groupColumn, ratioColumn],
    rows: Array.from({ length: count }, (_, at) =>
      row(
        { [groupColumn.name]: `g${at}`, [RATE]: at === 0 ? 0.8997 : 0.12449 },
        { compare: { previous_period: { values: { [RATE]: 0.11451 } } } },
      ),
    ),
  });
  const pack = judged(october([table]), [target({ metric: RATE, target: '90%', where: { [groupColumn.name]: 'g0' } })]);
  return sectionOf(buildPack(pack).sections, 'table');
}

const textsOf = ({ table, columns, cells }: PackSection): string[][] =>
  ('path' in table.rows ? [] : table.rows)
    .slice(0, 2)
    .map((each) => columns.slice(1).map((column) => cells.ofRow(column, each).text));

test('each row of a short table has the decimals with which its change follows from its figures', () => {
  const section = groups(12);
  expect(textsOf(section)).toEqual([
    ['89.97%', '11.45%', '+78.52 pp'],
    ['12.4%', '11.5%', '+0.9 pp'],
  ]);
  expect(section.legend).not.toContain('Changes are computed from unrounded figures.');
});

test('each column of a long table has one number of decimals, and the legend says how changes are computed', () => {
  const section = groups(13);
  expect(textsOf(section)).toEqual([
    ['89.97%', '11.45%', '+78.52 pp'],
    ['12.45%', '11.45%', '+1.00 pp'],
  ]);
  expect(section.legend).toContain('Changes are computed from unrounded figures.');
});
