import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Catalog, isCurrentCount } from '../../../src/contract/catalog.ts';
import type { Period } from '../../../src/definitions/periods/period.ts';
import type { Table } from '../../../src/fetch/dataset.ts';
import type { FetchContext } from '../../../src/fetch/fetch-context.ts';
import { fetchDataset } from '../../../src/fetch/fetch-dataset.ts';
import type { TableNote } from '../../../src/fetch/notes.ts';
import { memoryBudget } from '../../../src/fetch/rate-limit/memory-budget.ts';
import { compilePlan } from '../../../src/plan/compile.ts';
import type { CallLimits } from '../../../src/plan/requests/call.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { doneOf, fetchingFrom, keyOf, NOW, openSandbox } from '../../support/fetch-harness.ts';
import { cases, least } from '../../support/fuzz.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { definitionOf, type SectionInput, settingsOf } from '../../support/reports.ts';
import { rowsOf, withoutCases } from '../../support/rows.ts';

/** The organization, the share of its profiles without a group, and the number of groups added after the catalog was read. */
const WORLDS = [
  { label: 'acme', ungrouped: 0, madeSince: 0, numRuns: 50 },
  { label: 'acme', ungrouped: 0.2, madeSince: 2, numRuns: 60 },
  { label: 'lakeside', ungrouped: 0.2, madeSince: 0, numRuns: 30 },
  { label: 'blank', ungrouped: 0.2, madeSince: 0, numRuns: 20 },
] as const;

const sandboxes = new Map<number, Sandbox>();
const sandboxOf = (ungrouped: number): Sandbox => {
  const found = sandboxes.get(ungrouped);
  if (found === undefined) throw new Error(`no sandbox with ${ungrouped} of it without a group`);
  return found;
};
beforeAll(async () => {
  for (const ungrouped of [0, 0.2]) sandboxes.set(ungrouped, await openSandbox({ ungrouped }));
});
afterAll(() => Promise.all([...sandboxes.values()].map((sandbox) => sandbox.close())));

const PERIODS: Period[] = [
  { from: '2026-01-01', to: '2026-06-30', timezone: 'Europe/Zurich', label: 'whole months' },
  { from: '2025-11-19', to: '2026-11-18', timezone: 'America/New_York', label: 'a year off the calendar' },
  { from: '2026-10-14', to: '2026-12-03', timezone: 'Europe/Zurich', label: 'days that are yet to come' },
  { from: '2024-03-01', to: '2024-07-15', timezone: 'Pacific/Auckland', label: 'from before the first record' },
  { from: '2026-03-01', to: '2026-03-31', timezone: 'UTC', label: 'a month after a shorter one' },
];
const DIMENSIONS = [
  [],
  ['profile.type'],
  ['profile.risk'],
  ['profile.group'],
  ['profile.group', 'profile.risk'],
  ['profile.review_status'],
];

/** Sections that fit this catalog. */
function sectionsOf(catalog: Catalog): fc.Arbitrary<SectionInput[]> {
  const section = fc.record({
    current: fc.integer({ min: 0, max: 5 }).map((draw) => draw === 0),
    dimensions: fc.constantFrom(...DIMENSIONS),
    granularity: fc.constantFrom(undefined, 'day' as const, 'week' as const, 'month' as const, 'month' as const),
    filterBy: fc.constantFrom('profile.risk', 'profile.group'),
    passing: fc.subarray([0, 1, 2, 3]),
    op: fc.constantFrom('in' as const, 'not_in' as const),
    filtered: fc.boolean(),
    limit: fc.constantFrom(undefined, undefined, 7),
    order: fc.constantFrom('none', 'none', 'bucket', 'metric', 'dimension'),
    dir: fc.constantFrom('asc' as const, 'desc' as const),
    additive: fc.boolean(),
    picks: fc.array(fc.nat(100), { minLength: 1, maxLength: 5 }),
    totals: fc.boolean(),
  });
  return fc.array(section, { minLength: 1, maxLength: 3 }).map((drawn) =>
    drawn.flatMap((one, index): SectionInput[] => {
      const listed = catalog.dimensions.find(({ id }) => id === one.filterBy)?.values.map(({ value }) => value) ?? [];
      const values = one.filtered ? one.passing.flatMap((index) => listed[index] ?? []) : [];
      const needed = [...one.dimensions, ...(values.length === 0 ? [] : [one.filterBy])];
      const fitting = catalog.metrics.filter(
        (metric) =>
          isCurrentCount(metric) === one.current &&
          (!one.additive || one.current || metric.additive_over_time) &&
          needed.every((id) => metric.dimensions.includes(id)),
      );
      if (fitting.length === 0) return [];
      const metrics = [...new Set(one.picks.map((pick) => fitting[pick % fitting.length]!.id))];
      const granularity = one.current ? undefined : one.granularity;
      const by =
        one.order === 'metric'
          ? metrics.at(-1)
          : one.order === 'dimension'
            ? one.dimensions[0]
            : one.order === 'bucket' && granularity !== undefined
              ? 'bucket'
              : undefined;
      return [
        {
          id: `s${index}`,
          metrics,
          ...(one.dimensions.length === 0 ? {} : { dimensions: one.dimensions }),
          ...(granularity === undefined ? {} : { granularity }),
          ...(values.length === 0 ? {} : { filters: [{ dimension: one.filterBy, op: one.op, values }] }),
          ...(by === undefined ? {} : { order: [{ by, dir: one.dir }] }),
          ...(one.limit === undefined ? {} : { limit: one.limit }),
          totals: one.totals,
        },
      ];
    }),
  );
}

