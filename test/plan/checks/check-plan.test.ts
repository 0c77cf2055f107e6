import { describe, expect, test } from 'vitest';
import type { Catalog } from '../../../src/contract/catalog.ts';
import type { Period } from '../../../src/definitions/periods/period.ts';
import type { PlanDiagnostic } from '../../../src/plan/checks/catalog-check.ts';
import { checkPlan, checkRequests, MAX_PLAN_DIAGNOSTICS } from '../../../src/plan/checks/check-plan.ts';
import type { CallLimits } from '../../../src/plan/requests/call.ts';
import { type SectionRequestsInput, sectionRequests } from '../../../src/plan/requests/section-requests.ts';
import { CATALOG, type DefinitionInput, definitionOf, type SectionInput, WEEK } from '../../support/reports.ts';

const MANY = Array.from({ length: 14 }, (_, index) => `branch-${index}`);
/** The small catalog with a dimension of 14 values and a metric without granularity. */
const WIDE: Catalog = {
  ...CATALOG,
  metrics: [
    ...CATALOG.metrics.map((metric) => ({ ...metric, dimensions: [...metric.dimensions, 'branch'] })),
    { ...CATALOG.metrics[0]!, id: 'sum.total', granularities: [] },
  ],
  dimensions: [
    ...CATALOG.dimensions,
    {
      id: 'branch',
      label: 'Branch',
      description: '',
      type: 'enum',
      values: MANY.map((value) => ({ value, label: value.toUpperCase() })),
    },
  ],
};
const LONG: Period = { from: '2024-01-01', to: '2026-06-30', timezone: 'Europe/Zurich', label: 'long' };

interface Asked {
  readonly period?: Period;
  readonly catalog?: Catalog;
  readonly limits?: Partial<CallLimits>;
  readonly more?: DefinitionInput;
}
/** Checks the section as the second one, so that its index in the file is not 0. */
const faults = (section: Partial<SectionInput>, { more = {}, period = WEEK, catalog = WIDE, limits }: Asked = {}) =>
  checkPlan({
    definition: definitionOf(
      [
        { id: 'before', list: 'profiles' },
        { id: 'a', ...section },
      ],
      more,
    ),
    period,
    catalog,
    ...(limits && { limits }),
  });

