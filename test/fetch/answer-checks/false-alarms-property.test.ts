import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Period } from '../../../src/definitions/periods/period.ts';
import { fetchDataset } from '../../../src/fetch/fetch-dataset.ts';
import { memoryBudget } from '../../../src/fetch/rate-limit/memory-budget.ts';
import { compilePlan } from '../../../src/plan/compile.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { doneOf, fetchingFrom, keyOf, NOW, openSandbox } from '../../support/fetch-harness.ts';
import { cases, least, within } from '../../support/fuzz.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { sectionsOf } from '../../support/random-sections.ts';
import { definitionOf, settingsOf } from '../../support/reports.ts';

const sandboxes: Sandbox[] = [];
beforeAll(async () => {
  for (const ungrouped of [0, 0.2]) sandboxes.push(await openSandbox({ ungrouped }));
});
afterAll(() => Promise.all(sandboxes.map((sandbox) => sandbox.close())));

const PERIODS: Period[] = [
  { from: '2026-10-01', to: '2026-10-31', timezone: 'Europe/Zurich', label: 'a month' },
  { from: '2026-01-01', to: '2026-01-31', timezone: 'Europe/Zurich', label: 'the first month of a year' },
  { from: '2026-11-09', to: '2026-11-15', timezone: 'America/New_York', label: 'a week' },
  { from: '2025-12-29', to: '2026-01-04', timezone: 'UTC', label: 'a week of two years' },
  { from: '2026-07-01', to: '2026-09-30', timezone: 'Pacific/Auckland', label: 'a quarter' },
  { from: '2025-11-19', to: '2026-11-18', timezone: 'UTC', label: 'a year off the calendar' },
  { from: '2026-11-01', to: '2026-11-30', timezone: 'Europe/Zurich', label: 'a month that is running' },
  { from: '2026-06-17', to: '2026-08-03', timezone: 'Europe/Zurich', label: 'days off the calendar' },
];

/** Notes that even a correct service causes: limits, and days before its first data. */
const EXPECTED: ReadonlySet<string> = new Set(['cut', 'cut_piece', 'limited', 'no_data_before']);

test(
  'a correct response is never marked as wrong',
  async () => {
    const clock = manualClock(NOW);
    const worlds = await Promise.all(
      sandboxes.map(async (sandbox) => {
        const budget = memoryBudget({ calls: 1e6, windowMs: 1, clock });
        const fetching = fetchingFrom(sandbox.url, keyOf(sandbox, 'acme'), { clock, budget });
        return { fetching, catalog: await fetching.client.catalog('current', fetching.signal) };
      }),
    );
    const [first] = worlds;
    if (first === undefined) throw new Error('no sandbox');
    let tables = 0;
    let compared = 0;
    const definition = fc.record({
      world: fc.constantFrom(...worlds),
      sections: sectionsOf(first.catalog),
      period: fc.constantFrom(...PERIODS),
      compare: fc.constantFrom(undefined, 'previous_period' as const, 'previous_year' as const, [
        'previous_period' as const,
        'previous_year' as const,
      ]),
      to_date: fc.constantFrom(undefined, 'year' as const, 'quarter' as const),
      limits: fc.constantFrom({}, { max_metrics: 1 }, { max_range_days: 45 }, { max_rows: 20 }),
    });
    let run = 0;
    await fc.assert(
      fc.asyncProperty(definition, async ({ world, sections, period, compare, to_date, limits }) => {
        if (sections.length === 0) return;
        const { fetching, catalog } = world;
        const requested = definitionOf(sections, { compare, ...(to_date === undefined ? {} : { to_date }) });
        const plan = (() => {
          try {
            return compilePlan({ definition: requested, settings: settingsOf(), period, catalog, limits });
          } catch {
            // The table would need too many calls.
            return undefined;
          }
        })();
        if (plan === undefined) return;
        run += 1;
        const dataset = doneOf(
          await fetchDataset({ ...fetching, run: `run-${run}`, plan, catalog, organization: 'x' }),
        );
        for (const table of dataset.tables) {
          tables += 1;
          compared += table.comparisons.length;
          expect(table.wrong ?? []).toEqual([]);
          expect(table.notes.filter(({ incomplete, message }) => incomplete && !EXPECTED.has(message.id))).toEqual([]);
          expect(table.notes.filter(({ code }) => code === 'total_mismatch')).toEqual([]);
        }
      }),
      cases(200),
    );
    expect(tables).toBeGreaterThan(least(400));
    expect(compared).toBeGreaterThan(least(200));
  },
  within(60),
);
