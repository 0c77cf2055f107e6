import { expect, test } from 'vitest';
import type { Catalog } from '../../../src/contract/catalog.ts';
import { buildDesk, deskDefinition } from '../../../src/definitions/split.ts';
import { compilePlan } from '../../../src/plan/compile.ts';
import { splitPlan, splitRefusals } from '../../../src/plan/split/split-plan.ts';
import { CATALOG, definitionOf, settingsOf, WEEK } from '../../support/reports.ts';

const BY = 'profile.group';
const [METRIC] = CATALOG.metrics.map(({ id }) => id);

/** The catalog with this many desks. */
const withDesks = (count: number): Catalog => ({
  ...CATALOG,
  metrics: CATALOG.metrics.map((metric) => ({ ...metric, dimensions: [...new Set([...metric.dimensions, BY])] })),
  dimensions: [
    ...CATALOG.dimensions.filter(({ id }) => id !== BY),
    {
      id: BY,
      label: 'Group',
      description: '',
      type: 'enum',
      values: Array.from({ length: count }, (_, index) => ({ value: `d${index}`, label: `Desk ${index}` })),
    },
  ],
});

const definition = definitionOf(
  [
    { id: 'card', metrics: [METRIC ?? ''] },
    { id: 'days', metrics: [METRIC ?? ''], granularity: 'day', totals: true },
    { id: 'types', metrics: [METRIC ?? ''], dimensions: ['profile.type'], totals: true, limit: 3 },
    { id: 'market', split: false, metrics: [METRIC ?? ''], granularity: 'week' },
  ],
  { split: { by: BY, to: { d0: ['a@acme.example'] }, others: 'skip' } },
);

const callsOf = (desks: number) => {
  const catalog = withDesks(desks);
  const input = { settings: settingsOf(), period: WEEK, catalog };
  const one = compilePlan({ ...input, definition: deskDefinition(definition, buildDesk('d0', 'Desk 0')) });
  const unsplit = compilePlan({ ...input, definition });
  const split = splitPlan(one, BY, { org: 'current', catalog });
  return {
    split: split.calls,
    one: one.calls.length,
    unsplit: unsplit.calls.length,
    refusals: splitRefusals(one, BY, catalog),
  };
};

test.each([1, 4, 40])('a report split by %i desks needs at most twice the calls of the unsplit report', (desks) => {
  const { split, unsplit, refusals } = callsOf(desks);
  expect(refusals).toEqual([]);
  expect(split.length).toBeLessThanOrEqual(2 * unsplit);
  expect(split).toEqual(callsOf(2).split);
});

test('a report split by 500 desks needs further calls only because of the limit of rows', () => {
  const { split, one, unsplit } = callsOf(500);
  // Seven days of 500 desks, and 500 desks by type, exceed one call. Otherwise calls do not depend on the number of desks.
  expect(split.length).toBeLessThanOrEqual(2 * unsplit + 4);
  expect(split.length).toBeLessThan((500 * one) / 50);
});

test('a split report requests no order and no limit, which would choose among the rows of all desks', () => {
  for (const call of callsOf(4).split) {
    if (call.kind !== 'report') throw new Error('a list');
    expect(call.request.order).toBeUndefined();
    expect(call.request.limit).toBeUndefined();
  }
});