const CASES: readonly [string, Partial<SectionInput>, Asked, PlanDiagnostic['path'], Omit<PlanDiagnostic, 'path'>][] = [
  [
    'a metric without a similar one',
    { metrics: ['profiles.created', 'revenue'] },
    {},
    ['metrics', 1],
    {
      expected: "a metric of the organization's catalog",
      got: '"revenue"',
      next: '`docket catalog --org acme` lists them.',
    },
  ],
  [
    'a metric with an unreadable description',
    { metrics: ['odd.metric'] },
    { catalog: { ...WIDE, unread: [{ id: 'odd.metric', why: 'granularities: odd' }] } },
    ['metrics', 0],
    {
      expected: "a metric of the organization's catalog",
      got: '"odd.metric"',
      next: 'The catalog has it, but Docket cannot read its description (granularities: odd): report it to the service.',
    },
  ],
  [
    'current counts by day',
    { metrics: ['alerts.open', 'rfis.open'], granularity: 'day' },
    {},
    ['granularity'],
    {
      expected: 'no granularity with a current count, which is the state now, unless it is read every day',
      got: '"day" with "alerts.open", "rfis.open"',
      next: 'Add "alerts.open", "rfis.open" to "readings: metrics" of org.yaml: Docket then reads them every day. Or leave "granularity" out.',
    },
  ],
  [
    'current counts beside metrics of a period',
    { metrics: ['profiles.created', 'rfis.open', 'alerts.open'] },
    {},
    ['metrics', 1],
    {
      expected: 'current counts in a section of their own: the period does not apply to them',
      got: '"rfis.open", "alerts.open" beside metrics of a period',
      next: 'Move the current counts into a section of their own.',
    },
  ],
  [
    'a granularity that the metric does not take',
    { metrics: ['profiles.created', 'cohort.completion_rate'], granularity: 'day' },
    {},
    ['metrics', 1],
    {
      expected: 'a metric that can be read by day',
      got: '"cohort.completion_rate", which takes "week", "month"',
      next: 'Use a granularity it takes, or move the metric into a section of its own.',
    },
  ],
  [
    'a granularity for a metric that takes none',
    { metrics: ['sum.total'], granularity: 'week' },
    {},
    ['metrics', 0],
    {
      expected: 'a metric that can be read by week',
      got: '"sum.total", which takes no granularity',
      next: 'Use a granularity it takes, or move the metric into a section of its own.',
    },
  ],
  [
    'a dimension without a similar one',
    { metrics: ['profiles.created'], dimensions: ['profile.type', 'colour'] },
    {},
    ['dimensions', 1],
    {
      expected: "a dimension of the organization's catalog",
      got: '"colour"',
      next: 'Use one of "profile.type", "profile.risk", "hit.kind", "branch".',
    },
  ],
  [
    'a dimension with an unreadable description',
    { metrics: ['profiles.created'], dimensions: ['x.flag'] },
    { catalog: { ...WIDE, unread: [{ id: 'x.flag', why: 'values: odd' }] } },
    ['dimensions', 0],
    {
      expected: "a dimension of the organization's catalog",
      got: '"x.flag"',
      next: 'The catalog has it, but Docket cannot read its description (values: odd): report it to the service.',
    },
  ],
  [
    'a dimension that one metric does not accept',
    { metrics: ['alerts.open'], dimensions: ['profile.risk'] },
    {},
    ['dimensions', 0],
    {
      expected: 'a dimension that every metric of the section accepts: "profile.type", "branch"',
      got: '"profile.risk", which "alerts.open" does not accept',
      next: 'Use an accepted dimension, or move these metrics into a section of their own.',
    },
  ],
  [
    'a dimension that several metrics do not accept',
    { metrics: ['alerts.open', 'rfis.open'], dimensions: ['profile.risk'] },
    {},
    ['dimensions', 0],
    {
      expected: 'a dimension that every metric of the section accepts: "profile.type", "branch"',
      got: '"profile.risk", which "alerts.open", "rfis.open" do not accept',
      next: 'Use an accepted dimension, or move these metrics into a section of their own.',
    },
  ],
  [
    'a filter by a dimension that the metrics do not share',
    { metrics: ['screening.hits', 'profiles.created'], filters: [{ dimension: 'hit.kind', values: ['pep'] }] },
    { catalog: CATALOG },
    ['filters', 0, 'dimension'],
    {
      expected: 'no dimension: these metrics share none',
      got: '"hit.kind", which "profiles.created" does not accept',
      next: 'Use an accepted dimension, or move these metrics into a section of their own.',
    },
  ],
  [
    'more dimensions than the catalog allows',
    { metrics: ['profiles.created'], dimensions: ['profile.type', 'profile.risk'] },
    { catalog: { ...WIDE, limits: { ...WIDE.limits, max_dimensions: 1 } } },
    ['dimensions'],
    { expected: 'at most 1 dimensions', got: '2', next: 'Remove some, or make two sections.' },
  ],
  [
    'a value without a similar one, where the error lists twelve values',
    {
      metrics: ['profiles.created'],
      filters: [
        { dimension: 'profile.risk', values: ['high'] },
        { dimension: 'branch', values: ['branch-0', 'elsewhere'] },
      ],
    },
    {},
    ['filters', 1, 'values', 1],
    {
      expected: `a value that "branch" takes: ${MANY.slice(0, 12)
        .map((value) => `"${value}"`)
        .join(', ')} and 2 more`,
      got: '"elsewhere"',
      next: 'Use one of the values above.',
    },
  ],
  [
    'a label in place of its value, in any case',
    { metrics: ['profiles.created'], filters: [{ dimension: 'profile.type', values: ['entity (kyb)'] }] },
    {},
    ['filters', 0, 'values', 0],
    {
      expected: 'a value that "profile.type" takes: "individual", "entity"',
      got: '"entity (kyb)"',
      next: 'Write "entity": "Entity (KYB)" is its label.',
    },
  ],
  [
    'a limit above that of the catalog',
    { metrics: ['profiles.created'], limit: 101 },
    { catalog: { ...WIDE, limits: { ...WIDE.limits, max_rows: 100 } } },
    ['limit'],
    { expected: 'at most 100 rows', got: '101', next: 'Lower the limit.' },
  ],
  [
    'a total over more days than a call allows, of metrics that do not add up',
    { metrics: ['profiles.created', 'profiles.approval_rate', 'cohort.completion_rate'] },
    { period: LONG },
    ['metrics', 1],
    {
      expected: 'a "granularity", or metrics that may be added up: one value over more than 366 days exceeds a call',
      got: '"profiles.approval_rate", "cohort.completion_rate" over 2024-01-01 to 2026-06-30, which is 912 days',
      next: 'Add a granularity, shorten the period, or move these metrics into a report of their own.',
    },
  ],
  [
    'a filter that names too many values, for metrics that do not add up',
    {
      metrics: ['profiles.created', 'profiles.approval_rate'],
      filters: [
        { dimension: 'branch', op: 'not_in', values: MANY.slice(1, 9) },
        // All values but one. A "not_in" filter for that one would include unlisted values.
        { dimension: 'branch', values: MANY.slice(1) },
      ],
    },
    { limits: { max_filter_values: 4 } },
    ['filters', 1, 'values'],
    {
      expected: 'at most 4 values: more are requested in several calls, whose values add up for counts only',
      got: '"profiles.approval_rate" with more values of "branch"',
      next: 'Group by "branch" as well, name fewer values, exclude the others by "not_in", or move these metrics into a section of their own.',
    },
  ],
  [
    'too many values in a second filter, but not in one whose dimension is a column',
    {
      metrics: ['profiles.approval_rate'],
      dimensions: ['profile.risk'],
      filters: [
        { dimension: 'profile.risk', values: ['low', 'medium', 'high', 'severe'] },
        { dimension: 'branch', values: MANY.slice(0, 3) },
        { dimension: 'branch', values: MANY.slice(1) },
      ],
    },
    { limits: { max_filter_values: 3 } },
    ['filters', 2, 'values'],
    {
      expected: 'at most 3 values: more are requested in several calls, whose values add up for counts only',
      got: '"profiles.approval_rate" with more values of "branch"',
      next: 'Group by "branch" as well, name fewer values, exclude the others by "not_in", or move these metrics into a section of their own.',
    },
  ],
  [
    'buckets longer than a call allows',
    { metrics: ['profiles.created'], granularity: 'month' },
    { period: LONG, limits: { max_range_days: 30 } },
    ['granularity'],
    { expected: 'buckets of at most 30 days', got: '"month"', next: 'Use a finer granularity.' },
  ],
  [
    'one group with more rows than a call returns',
    { metrics: ['profiles.created'], dimensions: ['profile.type', 'branch'], granularity: 'day' },
    { limits: { max_rows: 1 } },
    ['dimensions'],
    {
      expected: 'at most 1 rows per call, however the groups are split',
      got: 'up to 210 rows',
      next: 'Group by one dimension less, filter it, or set a "limit".',
    },
  ],
  [
    'a table that needs more than 100 calls',
    { metrics: ['profiles.created'], granularity: 'day' },
    { period: LONG, limits: { max_range_days: 9 } },
    [],
    {
      expected: 'a table of at most 100 calls',
      got: 'up to 102 calls',
      next: 'Shorten the period, use a coarser granularity, fewer dimensions or a "limit".',
    },
  ],
];

