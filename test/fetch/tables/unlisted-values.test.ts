import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Catalog } from '../../../src/contract/catalog.ts';
import {
  type Filter,
  type ReportRequest,
  type ReportResponse,
  reportResponseSchema,
} from '../../../src/contract/report.ts';
import type { Period } from '../../../src/definitions/periods/period.ts';
import { joinAnswers } from '../../../src/fetch/internal/tables/join-answers.ts';
import { buildBuckets, type DateRange, previousPeriod } from '../../../src/plan/buckets.ts';
import { compilePlan } from '../../../src/plan/compile.ts';
import type { Plan } from '../../../src/plan/plan.ts';
import { cases, least } from '../../support/fuzz.ts';
import { definitionOf, metricOf, type SectionInput, settingsOf } from '../../support/reports.ts';

/** One event on a day, with an optional branch and an optional risk. */
interface Happening {
  readonly day: string;
  readonly branch: string | null;
  readonly risk: string | null;
  readonly good: boolean;
}

/** All events, and the values that the catalog lists. */
interface World {
  readonly happenings: readonly Happening[];
  readonly listed: Readonly<Record<'branch' | 'risk', readonly string[]>>;
}

const DAYS = Array.from({ length: 20 }, (_, index) => `2026-10-${String(index + 1).padStart(2, '0')}`);
const PERIOD: Period = { from: '2026-10-11', to: '2026-10-20', timezone: 'UTC', label: 'x' };
/** Not sorted: a catalog has its own order. */
const BRANCHES = ['zug', 'bern', 'genf', 'chur', 'thun', 'basel', 'wil'];
/** Branches added after the catalog was read. The service sorts them last. */
const NEW_BRANCHES = ['aarau', 'biel'];
const RISKS = ['low', 'high', 'severe'];

const catalogOf = ({ listed }: World): Catalog => {
  const metric: typeof metricOf = (id, more) => metricOf(id, { dimensions: ['branch', 'risk'], ...more });
  return {
    registry_version: 1,
    metrics: [
      metric('happened', {}),
      metric('good', { unit: 'ratio', aggregation: 'share', additive_over_time: false }),
    ],
    dimensions: Object.entries(listed).map(([id, values]) => ({
      id,
      label: id,
      description: '',
      type: 'enum',
      values: values.map((value) => ({ value, label: value })),
    })),
    limits: { max_range_days: 366, max_dimensions: 2, max_rows: 5000 },
  };
};

const keyed = (happening: Happening, dimension: string): string | null =>
  dimension === 'branch' ? happening.branch : happening.risk;

/** A record without a value passes "not_in" and fails "in" (specification §2.7). */
const passes = (happening: Happening, { dimension, op, values }: Filter): boolean => {
  const value = keyed(happening, dimension);
  return op === 'not_in' ? value === null || !values.includes(value) : value !== null && values.includes(value);
};

const figuresOf = (happenings: readonly Happening[], metrics: readonly string[]) =>
  Object.fromEntries(
    metrics.map((id) => [
      id,
      id === 'happened'
        ? happenings.length
        : happenings.length === 0
          ? null
          : happenings.filter(({ good }) => good).length / happenings.length,
    ]),
  );

/** The response of the service: every bucket of every group that occurs in either period, at most `maxRows` rows. */
function answer(world: World, request: ReportRequest, maxRows: number): ReportResponse {
  const { metrics, dimensions = [], filters = [], time = {}, order: [first] = [], include } = request;
  const range: DateRange = { from: time.from ?? '', to: time.to ?? '' };
  const before = time.compare === undefined ? undefined : previousPeriod(range);
  const passing = world.happenings.filter((one) => filters.every((filter) => passes(one, filter)));
  const within = ({ from, to }: DateRange) => passing.filter(({ day }) => day >= from && day <= to);
  const requested = [...within(range), ...(before === undefined ? [] : within(before))];
  const orders = dimensions.map((id) =>
    id === 'branch' ? [...world.listed.branch, ...NEW_BRANCHES, null] : [...RISKS, 'unheard of', null],
  );
  const nameOf = (happening: Happening) => JSON.stringify(dimensions.map((id) => keyed(happening, id)));
  const present = new Set(requested.map(nameOf));
  const everyGroup = orders.reduce<(string | null)[][]>(
    (groups, values) => groups.flatMap((group) => values.map((value) => [...group, value])),
    [[]],
  );
  const groups = everyGroup.filter((group) => dimensions.length === 0 || present.has(JSON.stringify(group)));
  const buckets = buildBuckets(range, time.granularity);
  const previous = before === undefined ? [] : buildBuckets(before, time.granularity);
  const rows = buckets.flatMap((bucket, index) =>
    groups.map((group) => {
      const own = (days: DateRange) => within(days).filter((one) => nameOf(one) === JSON.stringify(group));
      const matched = previous[index];
      const compared =
        matched === undefined ? Object.fromEntries(metrics.map((id) => [id, null])) : figuresOf(own(matched), metrics);
      return {
        ...(time.granularity === undefined ? {} : { bucket: bucket.label }),
        ...Object.fromEntries(dimensions.map((id, nth) => [id, group[nth]])),
        ...figuresOf(own(bucket), metrics),
        ...(before === undefined ? {} : { compare: compared }),
        partial: false,
      };
    }),
  );
  if (first !== undefined) {
    const values: readonly unknown[] = orders[dimensions.indexOf(first.by)] ?? [];
    const place = (row: Readonly<Record<string, unknown>>) => values.indexOf(row[first.by]);
    rows.sort((a, b) => (place(a) - place(b)) * (first.dir === 'desc' ? -1 : 1));
  }
  return reportResponseSchema.parse({
    meta: {
      as_of: '2026-11-01T00:00:00Z',
      cached: false,
      timezone: time.timezone ?? 'UTC',
      range,
      ...(before === undefined ? {} : { compare_range: before }),
      granularity: time.granularity ?? null,
      row_count: Math.min(rows.length, maxRows),
      truncated: rows.length > maxRows,
      registry_version: 1,
    },
    columns: [],
    rows: rows.slice(0, maxRows),
    ...(include === undefined
      ? {}
      : {
          totals: {
            ...figuresOf(within(range), metrics),
            ...(before === undefined ? {} : { compare: figuresOf(within(before), metrics) }),
          },
        }),
  });
}

