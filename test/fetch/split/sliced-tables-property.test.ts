import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DocketError } from '../../../src/base/error.ts';
import type { Period } from '../../../src/definitions/periods/period.ts';
import type { ComparisonKind } from '../../../src/definitions/schema/comparison.ts';
import type { FetchContext } from '../../../src/fetch/fetch-context.ts';
import { fetchDataset } from '../../../src/fetch/fetch-dataset.ts';
import { memoryBudget } from '../../../src/fetch/rate-limit/memory-budget.ts';
import { fetchSplit, sliceDataset, valuesWithRows, withOneValue } from '../../../src/fetch/split/fetch-split.ts';
import { compilePlan } from '../../../src/plan/compile.ts';
import type { Plan } from '../../../src/plan/plan.ts';
import { splitRefusals } from '../../../src/plan/split/split-plan.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { doneOf, fetchingFrom, keyOf, NOW, openSandbox } from '../../support/fetch-harness.ts';
import { cases, least } from '../../support/fuzz.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { sectionsOf } from '../../support/random-sections.ts';
import { definitionOf, type SectionInput, settingsOf } from '../../support/reports.ts';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await openSandbox();
});
afterAll(() => sandbox.close());

const PERIODS: Period[] = [
  { from: '2026-11-09', to: '2026-11-15', timezone: 'Europe/Zurich', label: 'a week' },
  { from: '2026-11-16', to: '2026-11-22', timezone: 'Europe/Zurich', label: 'a week that still runs' },
  { from: '2026-10-01', to: '2026-10-31', timezone: 'America/New_York', label: 'a month' },
  { from: '2025-10-01', to: '2026-10-31', timezone: 'UTC', label: 'more days than a call takes' },
  { from: '2024-11-20', to: '2024-11-22', timezone: 'UTC', label: 'days with little in them' },
];

const DIMENSIONS = ['profile.group', 'profile.risk', 'profile.type', 'profile.country'];

/** Undefined for sections that cannot be requested, such as a median over more days than a call allows. */
function planOrUndefined(plan: () => Plan): Plan | undefined {
  try {
    return plan();
  } catch (thrown) {
    if (thrown instanceof DocketError && thrown.code === 'plan.invalid') return undefined;
    throw thrown;
  }
}

test('each part of a split report shows the same tables as a report that requests its value alone', async () => {
  let compared = 0;
  let empty = 0;
  for (const label of ['acme', 'lakeside', 'blank']) {
    const clock = manualClock(NOW);
    const budget = memoryBudget({ calls: 100_000, windowMs: 1, clock });
    const context: FetchContext = fetchingFrom(sandbox.url, keyOf(sandbox, label), { budget, clock });
    const catalog = await context.client.catalog('current', context.signal);
    const known = DIMENSIONS.filter((id) => catalog.dimensions.some((one) => one.id === id && one.values.length > 0));
    if (known.length === 0) continue;
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        sectionsOf(catalog),
        fc.constantFrom(...known),
        fc.constantFrom(...PERIODS),
        fc.constantFrom<ComparisonKind[][]>([], ['previous_period'], ['previous_period', 'previous_year']),
        async (all, by, period, compare) => {
          const accepts = ({ metrics = [], dimensions = [], filters = [], list }: SectionInput): boolean =>
            list === undefined &&
            dimensions.filter((id) => id !== by).length < 2 &&
            filters.every(({ dimension }) => dimension !== by) &&
            metrics.every((id) => catalog.metrics.find((one) => one.id === id)?.dimensions.includes(by));
          const sections = all.filter(accepts);
          fc.pre(sections.length > 0);
          const planOf = (value: string) => {
            const filtered = sections.map((section) => ({
              ...section,
              filters: [...(section.filters ?? []), { dimension: by, op: 'eq' as const, values: [value] }],
            }));
            const definition = definitionOf(filtered, { max_age: 0, ...(compare.length > 0 ? { compare } : {}) });
            return compilePlan({ definition, settings: settingsOf(), period, catalog });
          };
          const values = catalog.dimensions.find(({ id }) => id === by)?.values.map(({ value }) => value) ?? [];
          const plan = planOrUndefined(() => planOf(values[0] ?? ''));
          if (plan === undefined) return fc.pre(false);
          fc.pre(splitRefusals(plan, by, catalog).length === 0);
          run += 1;
          const input = { ...context, catalog, organization: 'x' };
          const answers = doneOf(await fetchSplit({ ...input, run: `run-${run}`, plan, by }));
          const rows = valuesWithRows(answers);
          for (const value of values) {
            run += 1;
            const own = planOf(value);
            const only = { ...input, catalog: withOneValue(catalog, by, value) };
            const alone = doneOf(await fetchDataset({ ...only, run: `run-${run}`, plan: own }));
            const sliced = sliceDataset(answers, own, value);
            expect(sliced.tables).toEqual(alone.tables);
            expect(sliced.calls.map(({ id, rows }) => [id, rows])).toEqual(
              alone.calls.map(({ id, rows }) => [id, rows]),
            );
            compared += 1;
            if (!rows.has(value)) empty += 1;
          }
          const unsplit = compilePlan({
            definition: definitionOf(sections, { max_age: 0, ...(compare.length > 0 ? { compare } : {}) }),
            settings: settingsOf(),
            period,
            catalog,
          });
          const parted = [...answers.plan.requests.values()].some(({ join }) => join !== undefined);
          if (!parted) expect(answers.calls.length).toBeLessThanOrEqual(2 * unsplit.calls.length);
        },
      ),
      cases(25),
    );
  }
  expect(compared).toBeGreaterThan(least(50));
  expect(empty).toBeGreaterThan(0);
});