test.each(CASES)('docket check reports %s', (_what, section, requested, place, said) => {
  expect(faults(section, requested)).toMatchObject([{ path: ['sections', 1, ...place], ...said }]);
});

test.each<[string, Partial<SectionInput>, Asked]>([
  [
    'a limit equal to that of the catalog',
    { metrics: ['profiles.created'], limit: 100 },
    { catalog: { ...WIDE, limits: { ...WIDE.limits, max_rows: 100 } } },
  ],
  [
    'as many dimensions as the catalog allows',
    { metrics: ['profiles.created'], dimensions: ['profile.type', 'branch'] },
    {},
  ],
  ['a granularity that the metric takes', { metrics: ['profiles.created'], granularity: 'month' }, {}],
  ['a period as long as a call allows', { metrics: ['profiles.approval_rate'] }, { limits: { max_range_days: 7 } }],
  [
    'months as long as a call allows',
    { metrics: ['profiles.created'], granularity: 'month' },
    { period: LONG, limits: { max_range_days: 31 } },
  ],
  [
    'as many values as a filter allows',
    { metrics: ['profiles.approval_rate'], filters: [{ dimension: 'branch', values: MANY.slice(0, 4) }] },
    { limits: { max_filter_values: 4 } },
  ],
  [
    'a filter that excludes every listed value, because rows may have unlisted values or none',
    { metrics: ['profiles.approval_rate'], filters: [{ dimension: 'branch', op: 'not_in', values: MANY }] },
    { limits: { max_filter_values: 4 } },
  ],
  [
    'a table of exactly 100 calls',
    { metrics: ['profiles.created'], granularity: 'day' },
    { period: { ...LONG, from: '2026-01-01', to: '2026-04-10' }, limits: { max_range_days: 1 } },
  ],
  [
    'as many rows as a call returns',
    { metrics: ['profiles.created'], dimensions: ['branch'] },
    { limits: { max_rows: 14 } },
  ],
])('docket check allows %s', (_what, section, requested) => {
  expect(faults(section, requested)).toEqual([]);
});