/** The catalog before the newest groups were added. */
const readBefore = (catalog: Catalog, made: number): Catalog => ({
  ...catalog,
  dimensions: catalog.dimensions.map((dimension) =>
    dimension.id === 'profile.group'
      ? { ...dimension, values: dimension.values.slice(0, dimension.values.length - made) }
      : dimension,
  ),
});

/**
 * The table without the totals that cannot be added up, without the notes about them, and without the unit, which
 * depends on the largest total.
 */
function definable(table: Table, cut: Table): Table {
  const lacking = cut.columns.filter(
    ({ name, kind }) =>
      kind === 'metric' &&
      cut.notes.some(({ message }) => message.id === 'undefined_totals') &&
      cut.totals?.values[name] === null,
  );
  const without = (values: Readonly<Record<string, number | null>>) =>
    Object.fromEntries(Object.entries(values).filter(([name]) => !lacking.some((column) => column.name === name)));
  const { totals, ...rest } = table;
  return {
    ...rest,
    columns: table.columns.map(({ shownIn: _, ...column }) => column),
    notes: table.notes.filter(({ message }) => message.id !== 'undefined_totals'),
    ...(totals === undefined
      ? {}
      : {
          totals: {
            values: without(totals.values),
            ...(totals.compare && {
              compare: { previous_period: { values: without(totals.compare.previous_period?.values ?? {}) } },
            }),
          },
        }),
  };
}

/** A correct service causes no incomplete notes, apart from periods before the first record and truncated responses. */
const isBreach = ({ code, incomplete }: TableNote) =>
  incomplete && code !== 'data_available_from' && code !== 'truncated';

const isCut = (table: Table): boolean =>
  table.notes.some(({ code, message, incomplete }) => code === 'truncated' && message.id === 'cut_piece' && incomplete);

test('each section has the same table whether it comes from one call or from many', async () => {
  const seen = {
    cut: 0,
    compared: 0,
    ordered: 0,
    totals: 0,
    undefinedTotals: 0,
    summed: 0,
    refused: 0,
    pieces: 0,
    ungrouped: 0,
    unlisted: 0,
  };
  for (const [nth, { label, ungrouped, madeSince, numRuns }] of WORLDS.entries()) {
    const sandbox = sandboxOf(ungrouped);
    const clock = manualClock(NOW);
    const budget = memoryBudget({ calls: 1_000_000, windowMs: 1, clock });
    const context: FetchContext = fetchingFrom(sandbox.url, keyOf(sandbox, label), { budget, clock });
    const catalog = readBefore(await context.client.catalog('current', context.signal), madeSince);
    const limits = fc.record({
      max_range_days: fc.constantFrom(31, 40, 93, 366, 366),
      max_rows: fc.constantFrom(20, 150, 5000, 5000),
      max_metrics: fc.constantFrom(1, 2, 20, 20),
      max_filter_values: fc.constantFrom(1, 2, 50),
    });
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        sectionsOf(catalog),
        fc.constantFrom(...PERIODS),
        fc.boolean(),
        limits,
        async (sections, period, compare, stricter) => {
          const plan = (requested: SectionInput[], less: Partial<CallLimits>) => {
            // No shared responses: those of another plan would prove nothing.
            const definition = definitionOf(requested, {
              max_age: 0,
              ...(compare ? { compare: 'previous_period' } : {}),
            });
            return compilePlan({ definition, settings: settingsOf(), period, catalog, limits: less });
          };
          const possible = sections.filter((section) => {
            try {
              return plan([section], stricter).calls.length > 0;
            } catch {
              seen.refused += 1;
              return false;
            }
          });
          fc.pre(possible.length > 0);
          const read = async (less: Partial<CallLimits>): Promise<readonly Table[]> => {
            run += 1;
            const made = plan(possible, less);
            for (const { join, section } of made.sections) {
              if (join === undefined) continue;
              seen.cut += 1;
              seen.pieces += join.parts.length;
              if (compare) seen.compared += 1;
              if (section.order !== undefined) seen.ordered += 1;
              if (join.sums) seen.summed += 1;
              if (section.totals) seen.totals += 1;
              if (join.undefinedTotals !== undefined) seen.undefinedTotals += 1;
            }
            const of = { ...context, run: `${label}-${nth}-${run}`, plan: made, catalog, organization: 'x' };
            return doneOf(await fetchDataset(of)).tables;
          };
          const whole = await read({});
          fc.pre(whole.every(({ rows }) => rows.length < catalog.limits.max_rows));
          const pieces = await read(stricter);
          for (const { notes } of [...whole, ...pieces]) expect(notes.filter(isBreach)).toEqual([]);
          for (const [index, table] of whole.entries()) {
            const piecewise = pieces[index]!;
            const groups = rowsOf(table).map(({ values }) => values['profile.group']);
            if (groups.includes(null)) seen.ungrouped += 1;
            if (groups.includes('Partners')) seen.unlisted += madeSince;
            // The plan leaves room for profiles without a group. Unlisted groups may exceed the limit, which a note says.
            if (isCut(piecewise) && !isCut(table)) expect(madeSince).toBeGreaterThan(0);
            else
              expect(withoutCases(definable(piecewise, piecewise))).toEqual(withoutCases(definable(table, piecewise)));
          }
        },
      ),
      cases(numRuns),
    );
  }
  // Each case must have occurred, or the test shows nothing.
  for (const [what, times] of Object.entries(seen)) expect(times, what).toBeGreaterThan(least(0));
});