/** The table of the only section, joined according to its plan, from a service that sends at most `maxRows` rows per call. */
function answered(world: World, plan: Plan, catalog: Catalog, maxRows: number) {
  const responses = new Map(
    plan.calls.map((call) => {
      if (call.kind !== 'report') throw new Error('expected a report');
      return [call.id, { response: answer(world, call.request, maxRows) }];
    }),
  );
  const [section] = plan.sections;
  if (section === undefined) throw new Error('expected a section');
  if (section.join !== undefined) return joinAnswers(section.join, responses, catalog);
  return responses.get(section.call ?? '')?.response;
}

const world: fc.Arbitrary<World & { readonly unlisted: boolean }> = fc
  .record({
    branches: fc.nat(BRANCHES.length),
    made: fc.constantFrom(0, 0, 1, 2),
    lacking: fc.constantFrom('nothing', 'branch', 'both'),
    unheard: fc.constantFrom(false, false, true),
    draws: fc.array(fc.tuple(fc.nat(99), fc.nat(99), fc.nat(99), fc.boolean()), { minLength: 5, maxLength: 60 }),
  })
  .map(({ branches, made, lacking, unheard, draws }) => {
    const listed = BRANCHES.slice(0, branches);
    const branchesThere = [...listed, ...NEW_BRANCHES.slice(0, made), ...(lacking === 'nothing' ? [] : [null])];
    const risksThere = [...RISKS, ...(unheard ? ['unheard of'] : []), ...(lacking === 'both' ? [null] : [])];
    const happenings = draws.map(
      ([day, branch, risk, good]): Happening => ({
        day: DAYS[day % DAYS.length] ?? '',
        branch: branchesThere[branch % branchesThere.length] ?? null,
        risk: risksThere[risk % risksThere.length] ?? null,
        good,
      }),
    );
    return {
      happenings: branchesThere.length === 0 ? [] : happenings,
      listed: { branch: listed, risk: RISKS },
      unlisted: made > 0 || unheard,
    };
  });

const section = fc.record({
  metrics: fc.constantFrom(['happened'], ['good'], ['happened', 'good']),
  dimensions: fc.constantFrom([], ['branch'], ['branch', 'risk'], ['risk', 'branch']),
  granularity: fc.constantFrom(undefined, 'day' as const, 'week' as const),
  filters: fc.array(
    fc.record({
      dimension: fc.constantFrom('branch', 'branch', 'risk'),
      op: fc.constantFrom('in' as const, 'not_in' as const, 'not_in' as const),
      picks: fc.subarray([0, 1, 2, 3, 4, 5, 6]),
    }),
    { maxLength: 2 },
  ),
  order: fc.constantFrom(undefined, undefined, 'asc' as const, 'desc' as const),
  totals: fc.boolean(),
});

const limits = fc.record({
  max_rows: fc.constantFrom(4, 8, 20, 60, 5000),
  max_filter_values: fc.constantFrom(1, 2, 3, 50),
  max_range_days: fc.constantFrom(4, 366, 366),
  max_metrics: fc.constantFrom(1, 20),
});