test('docket check reports limits of calls only for sections that fit the catalog, and once per section', () => {
  const unknown = faults({ metrics: ['profiles.approval_rate', 'nope'] }, { period: LONG });
  expect(unknown.map(({ path }) => path)).toEqual([['sections', 1, 'metrics', 1]]);
  const spread = faults(
    { metrics: ['profiles.approval_rate', 'cohort.completion_rate'] },
    { period: LONG, limits: { max_metrics: 1 } },
  );
  expect(spread.map(({ path }) => path)).toEqual([['sections', 1, 'metrics', 0]]);
});

test('docket check counts the calls of a section with many metrics together', () => {
  const requested = { period: LONG, limits: { max_range_days: 18, max_metrics: 1 } };
  expect(faults({ metrics: ['profiles.created'], granularity: 'day' }, requested)).toEqual([]);
  expect(faults({ metrics: ['profiles.created', 'profiles.decided'], granularity: 'day' }, requested)).toMatchObject([
    { got: 'up to 102 calls' },
  ]);
});

describe('the diagnostics of a report', () => {
  const unknown = (id: string, count: number): SectionInput => ({
    id,
    metrics: Array.from({ length: count }, (_, index) => `revenue.${id}.${index}`),
  });
  const tooLong: SectionInput = { id: 'long', metrics: ['profiles.approval_rate'] };
  const histories: SectionInput = { id: 'open', metrics: ['alerts.open'], to_date: 'year' };
  const inputOf = (sections: readonly SectionInput[], more: DefinitionInput = {}) => ({
    definition: definitionOf(sections, more),
    period: LONG,
    catalog: CATALOG,
  });
  const placesOf = (found: readonly PlanDiagnostic[]) => found.map(({ path }) => path.join('.'));
  /** Of those that stop a run. */
  const stoppingPlaces = (input: SectionRequestsInput) => placesOf(checkRequests(sectionRequests(input), input));

  test('are in the order of the file, with those of the report before those of sections', () => {
    const input = inputOf([histories, tooLong, unknown('a', 2), { ...histories, id: 'again' }, unknown('b', 1)], {
      units: { 'profiles.created': 'hours' },
      deliveries: [{ directory: { path: 'out' }, send_if: 'profiles.created > 10%' }],
    });
    expect(placesOf(checkPlan(input))).toEqual([
      'units.profiles.created',
      'deliveries.0.send_if',
      'sections.0.to_date',
      'sections.1.metrics.0',
      'sections.2.metrics.0',
      'sections.2.metrics.1',
      'sections.3.to_date',
      'sections.4.metrics.0',
    ]);
    // Only these stop a run.
    expect(stoppingPlaces(input)).toEqual([
      'sections.1.metrics.0',
      'sections.2.metrics.0',
      'sections.2.metrics.1',
      'sections.4.metrics.0',
    ]);
  });

  test('are at most a hundred, the first ones in the file', () => {
    const input = inputOf([...['a', 'b', 'c', 'd', 'e', 'f'].map((id) => unknown(id, 20))], {
      labels: { banana: 'Banana' },
    });
    const requests = stoppingPlaces(input);
    expect(requests).toHaveLength(MAX_PLAN_DIAGNOSTICS);
    expect(requests.at(0)).toBe('sections.0.metrics.0');
    expect(requests.at(-1)).toBe('sections.4.metrics.19');
    const all = placesOf(checkPlan(input));
    expect(all).toHaveLength(MAX_PLAN_DIAGNOSTICS);
    expect(all.at(0)).toBe('labels.banana');
    expect(all.at(-1)).toBe('sections.4.metrics.18');
  });

  test('are at most a hundred including those about limits of calls, also in the order of the file', () => {
    const sections = [tooLong, ...['a', 'b', 'c', 'd'].map((id) => unknown(id, 20)), unknown('e', 19)];
    const found = stoppingPlaces(inputOf([...sections, { ...tooLong, id: 'too' }]));
    expect(found).toHaveLength(MAX_PLAN_DIAGNOSTICS);
    expect(found.at(0)).toBe('sections.0.metrics.0');
    expect(found.at(-1)).toBe('sections.5.metrics.18');
  });

  test('name further figures that exceed the limits of calls if the section itself does not', () => {
    const days = { id: 'types', metrics: ['profiles.approval_rate'], dimensions: ['profile.type'] };
    const found = (section: SectionInput, max_range_days = 100) =>
      checkPlan({
        ...inputOf([{ id: 'before', list: 'profiles' }, section]),
        period: WEEK,
        limits: { max_range_days },
      });
    expect(found({ ...days, to_date: 'year' })).toMatchObject([
      { path: ['sections', 1, 'metrics', 0], got: expect.stringMatching(/ for "to_date"$/) },
    ]);
    expect(found({ ...days, to_date: 'quarter' })).toEqual([]);
    // One diagnostic is enough, and that of the section itself comes first.
    expect(found({ ...days, to_date: 'year', compare: 'previous_year' }, 6)).toMatchObject([
      { got: expect.not.stringMatching(/ for /) },
    ]);
  });
});

