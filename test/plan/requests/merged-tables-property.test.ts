import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Period } from '../../../src/definitions/periods/period.ts';
import type { ComparisonKind } from '../../../src/definitions/schema/comparison.ts';
import type { Table } from '../../../src/fetch/dataset.ts';
import type { FetchContext } from '../../../src/fetch/fetch-context.ts';
import { fetchDataset } from '../../../src/fetch/fetch-dataset.ts';
import { memoryBudget } from '../../../src/fetch/rate-limit/memory-budget.ts';
import { compilePlan } from '../../../src/plan/compile.ts';
import { collectCalls } from '../../../src/plan/plan.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { doneOf, fetchingFrom, keyOf, NOW, openSandbox } from '../../support/fetch-harness.ts';
import { cases, least } from '../../support/fuzz.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { sectionsOf } from '../../support/random-sections.ts';
import { definitionOf, type SectionInput, settingsOf } from '../../support/reports.ts';
import { withoutCases } from '../../support/rows.ts';

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

/** The unit of a duration is the same in a whole report, so it depends on the other sections. */
const withoutUnits = (table: Table): Table =>
  withoutCases({ ...table, columns: table.columns.map(({ shownIn: _, ...column }) => column) });

test('each section has the same table whether it shares its calls or not', async () => {
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
        fc.constantFrom<ComparisonKind[][]>([], ['previous_period'], ['previous_period', 'previous_year']),
        async (sections, period, compare) => {
          fc.pre(sections.length > 0);
          const tablesOf = async (requested: SectionInput[]): Promise<readonly Table[]> => {
            // No shared responses: those of another plan would prove nothing.
            const definition = definitionOf(requested, { max_age: 0, ...(compare.length > 0 ? { compare } : {}) });
            const plan = compilePlan({ definition, settings: settingsOf(), period, catalog });
            if (requested.length > 1) shared += requested.length - new Set(plan.sections.flatMap(collectCalls)).size;
            run += 1;
            return doneOf(await fetchDataset({ ...context, run: `run-${run}`, plan, catalog, organization: 'x' }))
              .tables;
          };
          const together = await tablesOf(sections);
          const alone = await Promise.all(sections.map(async (section) => (await tablesOf([section]))[0]));
          expect(together.map(withoutUnits)).toEqual(alone.map((table) => table && withoutUnits(table)));
        },
      ),
      cases(25),
    );
  }
  // Enough calls must have been shared, or the test shows nothing.
  expect(shared).toBeGreaterThan(least(20));
});
