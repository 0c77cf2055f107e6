import { describe, expect, test } from 'vitest';
import type { Catalog } from '../../src/contract/catalog.ts';
import { LIMITS } from '../../src/contract/limits.ts';
import type { Period } from '../../src/definitions/periods/period.ts';
import { buildBuckets, dayCount, previousPeriod } from '../../src/plan/buckets.ts';
import { checkPlan } from '../../src/plan/checks/check-plan.ts';
import { compilePlan } from '../../src/plan/compile.ts';
import { explain, formatExplain } from '../../src/plan/explain.ts';
import { collectCalls } from '../../src/plan/plan.ts';
import {
  CATALOG,
  type DefinitionInput,
  definitionOf,
  type SectionInput,
  settingsOf,
  WEEK,
} from '../support/reports.ts';

const YEARS: Period = { from: '2024-01-01', to: '2026-06-30', timezone: 'Europe/Zurich', label: 'long' };
const BRANCHES = Array.from({ length: 120 }, (_, index) => `b${String(index).padStart(3, '0')}`);

/** The small catalog with a dimension of 120 values. */
const WIDE: Catalog = {
  ...CATALOG,
  metrics: CATALOG.metrics.map((metric) => ({ ...metric, dimensions: [...metric.dimensions, 'branch'] })),
  dimensions: [
    ...CATALOG.dimensions,
    {
      id: 'branch',
      label: 'Branch',
      description: '',
      type: 'enum',
      values: BRANCHES.map((value) => ({ value, label: value })),
    },
  ],
};

interface Input {
  readonly period?: Period;
  readonly more?: DefinitionInput;
  readonly catalog?: Catalog;
}
const compile = (sections: SectionInput[], { period = WEEK, more = {}, catalog = WIDE }: Input = {}) =>
  compilePlan({ definition: definitionOf(sections, more), settings: settingsOf(), period, catalog });
const requests = (...requested: Parameters<typeof compile>) =>
  compile(...requested).calls.flatMap((call) => (call.kind === 'report' ? [call.request] : []));
const ranges = (...requested: Parameters<typeof compile>) =>
  requests(...requested).map(({ time }) => `${time?.from} ${time?.to}`);
const faults = (section: Partial<SectionInput>, { period = WEEK, more = {}, catalog = WIDE }: Input = {}) =>
  checkPlan({ definition: definitionOf([{ id: 'a', ...section }], more), period, catalog });

describe('buckets', () => {
  test('by week begin on Monday, and the first and last are cut to the range', () => {
    expect(buildBuckets({ from: '2026-11-12', to: '2026-11-24' }, 'week')).toEqual([
      { label: '2026-11-09', from: '2026-11-12', to: '2026-11-15' },
      { label: '2026-11-16', from: '2026-11-16', to: '2026-11-22' },
      { label: '2026-11-23', from: '2026-11-23', to: '2026-11-24' },
    ]);
  });

  test.each([
    ['one day', '2026-11-19', '2026-11-19', 1],
    ['a range over the end of summer time', '2026-10-20', '2026-10-30', 11],
    ['a leap year', '2028-01-01', '2028-12-31', 366],
  ])('by day include both ends of %s', (_name, from, to, days) => {
    expect(dayCount({ from, to })).toBe(days);
    expect(buildBuckets({ from, to }, 'day').length).toBe(days);
  });

  test.each([
    ['as many months, for whole months', '2026-03-01', '2026-04-30', '2026-01-01', '2026-02-28'],
    ['as many months, for whole months of more than a year', '2024-01-01', '2026-06-30', '2021-07-01', '2023-12-31'],
    ['as many days, for other ranges', '2026-03-02', '2026-03-31', '2026-01-31', '2026-03-01'],
  ])('of the previous period start earlier by %s', (_name, from, to, first, last) => {
    expect(previousPeriod({ from, to })).toEqual({ from: first, to: last });
  });
});

