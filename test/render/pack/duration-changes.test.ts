import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Row } from '../../../src/fetch/dataset.ts';
import { buildPack } from '../../../src/render/pack/build-pack.ts';
import { durationColumn, groupColumn, row } from '../../support/dataset.ts';
import { cases } from '../../support/fuzz.ts';
import { monthTable, october, SEPTEMBER } from './fixtures.ts';

const TIME = durationColumn.name;

/** Figures and changes of a duration by group, as they are shown; in days. */
function shown(pairs: readonly (readonly [now: number, before: number])[]) {
  const rows: Row[] = pairs.map(([now, before], index) =>
    row(
      { [groupColumn.name]: `G${index}`, [TIME]: now },
      { compare: { previous_period: { values: { [TIME]: before } } } },
    ),
  );
  const table = monthTable({
    id: 'times',
    comparisons: [{ kind: 'previous_period', range: SEPTEMBER }],
    columns: [groupColumn, { ...durationColumn, shownIn: 'days' }],
    rows,
  });
  const [section] = buildPack(october([table], { small: 10 }), { locale: 'en' }).sections;
  return rows.map((each) =>
    ['value', 'previous', 'change'].map((role) => {
      const view = section?.columns.find((column) => column.role === role);
      return (view && section?.cells.ofRow(view, each).text) ?? '';
    }),
  );
}
const DAY = 86_400;

it('the changes of a duration are all percentages, or all differences', () => {
  expect(
    shown([
      [20 * DAY, 10 * DAY],
      [30 * DAY, 40 * DAY],
    ]).map(([, , change]) => change),
  ).toEqual(['+100%', '-25%']);
  // 1.26 and 1.04 days are shown as 1.3 and 1.0, which give another percentage.
  const mixed = shown([
    [1.26 * DAY, 1.04 * DAY],
    [20 * DAY, 10 * DAY],
  ]).map(([, , change]) => change);
  expect(mixed).toEqual(['+0.3 days', '+10.0 days']);
});

it('a column has one kind of change, and each difference follows from the two shown figures', () => {
  const seconds = fc.integer({ min: 1, max: 40 * DAY });
  let [differences, percentages] = [0, 0];
  fc.assert(
    fc.property(fc.array(fc.tuple(seconds, seconds), { minLength: 1, maxLength: 6 }), (pairs) => {
      const lines = shown(pairs);
      const changed = lines.filter(
        ([, , change = '']) => /\d/.test(change) && !/^[+-]?0(\.0+)?( days|%)$/.test(change),
      );
      const kinds = new Set(changed.map(([, , change = '']) => (change.endsWith('%') ? 'percentage' : 'difference')));
      expect(kinds.size, JSON.stringify(lines)).toBeLessThanOrEqual(1);
      if (kinds.has('difference')) differences += 1;
      if (kinds.has('percentage')) percentages += 1;
      for (const [now = '', before = '', change = ''] of changed) {
        if (change.endsWith('%') || /[<>]/.test(`${now}${before}${change}`)) continue;
        const difference = Number.parseFloat(now) - Number.parseFloat(before);
        expect(Number.parseFloat(change), JSON.stringify(lines)).toBeCloseTo(difference, 5);
      }
    }),
    cases(200),
  );
  expect(differences).toBeGreaterThan(0);
  expect(percentages).toBeGreaterThan(0);
});
