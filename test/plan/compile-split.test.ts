import { describe, expect, test } from 'vitest';
import type { Catalog } from '../../src/contract/catalog.ts';
import { LIMITS } from '../../src/contract/limits.ts';
import type { Period } from '../../src/definitions/periods/period.ts';
import { bucketsOf, dayCount, previousPeriod } from '../../src/plan/buckets.ts';
import { checkPlan } from '../../src/plan/checks/check-plan.ts';
import { compilePlan } from '../../src/plan/compile.ts';
import { explain, formatExplain } from '../../src/plan/explain.ts';
import { callsOf } from '../../src/plan/plan.ts';
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

/** The small catalog with a dimension that takes 120 values. */
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
const requests = (...asked: Parameters<typeof compile>) =>
  compile(...asked).calls.flatMap((call) => (call.kind === 'report' ? [call.request] : []));
const ranges = (...asked: Parameters<typeof compile>) =>
  requests(...asked).map(({ time }) => `${time?.from} ${time?.to}`);
const faults = (section: Partial<SectionInput>, { period = WEEK, more = {}, catalog = WIDE }: Input = {}) =>
  checkPlan({ definition: definitionOf([{ id: 'a', ...section }], more), period, catalog });

describe('buckets', () => {
  test('of weeks begin on Monday, and the first and last are cut to the range', () => {
    expect(bucketsOf({ from: '2026-11-12', to: '2026-11-24' }, 'week')).toEqual([
      { label: '2026-11-09', from: '2026-11-12', to: '2026-11-15' },
      { label: '2026-11-16', from: '2026-11-16', to: '2026-11-22' },
      { label: '2026-11-23', from: '2026-11-23', to: '2026-11-24' },
    ]);
  });

  test.each([
    ['one day', '2026-11-19', '2026-11-19', 1],
    ['over the end of summer time', '2026-10-20', '2026-10-30', 11],
    ['a leap year', '2028-01-01', '2028-12-31', 366],
  ])('%s counts both ends', (_name, from, to, days) => {
    expect(dayCount({ from, to })).toBe(days);
    expect(bucketsOf({ from, to }, 'day').length).toBe(days);
  });

  test.each([
    ['whole months go back by as many months', '2026-03-01', '2026-04-30', '2026-01-01', '2026-02-28'],
    ['over a year of them too', '2024-01-01', '2026-06-30', '2021-07-01', '2023-12-31'],
    ['other ranges go back by as many days', '2026-03-02', '2026-03-31', '2026-01-31', '2026-03-01'],
  ])('before: %s', (_name, from, to, first, last) => {
    expect(previousPeriod({ from, to })).toEqual({ from: first, to: last });
  });
});