describe('a range longer than a call allows', () => {
  test('is split between months into the fewest calls', () => {
    const section: SectionInput = { id: 'a', metrics: ['profiles.created'], granularity: 'month' };
    expect(ranges([section], { period: YEARS })).toEqual([
      '2024-01-01 2024-12-31',
      '2025-01-01 2025-12-31',
      '2026-01-01 2026-06-30',
    ]);
  });

  test('is split between weeks, so that no week is in two calls', () => {
    const cut = requests([{ id: 'a', metrics: ['profiles.created'], granularity: 'week' }], { period: YEARS });
    for (const { time } of cut.slice(1)) expect(new Date(`${time?.from}T00:00:00Z`).getUTCDay()).toBe(1);
    for (const { time } of cut) {
      expect(dayCount({ from: time?.from ?? '', to: time?.to ?? '' })).toBeLessThanOrEqual(LIMITS.max_range_days);
    }
  });

  test('is compared with its previous period by further calls, which do not compare themselves', () => {
    const section: SectionInput = { id: 'a', metrics: ['profiles.created'], granularity: 'month', totals: true };
    const cut = requests([section], { period: YEARS, more: { compare: 'previous_period' } });
    expect(cut.map(({ time }) => [time?.from, time?.to, time?.compare])).toEqual([
      ['2024-01-01', '2024-12-31', undefined],
      ['2025-01-01', '2025-12-31', undefined],
      ['2026-01-01', '2026-06-30', undefined],
      ['2021-07-01', '2022-06-30', undefined],
      ['2022-07-01', '2023-06-30', undefined],
      ['2023-07-01', '2023-12-31', undefined],
    ]);
  });

  test('is requested once for sections that would share a call', () => {
    const plan = compile(
      [
        { id: 'a', metrics: ['profiles.created'], granularity: 'month' },
        { id: 'b', metrics: ['profiles.approval_rate'], granularity: 'month', totals: true },
        { id: 'now', metrics: ['alerts.open'] },
      ],
      { period: YEARS },
    );
    expect(plan.calls.length).toBe(4);
    expect(plan.sections.map(collectCalls).map((ids) => ids.length)).toEqual([3, 3, 1]);
    expect(plan.sections[0]?.join?.parts[0]?.metrics).toEqual(['profiles.created']);
    const document = explain(plan, { catalog: WIDE });
    expect(document).toMatchObject({ tokens: 4, section_calls: 7, naive_calls: 7 });
    expect(document.calls.map(({ sections }) => sections)).toEqual([['a', 'b'], ['a', 'b'], ['a', 'b'], ['now']]);
    expect(formatExplain(document)).toContain('each month; 2024-01-01 to 2024-12-31\n     for a, b, at most 12 rows');
  });

  test('is refused without buckets for metrics that do not add up', () => {
    expect(faults({ metrics: ['profiles.created'] }, { period: YEARS })).toEqual([]);
    expect(faults({ metrics: ['profiles.created', 'profiles.approval_rate'] }, { period: YEARS })).toMatchObject([
      {
        path: ['sections', 0, 'metrics', 1],
        got: '"profiles.approval_rate" over 2024-01-01 to 2026-06-30, which is 912 days',
        next: expect.stringContaining('Add a granularity'),
      },
    ]);
  });

  test('is refused if a bucket is longer than a call allows', () => {
    const catalog = { ...WIDE, limits: { ...WIDE.limits, max_range_days: 30 } };
    const monthly: SectionInput = { id: 'a', metrics: ['profiles.created'], granularity: 'month' };
    const halfYear: Period = { ...YEARS, from: '2026-01-01' };
    const refused = {
      path: ['sections', 0, 'granularity'],
      expected: 'buckets of at most 30 days',
      got: '"month"',
      next: 'Use a finer granularity.',
    };
    expect(faults(monthly, { period: halfYear, catalog })).toEqual([refused]);
    expect(faults({ ...monthly, granularity: 'week' }, { period: halfYear, catalog })).toEqual([]);
    // The period is within the limit, but January before it is not.
    const short: Period = { ...YEARS, from: '2026-02-01', to: '2026-03-30' };
    expect(faults(monthly, { period: short, catalog })).toEqual([]);
    expect(faults(monthly, { period: short, catalog, more: { compare: 'previous_period' } })).toEqual([refused]);
  });

  test('does not affect a current count', () => {
    expect(compile([{ id: 'a', metrics: ['alerts.open'] }], { period: YEARS }).sections[0]?.join).toBe(undefined);
  });

  test('leaves totals undefined if they cannot be added up', () => {
    const [section] = compile(
      [{ id: 'a', metrics: ['profiles.created', 'profiles.approval_rate'], granularity: 'month', totals: true }],
      { period: YEARS },
    ).sections;
    expect(section?.join?.undefinedTotals).toEqual({ metrics: ['profiles.approval_rate'], why: 'range' });
    expect(section?.join?.parts.map(({ totals }) => totals)).toEqual(Array(3).fill(['profiles.created']));
  });

  test('leaves totals undefined only for sections that show them, even if they share calls', () => {
    const months = { granularity: 'month' as const, totals: true };
    const plan = compile(
      [
        { id: 'count', metrics: ['profiles.created'], ...months },
        { id: 'rate', metrics: ['profiles.approval_rate', 'profiles.created'], ...months },
      ],
      { period: YEARS },
    );
    const [count, rate] = plan.sections;
    expect(count?.join?.parts.map(({ call }) => call)).toEqual(rate?.join?.parts.map(({ call }) => call));
    expect(count?.join).not.toHaveProperty('undefinedTotals');
    expect(rate?.join?.undefinedTotals).toEqual({ metrics: ['profiles.approval_rate'], why: 'range' });
  });

  test('leaves all totals undefined that cannot be added up, even if the metrics need several calls', () => {
    const like = (id: string, names: readonly string[]) =>
      CATALOG.metrics
        .filter((metric) => metric.id === id)
        .flatMap((metric) => names.map((name) => ({ ...metric, id: name })));
    const counts = Array.from({ length: 20 }, (_, index) => `profiles.count_${index}`);
    const rates = ['profiles.first_rate', 'profiles.last_rate'];
    const metrics = [...like('profiles.created', counts), ...like('profiles.approval_rate', rates)];
    const requested = ['profiles.first_rate', ...counts, 'profiles.last_rate'];
    const [section] = compile([{ id: 'a', metrics: requested, granularity: 'month', totals: true }], {
      period: YEARS,
      catalog: { ...CATALOG, metrics },
    }).sections;
    expect(section?.join?.undefinedTotals).toEqual({ metrics: rates, why: 'range' });
  });
});