test.each<[string, Partial<SectionInput>, [from: string, to: string] | undefined, boolean]>([
  ['a scorecard of a week with 13 weeks', { layout: 'scorecard', trend: 13 }, undefined, true],
  ['a scorecard of a week with 12 weeks', { layout: 'scorecard', trend: 12 }, undefined, false],
  ['a table of 13 months', { granularity: 'month' }, ['2025-10-01', '2026-10-31'], false],
  ['a trend of 13 months', { layout: 'trend', granularity: 'month' }, ['2025-10-01', '2026-10-31'], true],
  ['a trend of 13 months less a day', { layout: 'trend', granularity: 'month' }, ['2025-10-01', '2026-10-30'], false],
  ['a trend of 12 months', { layout: 'trend', granularity: 'month' }, ['2025-11-01', '2026-10-31'], false],
  ['a trend of 31 days', { layout: 'trend', granularity: 'day' }, ['2026-10-01', '2026-10-31'], false],
])('docket check knows whether figures can be unusual in %s', (_, section, days, can) => {
  const deliveries = [{ directory: { path: 'out' }, send_if: 'unusual' }];
  const period = days === undefined ? WEEK : { ...LONG, from: days[0], to: days[1] };
  const found = faults({ metrics: ['profiles.created'], ...section }, { period, more: { deliveries } });
  expect(found.map(({ path }) => path)).toEqual(can ? [] : [['deliveries', 0, 'send_if']]);
});
