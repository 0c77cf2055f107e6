import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Catalog, isCurrentCount } from '../../src/contract/catalog.ts';
import type { Period } from '../../src/definitions/periods/period.ts';
import type { Table } from '../../src/fetch/dataset.ts';
import type { FetchContext } from '../../src/fetch/fetch-context.ts';
import { fetchDataset } from '../../src/fetch/fetch-dataset.ts';
import { memoryBudget } from '../../src/fetch/rate-limit/memory-budget.ts';
import { compilePlan } from '../../src/plan/compile.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { doneOf, fetchingFrom, keyOf, NOW, openSandbox } from '../support/fetch-harness.ts';
import { cases, least } from '../support/fuzz.ts';
import { manualClock } from '../support/manual-clock.ts';
import { definitionOf, type SectionInput, settingsOf } from '../support/reports.ts';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await openSandbox();
});
afterAll(() => sandbox.close());

const PERIODS: Period[] = [
  { from: '2026-11-09', to: '2026-11-15', timezone: 'Europe/Zurich', label: 'a week' },
  { from: '2026-11-16', to: '2026-11-22', timezone: 'Europe/Zurich', label: 'a week that still runs' },
  { from: '2026-10-01', to: '2026-10-31', timezone: 'America/New_York', label: 'a month' },
  { from: '2024-11-20', to: '2024-11-22', timezone: 'UTC', label: 'days with little in them' },
];

/** Sections that this catalog allows, of two shapes a report, so that many of them could share. */
function sectionsOf(catalog: Catalog): fc.Arbitrary<SectionInput[]> {
  const shape = fc.record({
    current: fc.boolean(),
    dimensions: fc.constantFrom<string[][]>(
      [],
      [],
      [],
      ['profile.type'],
      ['profile.group'],
      ['profile.type', 'profile.risk'],
    ),
    granularity: fc.constantFrom(undefined, 'day' as const, 'week' as const, 'month' as const),
    filter: fc.constantFrom<(string[] | undefined)[]>(undefined, undefined, ['high', 'severe']),
    limit: fc.constantFrom(undefined, undefined, 3),
    order: fc.constantFrom(undefined, undefined, 'bucket', 'metric'),
    dir: fc.constantFrom('asc' as const, 'desc' as const),
  });
  const section = fc.record({
    shape: fc.nat(1),
    picks: fc.array(fc.nat(100), { minLength: 1, maxLength: 4 }),
    totals: fc.boolean(),
  });
  return fc
    .record({ shapes: fc.tuple(shape, shape), sections: fc.array(section, { minLength: 2, maxLength: 6 }) })
    .map(({ shapes, sections }) =>
      sections.flatMap((one, index): SectionInput[] => {
        const { current, dimensions, granularity, filter, limit, order, dir } = shapes[one.shape]!;
        const needed = [...dimensions, ...(filter === undefined ? [] : ['profile.risk'])];
        const fitting = catalog.metrics.filter(
          (metric) =>
            isCurrentCount(metric) === current &&
            needed.every((id) => metric.dimensions.includes(id)) &&
            (current || granularity === undefined || metric.granularities.includes(granularity)),
        );
        if (fitting.length === 0) return [];
        const metrics = [...new Set(one.picks.map((pick) => fitting[pick % fitting.length]!.id))];
        const bucketed = !current && granularity !== undefined;
        const by = order === 'metric' ? metrics[0] : order === 'bucket' && bucketed ? 'bucket' : undefined;
        return [
          {
            id: `s${index}`,
            metrics,
            ...(dimensions.length === 0 ? {} : { dimensions }),
            ...(bucketed ? { granularity } : {}),
            ...(filter === undefined ? {} : { filters: [{ dimension: 'profile.risk', op: 'in', values: filter }] }),
            ...(by === undefined ? {} : { order: [{ by, dir }] }),
            ...(limit === undefined ? {} : { limit }),
            totals: one.totals,
          },
        ];
      }),
    );
}

test('every section’s table is the same, cell for cell, whether its call was shared or made alone', async () => {
  let shared = 0;
  for (const label of ['acme', 'lakeside', 'blank']) {
    const clock = manualClock(NOW);
    const budget = memoryBudget({ calls: 100_000, windowMs: 1, clock });
    const context: FetchContext = fetchingFrom(sandbox.url, keyOf(sandbox, label), { budget, clock });
    const catalog = await context.client.catalog('current', context.signal);
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        sectionsOf(catalog),
        fc.constantFrom(...PERIODS),
        fc.boolean(),
        async (sections, period, compare) => {
          fc.pre(sections.length > 0);
          const tablesOf = async (asked: SectionInput[]): Promise<readonly Table[]> => {
            // Alone is alone: an answer to another's call would prove nothing.
            const definition = definitionOf(asked, { max_age: 0, ...(compare ? { compare: 'previous_period' } : {}) });
            const plan = compilePlan({ definition, settings: settingsOf(), period, catalog });
            if (asked.length > 1) shared += asked.length - plan.calls.length;
            run += 1;
            return doneOf(await fetchDataset({ ...context, run: `run-${run}`, plan, catalog, organization: 'x' }))
              .tables;
          };
          const together = await tablesOf(sections);
          const alone = await Promise.all(sections.map(async (section) => (await tablesOf([section]))[0]));
          // Which of them came from the service's cache is no property of a table.
          expect(together).toEqual(alone);
        },
      ),
      cases(25),
    );
  }
  // Otherwise nothing has been shown.
  expect(shared).toBeGreaterThan(least(20));
}, 120_000);