describe('a filter with more values than a call allows', () => {
  const filtered = (op: 'in' | 'not_in', count: number, more: Partial<SectionInput> = {}): SectionInput => ({
    id: 'a',
    metrics: ['profiles.created', 'profiles.approval_rate'],
    filters: [{ dimension: 'branch', op, values: BRANCHES.slice(0, count) }],
    ...more,
  });

  test('excludes values by several filters in one call, and never includes the others instead', () => {
    const leftOut = (values: readonly string[]) => ({ dimension: 'branch', op: 'not_in', values });
    expect(requests([filtered('not_in', 90)]).map(({ filters }) => filters)).toEqual([
      [leftOut(BRANCHES.slice(0, 50)), leftOut(BRANCHES.slice(50, 90))],
    ]);
    // Records without a branch, or with an unlisted one, pass this filter.
    expect(requests([filtered('not_in', 120)])[0]?.filters?.map(({ values }) => values.length)).toEqual([50, 50, 20]);
  });

  test('that includes every listed value still excludes unlisted ones', () => {
    expect(requests([filtered('in', 120, { metrics: ['profiles.created'] })]).map(({ filters }) => filters)).toEqual(
      [BRANCHES.slice(0, 50), BRANCHES.slice(50, 100), BRANCHES.slice(100)].map((values) => [
        { dimension: 'branch', op: 'in', values },
      ]),
    );
  });

  test('is split by value if its dimension is a column, so that each group is in one call', () => {
    const cut = requests([filtered('in', 60, { dimensions: ['branch'] })]);
    expect(cut.map(({ filters }) => filters?.[0]?.values)).toEqual([BRANCHES.slice(0, 50), BRANCHES.slice(50, 60)]);
  });

  test('leaves totals undefined if they cannot be added up', () => {
    const [section] = compile([filtered('in', 60, { dimensions: ['branch'], totals: true })]).sections;
    expect(section?.join?.undefinedTotals).toEqual({ metrics: ['profiles.approval_rate'], why: 'filter' });
    expect(section?.join?.parts.map(({ totals }) => totals)).toEqual(Array(2).fill(['profiles.created']));
  });

  test('never adds up rates, even if the catalog calls them additive', () => {
    const metrics = WIDE.metrics.map((metric) => ({ ...metric, additive_over_time: true }));
    const catalog = { ...WIDE, metrics };
    const rate = { metrics: ['profiles.approval_rate'] };
    expect(faults({ ...rate }, { period: YEARS, catalog })).toHaveLength(1);
    expect(faults(filtered('in', 60, rate), { catalog })).toHaveLength(1);
    expect(faults({ metrics: ['profiles.created'] }, { period: YEARS, catalog })).toEqual([]);
    const [section] = compile([{ id: 'a', ...rate, granularity: 'month', totals: true }], {
      period: YEARS,
      catalog,
    }).sections;
    expect(section?.join?.undefinedTotals).toEqual({ ...rate, why: 'range' });
  });

  test('is split for counts if its dimension is no column, and refused for other metrics', () => {
    const [section] = compile([filtered('in', 60, { metrics: ['profiles.created'] })]).sections;
    expect(section?.join).toMatchObject({ sums: true, parts: [{}, {}] });
    const leftOut = { dimension: 'branch', op: 'not_in' as const, values: BRANCHES.slice(0, 90) };
    expect(faults(filtered('in', 119, { filters: [leftOut, ...filtered('in', 119).filters!] }))).toMatchObject([
      {
        path: ['sections', 0, 'filters', 1, 'values'],
        got: expect.stringContaining('"profiles.approval_rate"'),
        next: expect.stringContaining('Group by "branch"'),
      },
    ]);
    expect(faults(filtered('not_in', 119))).toEqual([]);
  });
});

