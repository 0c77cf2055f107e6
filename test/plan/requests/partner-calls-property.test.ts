import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ReportRequest, ReportResponse } from '../../../src/contract/report.ts';
import type { ComparisonKind, ToDate } from '../../../src/definitions/schema/comparison.ts';
import { memoryBudget } from '../../../src/fetch/rate-limit/memory-budget.ts';
import { compilePlan } from '../../../src/plan/compile.ts';
import { sectionRequests } from '../../../src/plan/requests/section-requests.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { fetchingFrom, keyOf, NOW, openSandbox } from '../../support/fetch-harness.ts';
import { cases, least } from '../../support/fuzz.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { sectionsOf } from '../../support/random-sections.ts';
import { definitionOf, settingsOf } from '../../support/reports.ts';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await openSandbox();
});
afterAll(() => sandbox.close());

const PERIODS = [
  { from: '2026-10-01', to: '2026-10-31', timezone: 'Europe/Zurich', label: 'a month' },
  { from: '2026-11-09', to: '2026-11-15', timezone: 'Europe/Zurich', label: 'a week' },
  { from: '2026-10-28', to: '2026-11-03', timezone: 'UTC', label: 'seven days' },
];

/** The values of the metrics by bucket and group. */
const rowsOf = ({ rows }: ReportResponse, { metrics, dimensions = [] }: ReportRequest) =>
  new Map(
    rows.map((row) => [
      JSON.stringify([row.bucket ?? null, ...dimensions.map((id) => row[id] ?? null)]),
      metrics.map((id) => row[id]),
    ]),
  );
const totalsOf = ({ totals, rows: [row] }: ReportResponse, { metrics }: ReportRequest) =>
  metrics.map((id) => (totals ?? row)?.[id]);

test('a shared call returns the same figures for comparisons and trends as their own requests', async () => {
  let checked = 0;
  let saved = 0;
  let trends = 0;
  const budget = memoryBudget({ calls: 100_000, windowMs: 1, clock: manualClock(NOW) });
  const context = fetchingFrom(sandbox.url, keyOf(sandbox, 'acme'), { budget, clock: manualClock(NOW) });
  const catalog = await context.client.catalog('current', context.signal);
  const answerOf = async (request: ReportRequest) =>
    (await context.client.report('current', request, context.signal)).body;
  await fc.assert(
    fc.asyncProperty(
      sectionsOf(catalog),
      fc.constantFrom(...PERIODS),
      fc.constantFrom<ComparisonKind[][]>(['previous_year'], ['previous_period', 'previous_year']),
      fc.constantFrom<(ToDate | undefined)[]>(undefined, 'year', 'quarter'),
      async (sections, period, compare, toDate) => {
        fc.pre(sections.length > 0);
        const definition = definitionOf(sections, { compare, ...(toDate === undefined ? {} : { to_date: toDate }) });
        const input = { definition, settings: settingsOf(), period, catalog };
        const plan = compilePlan(input);
        const alone = sectionRequests(input);
        const calls = new Map(plan.calls.flatMap((call) => (call.kind === 'report' ? [[call.id, call.request]] : [])));
        saved += plan.sections.flatMap(({ partners }) => partners).length + plan.sections.length - calls.size;
        for (const [index, { partners }] of plan.sections.entries()) {
          for (const [position, { kind, call, of, join, range }] of partners.entries()) {
            const lone = alone[index]!.partners[position]!;
            const shared = calls.get(call)!;
            if (join !== undefined) continue;
            // A trend may be read from a call for more days.
            if (kind !== 'trend') expect(shared.time).toMatchObject(range);
            else trends += 1;
            const [one, other] = await Promise.all([answerOf(lone.request), answerOf(shared)]);
            checked += 1;
            if (of === 'totals') expect(totalsOf(other, lone.request)).toEqual(totalsOf(one, lone.request));
            else {
              const found = rowsOf(other, lone.request);
              for (const [key, values] of rowsOf(one, lone.request)) expect(found.get(key)).toEqual(values);
            }
          }
        }
      },
    ),
    cases(40),
  );
  expect(checked).toBeGreaterThan(least(40));
  expect(saved).toBeGreaterThan(least(40));
  expect(trends).toBeGreaterThan(least(20));
});