test('a joined table equals the response to one unlimited call, even with unlisted values, or is marked as truncated', () => {
  const seen = { joined: 0, open: 0, groupsParted: 0, manyFilters: 0, lacking: 0, unlisted: 0, cut: 0, refused: 0 };
  fc.assert(
    fc.property(world, section, limits, fc.boolean(), (there, drawn, stricter, compare) => {
      const catalog = catalogOf(there);
      const filters = drawn.filters.flatMap(({ dimension, op, picks }): Filter[] => {
        const all = dimension === 'branch' ? there.listed.branch : there.listed.risk;
        const values = picks.flatMap((pick) => all[pick] ?? []);
        return values.length === 0 ? [] : [{ dimension, op, values }];
      });
      const [by] = drawn.dimensions;
      const requested: SectionInput = {
        id: 'a',
        metrics: [...drawn.metrics],
        dimensions: [...drawn.dimensions],
        ...(drawn.granularity === undefined ? {} : { granularity: drawn.granularity }),
        ...(filters.length === 0 ? {} : { filters }),
        ...(drawn.order === undefined || by === undefined ? {} : { order: [{ by, dir: drawn.order }] }),
        totals: drawn.totals,
      };
      const definition = definitionOf([requested], compare ? { compare: 'previous_period' } : {});
      const input = { definition, settings: settingsOf(), period: PERIOD, catalog };
      let plan: Plan;
      try {
        plan = compilePlan({ ...input, limits: stricter });
      } catch {
        seen.refused += 1;
        return;
      }
      const got = answered(there, plan, catalog, stricter.max_rows);
      const whole = answered(there, compilePlan(input), catalog, Number.POSITIVE_INFINITY);
      if (got === undefined || whole === undefined) throw new Error('expected answers');
      const [planned] = plan.sections;
      const requests = plan.calls.flatMap((call) => (call.kind === 'report' ? [call.request] : []));
      const notIn = ({ filters: own = [] }: ReportRequest, of: string) =>
        own.filter(({ dimension, op }) => dimension === of && op === 'not_in').length;
      if (planned?.join !== undefined) seen.joined += 1;
      if (requests.some((request) => notIn(request, 'branch') > 0)) seen.open += 1;
      if (requests.some((request) => notIn(request, 'branch') > 1)) seen.manyFilters += 1;
      if (new Set(requests.map((request) => JSON.stringify(request.filters))).size > 1) seen.groupsParted += 1;
      if (whole.rows.some((row) => row.branch === null)) seen.lacking += 1;
      if (whole.rows.some((row) => row.branch === 'aarau')) seen.unlisted += 1;
      if (got.meta.truncated) {
        seen.cut += 1;
        // The plan leaves room for records without a value. Only unlisted values can exceed the limit.
        expect(there.unlisted).toBe(true);
        return;
      }
      expect(got.rows).toEqual(whole.rows);
      if (!drawn.totals) return;
      const undefinable = planned?.join?.undefinedTotals?.metrics ?? [];
      const known = (figures: unknown) =>
        Object.fromEntries(Object.entries(Object(figures)).filter(([id]) => !undefinable.includes(id)));
      expect(known({ ...got.totals, compare: known(got.totals?.compare) })).toEqual(
        known({ ...whole.totals, compare: known(whole.totals?.compare) }),
      );
    }),
    cases(600),
  );
  // Each case must have occurred, or the test shows nothing.
  for (const [what, times] of Object.entries(seen)) expect(times, what).toBeGreaterThanOrEqual(least(1));
});

describe('a table of more than 5,000 rows, with 69 listed branches and an unlisted one,', () => {
  const listed = Array.from({ length: 69 }, (_, index) => `branch ${index}`);
  const period: Period = { from: '2026-01-01', to: '2026-04-30', timezone: 'UTC', label: 'x' };
  const rowsWith = (branch: string | null, more: Partial<SectionInput>, compare: boolean) => {
    const happenings = [...listed, branch].map((one) => ({ day: '2026-02-01', branch: one, risk: null, good: true }));
    const there: World = { happenings, listed: { branch: listed, risk: RISKS } };
    const catalog = catalogOf(there);
    const requested: SectionInput = { id: 'a', metrics: ['happened'], totals: true, ...more };
    const definition = definitionOf([requested], compare ? { compare: 'previous_period' } : {});
    const plan = compilePlan({ definition, settings: settingsOf(), period, catalog });
    const { rows = [], totals, meta } = answered(there, plan, catalog, 5000) ?? {};
    const sum = rows.reduce((all, row) => all + Number(row.happened), 0);
    return { rows: rows.length, sum, total: totals?.happened, truncated: meta?.truncated, calls: plan.calls.length };
  };
  const byDay: Partial<SectionInput> = { dimensions: ['branch'], granularity: 'day' };
  const filtered = (op: 'in' | 'not_in'): Partial<SectionInput> => ({
    filters: [{ dimension: 'branch', op, values: listed.slice(0, 60) }],
  });

  test.each([[null], ['aarau']])('has the rows of all branches, if the unlisted one is %j', (branch) => {
    const whole = { rows: 8400, sum: 70, total: 70, truncated: false };
    expect(rowsWith(branch, byDay, false)).toEqual({ ...whole, calls: 2 });
    // With a comparison the call is split by groups, and the totals need another call.
    expect(rowsWith(branch, byDay, true)).toEqual({ ...whole, calls: 3 });
    expect(rowsWith(branch, filtered('not_in'), false)).toMatchObject({ sum: 10, total: 10, calls: 1 });
    expect(rowsWith(branch, filtered('in'), false)).toMatchObject({ sum: 60, total: 60, calls: 2 });
  });
});