describe('more rows than a call returns', () => {
  const wide: SectionInput = {
    id: 'a',
    metrics: ['profiles.approval_rate'],
    dimensions: ['branch', 'profile.risk'],
    granularity: 'day',
  };
  const month: Period = { ...WEEK, from: '2026-10-01', to: '2026-10-31' };

  test('are split into calls within the limit, and another call for the totals', () => {
    const plan = compile([{ ...wide, totals: true }], { period: month });
    const { calls } = explain(plan, { catalog: WIDE });
    expect(calls.map(({ rows_at_most }) => rows_at_most ?? 0).every((rows) => rows <= 5000)).toBe(true);
    // 121 branches and 5 risks, both including "no value".
    expect(calls.length).toBe(5);
    expect(calls.at(-1)?.request).toEqual({
      metrics: ['profiles.approval_rate'],
      time: { from: '2026-10-01', to: '2026-10-31', timezone: 'Europe/Zurich' },
      include: ['totals'],
    });
  });

  test('are split by groups if a split range would need further calls for the previous period', () => {
    const cut = requests([wide], { period: month, more: { compare: 'previous_period' } });
    expect(cut.length).toBe(4);
    expect(new Set(cut.map(({ time }) => time?.compare))).toEqual(new Set(['previous_period']));
  });

  test('need only one call if the report limits its rows', () => {
    expect(requests([{ ...wide, limit: 10 }], { period: month }).length).toBe(1);
  });

  test('are fetched once for two sections, of which only one reads the totals', () => {
    const plan = compile(
      [
        { ...wide, totals: true },
        { ...wide, id: 'b' },
      ],
      { period: month },
    );
    const [shown, bare] = plan.sections.map(({ join }) => join?.parts.length);
    expect([plan.calls.length, shown, bare]).toEqual([5, 5, 4]);
  });

  test('are refused if a single value of the widest dimension has more rows than a call returns', () => {
    const catalog = { ...WIDE, limits: { ...WIDE.limits, max_rows: 3 } };
    expect(faults({ ...wide, granularity: 'week' }, { catalog })).toEqual([
      {
        path: ['sections', 0, 'dimensions'],
        expected: 'at most 3 rows per call, however the groups are split',
        got: 'up to 605 rows',
        next: 'Group by one dimension less, filter it, or set a "limit".',
      },
    ]);
  });

  test('are refused if they need too many calls', () => {
    const day = { ...wide, granularity: 'day' as const };
    expect(faults(day, { period: { ...YEARS, from: '2016-07-01' } })).toMatchObject([
      { path: ['sections', 0], expected: 'a table of at most 100 calls' },
    ]);
  });
});