describe('a range longer than a call', () => {
  test('is cut between months into the fewest calls', () => {
    const section: SectionInput = { id: 'a', metrics: ['profiles.created'], granularity: 'month' };
    expect(ranges([section], { period: YEARS })).toEqual([
      '2024-01-01 2024-12-31',
      '2025-01-01 2025-12-31',
      '2026-01-01 2026-06-30',
    ]);
  });

  test('is cut between weeks: no week is in two calls', () => {
    const cut = requests([{ id: 'a', metrics: ['profiles.created'], granularity: 'week' }], { period: YEARS });
    for (const { time } of cut.slice(1)) expect(new Date(`${time?.from}T00:00:00Z`).getUTCDay()).toBe(1);
    for (const { time } of cut) {
      expect(dayCount({ from: time?.from ?? '', to: time?.to ?? '' })).toBeLessThanOrEqual(LIMITS.max_range_days);
    }
  });

  test('is compared with the period before all of it, asked without a comparison of its own', () => {
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

  test('shares its pieces among the sections that would share a call', () => {
    const plan = compile(
      [
        { id: 'a', metrics: ['profiles.created'], granularity: 'month' },
        { id: 'b', metrics: ['profiles.approval_rate'], granularity: 'month', totals: true },
        { id: 'now', metrics: ['alerts.open'] },
      ],
      { period: YEARS },
    );
    expect(plan.calls.length).toBe(4);
    expect(plan.sections.map(callsOf).map((ids) => ids.length)).toEqual([3, 3, 1]);
    expect(plan.sections[0]?.join?.parts[0]?.metrics).toEqual(['profiles.created']);
    const document = explain(plan, { catalog: WIDE });
    expect(document).toMatchObject({ tokens: 4, section_calls: 7, naive_calls: 7 });
    expect(document.calls.map(({ sections }) => sections)).toEqual([['a', 'b'], ['a', 'b'], ['a', 'b'], ['now']]);
    expect(formatExplain(document)).toContain('each month; 2024-01-01 to 2024-12-31\n     for a, b, at most 12 rows');
  });

  test('folds into one row only for what may be added up', () => {
    expect(faults({ metrics: ['profiles.created'] }, { period: YEARS })).toEqual([]);
    expect(faults({ metrics: ['profiles.created', 'profiles.approval_rate'] }, { period: YEARS })).toMatchObject([
      {
        path: ['sections', 0, 'metrics', 1],
        got: '"profiles.approval_rate" over 2024-01-01 to 2026-06-30, which is 912 days',
        next: expect.stringContaining('Add a granularity'),
      },
    ]);
  });

  test('has buckets that are longer than a call, and is refused', () => {
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
    // The period keeps the limit; a January before it does not.
    const short: Period = { ...YEARS, from: '2026-02-01', to: '2026-03-30' };
    expect(faults(monthly, { period: short, catalog })).toEqual([]);
    expect(faults(monthly, { period: short, catalog, more: { compare: 'previous_period' } })).toEqual([refused]);
  });

  test('is of no interest to a current count', () => {
    expect(compile([{ id: 'a', metrics: ['alerts.open'] }], { period: YEARS }).sections[0]?.join).toBe(undefined);
  });

  test('leaves undefined the totals that no sum of parts gives', () => {
    const [section] = compile(
      [{ id: 'a', metrics: ['profiles.created', 'profiles.approval_rate'], granularity: 'month', totals: true }],
      { period: YEARS },
    ).sections;
    expect(section?.join?.undefinedTotals).toEqual({ metrics: ['profiles.approval_rate'], why: 'range' });
    expect(section?.join?.parts.map(({ totals }) => totals)).toEqual(Array(3).fill(['profiles.created']));
  });

  test('are undefined only for the sections that show them, also where calls are shared', () => {
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

  test('and of every call of more metrics than one takes, each has its own', () => {
    const like = (id: string, names: readonly string[]) =>
      CATALOG.metrics
        .filter((metric) => metric.id === id)
        .flatMap((metric) => names.map((name) => ({ ...metric, id: name })));
    const counts = Array.from({ length: 20 }, (_, index) => `profiles.count_${index}`);
    const rates = ['profiles.first_rate', 'profiles.last_rate'];
    const metrics = [...like('profiles.created', counts), ...like('profiles.approval_rate', rates)];
    const asked = ['profiles.first_rate', ...counts, 'profiles.last_rate'];
    const [section] = compile([{ id: 'a', metrics: asked, granularity: 'month', totals: true }], {
      period: YEARS,
      catalog: { ...CATALOG, metrics },
    }).sections;
    expect(section?.join?.undefinedTotals).toEqual({ metrics: rates, why: 'range' });
  });
});

describe('a filter of more values than a call takes', () => {
  const filtered = (op: 'in' | 'not_in', count: number, more: Partial<SectionInput> = {}): SectionInput => ({
    id: 'a',
    metrics: ['profiles.created', 'profiles.approval_rate'],
    filters: [{ dimension: 'branch', op, values: BRANCHES.slice(0, count) }],
    ...more,
  });

  test('leaves values out by several filters of one call, and never asks for the others instead', () => {
    const leftOut = (values: readonly string[]) => ({ dimension: 'branch', op: 'not_in', values });
    expect(requests([filtered('not_in', 90)]).map(({ filters }) => filters)).toEqual([
      [leftOut(BRANCHES.slice(0, 50)), leftOut(BRANCHES.slice(50, 90))],
    ]);
    // What has no branch, or one that the catalog does not list yet, passes this one.
    expect(requests([filtered('not_in', 120)])[0]?.filters?.map(({ values }) => values.length)).toEqual([50, 50, 20]);
  });

  test('that names every listed value does not let everything through', () => {
    expect(requests([filtered('in', 120, { metrics: ['profiles.created'] })]).map(({ filters }) => filters)).toEqual(
      [BRANCHES.slice(0, 50), BRANCHES.slice(50, 100), BRANCHES.slice(100)].map((values) => [
        { dimension: 'branch', op: 'in', values },
      ]),
    );
  });

  test('is parted where its dimension is grouped by, for then each group is in one call', () => {
    const cut = requests([filtered('in', 60, { dimensions: ['branch'] })]);
    expect(cut.map(({ filters }) => filters?.[0]?.values)).toEqual([BRANCHES.slice(0, 50), BRANCHES.slice(50, 60)]);
  });

  test('leaves undefined the totals that its parts do not give, though each row is in one of them', () => {
    const [section] = compile([filtered('in', 60, { dimensions: ['branch'], totals: true })]).sections;
    expect(section?.join?.undefinedTotals).toEqual({ metrics: ['profiles.approval_rate'], why: 'filter' });
    expect(section?.join?.parts.map(({ totals }) => totals)).toEqual(Array(2).fill(['profiles.created']));
  });

  test('adds nothing up that the catalog calls additive and that is no count', () => {
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

  test('is parted without groups for counts alone', () => {
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

describe('more rows than a call gives', () => {
  const wide: SectionInput = {
    id: 'a',
    metrics: ['profiles.approval_rate'],
    dimensions: ['branch', 'profile.risk'],
    granularity: 'day',
  };
  const month: Period = { ...WEEK, from: '2026-10-01', to: '2026-10-31' };

  test('are asked in calls that cannot exceed them, and the totals in one of their own', () => {
    const plan = compile([{ ...wide, totals: true }], { period: month });
    const { calls } = explain(plan, { catalog: WIDE });
    expect(calls.map(({ rows_at_most }) => rows_at_most ?? 0).every((rows) => rows <= 5000)).toBe(true);
    // 121 branches and 5 risks, "none" being one of either.
    expect(calls.length).toBe(5);
    expect(calls.at(-1)?.request).toEqual({
      metrics: ['profiles.approval_rate'],
      time: { from: '2026-10-01', to: '2026-10-31', timezone: 'Europe/Zurich' },
      include: ['totals'],
    });
  });

  test('are parted by groups where cutting the range would ask for the previous period as well', () => {
    const cut = requests([wide], { period: month, more: { compare: 'previous_period' } });
    expect(cut.length).toBe(4);
    expect(new Set(cut.map(({ time }) => time?.compare))).toEqual(new Set(['previous_period']));
  });

  test('are one call when the report wants only the first of them', () => {
    expect(requests([{ ...wide, limit: 10 }], { period: month }).length).toBe(1);
  });

  test('whose totals one section shows are fetched once, and another that shares the calls reads the rows alone', () => {
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

  test('are refused when one value of the widest dimension has more than a call gives', () => {
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

  test('are refused when the calls would be too many', () => {
    const day = { ...wide, granularity: 'day' as const };
    expect(faults(day, { period: { ...YEARS, from: '2016-07-01' } })).toMatchObject([
      { path: ['sections', 0], expected: 'a table of at most 100 calls' },
    ]);
  });
});

describe('more metrics than a call takes', () => {
  const many = Array.from({ length: 25 }, (_, index) => `m${index}`);
  const catalog = { ...CATALOG, metrics: many.map((id) => ({ ...CATALOG.metrics[0]!, id })) };

  test('are spread over calls that know nothing of the order and the limit of the whole', () => {
    const section: SectionInput = { id: 'a', metrics: many, dimensions: ['profile.risk'], limit: 3 };
    const cut = requests([{ ...section, order: [{ by: 'm24', dir: 'desc' }] }], { catalog });
    expect(cut.map(({ metrics, order, limit }) => [metrics.length, order, limit])).toEqual([
      [20, undefined, undefined],
      [5, undefined, undefined],
    ]);
  });

  test('leave room for other sections in their last call', () => {
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
  ])('is followed in the chart %j as well', (chart, drawn) => {
    const charted: SectionInput = {
      id: 'a',
      metrics: ['profiles.opened', 'profiles.decided'],
      granularity: 'day',
      ...(chart === undefined ? {} : { chart }),
    };
    expect(compile([charted], { more: { follow_replacements: true } }).sections[0]?.section.chart).toEqual(drawn);
  });

  test('is asked as it is', () => {
    expect(requests([section])[0]?.metrics).toEqual(['profiles.opened', 'profiles.decided']);
  });

  test('is asked as its successor when the report follows replacements', () => {
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
    ['which the organization does not have', { 'profiles.opened': 'profiles.gone' }, 'profiles.opened'],
    ['which is replaced as well', { 'profiles.opened': 'profiles.decided' }, 'alerts.open'],
    [
      'in a circle',
      { 'profiles.opened': 'profiles.created', 'profiles.created': 'profiles.opened' },
      'profiles.opened',
    ],
  ])('with a successor %s', (_name, replaced: Record<string, string>, asked) => {
    const chain: Record<string, string> = {
      ...replaced,
      ...(asked === 'alerts.open' ? { 'profiles.decided': 'alerts.open' } : {}),
    };
    const metrics = CATALOG.metrics.map((metric) =>
      metric.id in chain ? { ...metric, deprecated_at: '2026-01-01T00:00:00Z', replaced_by: chain[metric.id] } : metric,
    );
    const input = { catalog: { ...CATALOG, metrics }, more: { follow_replacements: true } };
    expect(requests([{ id: 'a', metrics: ['profiles.opened'] }], input)[0]?.metrics).toEqual([asked]);
  });
});