describe('more metrics than a call allows', () => {
  const many = Array.from({ length: 25 }, (_, index) => `m${index}`);
  const catalog = { ...CATALOG, metrics: many.map((id) => ({ ...CATALOG.metrics[0]!, id })) };

  test('are spread over several calls, without order and limit', () => {
    const section: SectionInput = { id: 'a', metrics: many, dimensions: ['profile.risk'], limit: 3 };
    const cut = requests([{ ...section, order: [{ by: 'm24', dir: 'desc' }] }], { catalog });
    expect(cut.map(({ metrics, order, limit }) => [metrics.length, order, limit])).toEqual([
      [20, undefined, undefined],
      [5, undefined, undefined],
    ]);
  });

  test('share their last call with other sections', () => {
    const plan = compile(
      [
        { id: 'a', metrics: many },
        { id: 'b', metrics: ['m3', 'm24'] },
      ],
      { catalog },
    );
    expect(plan.calls.length).toBe(2);
  });
});

describe('a deprecated metric', () => {
  const section: SectionInput = {
    id: 'a',
    metrics: ['profiles.opened', 'profiles.decided'],
    order: [{ by: 'profiles.opened', dir: 'desc' }],
  };

  test.each<[SectionInput['chart'], SectionInput['chart']]>([
    ['line', 'line'],
    [
      { kind: 'column', axes: { primary: 'Profiles' } },
      { kind: 'column', axes: { primary: 'Profiles' } },
    ],
    [
      { kind: 'line', series: ['profiles.opened', 'profiles.decided'], secondary: ['profiles.opened'] },
      { kind: 'line', series: ['profiles.created', 'profiles.decided'], secondary: ['profiles.created'] },
    ],
  ])('is also replaced in the chart %j', (chart, drawn) => {
    const charted: SectionInput = {
      id: 'a',
      metrics: ['profiles.opened', 'profiles.decided'],
      granularity: 'day',
      ...(chart === undefined ? {} : { chart }),
    };
    expect(compile([charted], { more: { follow_replacements: true } }).sections[0]?.section.chart).toEqual(drawn);
  });

  test('is requested unless the report follows replacements', () => {
    expect(requests([section])[0]?.metrics).toEqual(['profiles.opened', 'profiles.decided']);
  });

  test('is replaced by its successor if the report follows replacements', () => {
    const plan = compile([section], { more: { follow_replacements: true } });
    expect(plan.calls[0]).toMatchObject({
      request: {
        metrics: ['profiles.created', 'profiles.decided'],
        order: [{ by: 'profiles.created', dir: 'desc' }],
      },
    });
    expect(plan.sections[0]?.replaced).toEqual([{ from: 'profiles.opened', to: 'profiles.created' }]);
  });

  test.each([
    ['that the organization lacks is requested itself', { 'profiles.opened': 'profiles.gone' }, 'profiles.opened'],
    ['that is replaced again is followed to the last one', { 'profiles.opened': 'profiles.decided' }, 'alerts.open'],
    [
      'that leads back to itself is requested itself',
      { 'profiles.opened': 'profiles.created', 'profiles.created': 'profiles.opened' },
      'profiles.opened',
    ],
  ])('with a successor %s', (_name, replaced: Record<string, string>, requested) => {
    const chain: Record<string, string> = {
      ...replaced,
      ...(requested === 'alerts.open' ? { 'profiles.decided': 'alerts.open' } : {}),
    };
    const metrics = CATALOG.metrics.map((metric) =>
      metric.id in chain ? { ...metric, deprecated_at: '2026-01-01T00:00:00Z', replaced_by: chain[metric.id] } : metric,
    );
    const input = { catalog: { ...CATALOG, metrics }, more: { follow_replacements: true } };
    expect(requests([{ id: 'a', metrics: ['profiles.opened'] }], input)[0]?.metrics).toEqual([requested]);
  });
});
