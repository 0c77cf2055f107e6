import { describe, expect, test } from 'vitest';
import type { Catalog } from '../../src/contract/catalog.ts';
import { checkPlan } from '../../src/plan/checks/check-plan.ts';
import { compilePlan, type PlanInput } from '../../src/plan/compile.ts';
import { explain, formatExplain } from '../../src/plan/explain.ts';
import type { Plan } from '../../src/plan/plan.ts';
import { trendSpan } from '../../src/plan/trend.ts';
import { CATALOG, type DefinitionInput, definitionOf, type SectionInput, settingsOf } from '../support/reports.ts';

const OCTOBER = { from: '2026-10-01', to: '2026-10-31', timezone: 'Europe/Zurich', label: '2026-10' };
const THIRTEEN = { ...OCTOBER, from: '2025-10-01', label: 'trend' };

const compile = (sections: readonly SectionInput[], more: DefinitionInput = {}, input: Partial<PlanInput> = {}): Plan =>
  compilePlan({
    definition: definitionOf(sections, more),
    settings: settingsOf(),
    period: OCTOBER,
    catalog: CATALOG,
    ...input,
  });
const requests = (plan: Plan) => plan.calls.flatMap((call) => (call.kind === 'report' ? [call.request] : []));
const trendOf = (plan: Plan, id = 'card') =>
  plan.sections.find(({ section }) => section.id === id)?.partners.find(({ kind }) => kind === 'trend');

const METRICS = ['profiles.created', 'profiles.approval_rate'];
const card: SectionInput = { id: 'card', layout: 'scorecard', metrics: METRICS, trend: 13 };
const months: SectionInput = {
  id: 'months',
  layout: 'trend',
  metrics: ['profiles.decided'],
  granularity: 'month',
  period: 'last_13_months',
};
const OWN_PERIOD = { sectionPeriods: { months: THIRTEEN } };

describe('the buckets of a trend', () => {
  test.each([
    ['a month', '2026-10-01', '2026-10-31', 13, 'month', '2025-10-01'],
    ['a quarter', '2026-07-01', '2026-09-30', 13, 'month', '2025-09-01'],
    ['a year', '2025-01-01', '2025-12-31', 24, 'month', '2024-01-01'],
    ['February', '2024-02-01', '2024-02-29', 2, 'month', '2024-01-01'],
    ['a February of four whole weeks', '2027-02-01', '2027-02-28', 3, 'month', '2026-12-01'],
    ['a week', '2026-11-09', '2026-11-15', 13, 'week', '2026-08-17'],
    ['four weeks', '2026-10-19', '2026-11-15', 4, 'week', '2026-10-19'],
    ['a day', '2026-11-15', '2026-11-15', 13, 'day', '2026-11-03'],
    ['a week that starts on Sunday', '2026-11-08', '2026-11-14', 7, 'day', '2026-11-08'],
    ['a month so far', '2026-11-01', '2026-11-19', 13, 'day', '2026-11-07'],
    ['a fiscal month', '2026-04-06', '2026-05-05', 2, 'day', '2026-05-04'],
  ])('follow from a period of %s', (_, from, to, points, granularity, start) => {
    expect(trendSpan({ from, to }, points)).toEqual({ granularity, range: { from: start, to } });
  });
});

describe('the call of a trend', () => {
  test('requests the metrics by bucket with the filters of the section, without comparison and totals', () => {
    const filters = [{ dimension: 'profile.risk', op: 'in' as const, values: ['high'] }];
    const plan = compile([{ ...card, filters, totals: true }], { compare: 'previous_period' });
    expect(trendOf(plan)?.range).toEqual({ from: '2025-10-01', to: '2026-10-31' });
    expect(trendOf(plan)?.request).toEqual({
      metrics: METRICS,
      filters: [{ dimension: 'profile.risk', op: 'eq', values: ['high'] }],
      time: { from: '2025-10-01', to: '2026-10-31', timezone: 'Europe/Zurich', granularity: 'month' },
    });
    // 13 months exceed one call.
    expect(plan.calls).toHaveLength(3);
  });

  test('omits metrics that lack the granularity', () => {
    const period = { ...OCTOBER, from: '2026-10-20', to: '2026-10-20' };
    const mixed = compile([{ ...card, metrics: ['profiles.created', 'cohort.completion_rate'] }], {}, { period });
    expect(trendOf(mixed)?.request.metrics).toEqual(['profiles.created']);
    const none = compile([{ ...card, metrics: ['cohort.completion_rate'] }], {}, { period });
    expect(none.sections[0]?.partners).toEqual([]);
    expect(none.calls).toHaveLength(1);
  });

  test('is separate from the call of the section even if their days are the same', () => {
    const period = { ...OCTOBER, from: '2026-07-01', to: '2026-09-30' };
    const plan = compile([{ ...card, trend: 3 }], {}, { period });
    expect(requests(plan).map(({ time }) => time?.granularity)).toEqual([undefined, 'month']);
  });

  test('does not exist for current counts and for sections without a trend', () => {
    expect(compile([{ ...card, metrics: ['alerts.open'] }]).calls).toHaveLength(1);
    const { trend: _, layout: __, ...plain } = card;
    expect(compile([plain, months], {}, OWN_PERIOD).calls).toHaveLength(3);
  });
});

/** The number of calls if each section is planned alone. */
const alone = (sections: readonly SectionInput[], more: DefinitionInput = {}, input: Partial<PlanInput> = {}) =>
  sections.reduce((sum, section) => sum + compile([section], more, input).calls.length, 0);

describe('a trend shares', () => {
  test.each<[string, SectionInput[], DefinitionInput, number]>([
    ['the calls of a trend section over the same months', [card, months], {}, 3],
    ['these calls whether or not the report has a comparison', [card, months], { compare: 'previous_period' }, 3],
    ['the calls of a table with totals', [card, { ...months, layout: 'table', totals: true }], {}, 3],
    // Two calls for 13 months, and two for the 13 months before.
    ['the calls of a compared table', [card, { ...months, layout: 'table', compare: ['previous_period'] }], {}, 5],
    ['the calls of a longer trend section', [{ ...card, trend: 6 }, months], {}, 3],
    ['the calls of another scorecard', [card, { ...card, id: 'other', metrics: ['profiles.decided'] }], {}, 3],
    ['the calls of a scorecard with a longer trend', [{ ...card, id: 'short', trend: 3 }, card], {}, 3],
  ])('%s', (_, sections, more, calls) => {
    const plan = compile(sections, more, OWN_PERIOD);
    expect(plan.calls).toHaveLength(calls);
    expect(alone(sections, more, OWN_PERIOD)).toBeGreaterThan(calls);
    // The response contains every point.
    for (const { section, partners } of plan.sections) {
      if (section.trend === undefined) continue;
      const trend = partners.find(({ kind }) => kind === 'trend');
      expect(trend?.range).toEqual({ from: trendSpan(OCTOBER, section.trend).range.from, to: OCTOBER.to });
      const { from = '', to = '' } = trend?.request.time ?? {};
      expect(from <= (trend?.range.from ?? '') && to >= OCTOBER.to).toBe(true);
    }
  });

  const TWELVE = { ...OCTOBER, from: '2025-11-01', label: 'a year' };
  test.each<[string, SectionInput, string]>([
    ['other filters', { ...months, filters: [{ dimension: 'profile.risk', values: ['high'] }] }, TWELVE.from],
    ['groups', { ...months, layout: 'table', dimensions: ['profile.risk'] }, TWELVE.from],
    ['other buckets', { ...months, granularity: 'week' }, TWELVE.from],
    ['a limit', { ...months, layout: 'table', limit: 3 }, TWELVE.from],
    ['only a part of the months', months, '2026-01-01'],
    ['a month that is cut', months, '2025-11-02'],
  ])('no call with a section that has %s', (_, other, from) => {
    const input = { sectionPeriods: { months: { ...TWELVE, from } } };
    expect(compile([{ ...card, trend: 12 }, other], {}, input).calls).toHaveLength(3);
    const same = { sectionPeriods: { months: TWELVE } };
    expect(compile([{ ...card, trend: 12 }, months], {}, same).calls).toHaveLength(2);
  });

  test('calls only up to the limit of metrics per call', () => {
    const calls = (max_metrics: number) =>
      compile([card, months], {}, { ...OWN_PERIOD, limits: { max_metrics } }).calls.length;
    expect(calls(3)).toBe(3);
    expect(calls(2)).toBe(5);
  });
});

test('a trend section is compared only by its own `compare`', () => {
  const plan = compile([card, months, { ...months, id: 'own', compare: ['previous_year'] }], {
    compare: 'previous_period',
    to_date: 'year',
  });
  expect(plan.sections.map(({ comparisons, toDate }) => [comparisons, toDate])).toEqual([
    [['previous_period'], 'year'],
    [[], undefined],
    [['previous_year'], undefined],
  ]);
});

describe('docket explain', () => {
  test('counts the calls that only trends need', () => {
    const document = explain(compile([card], { to_date: 'year' }), { catalog: CATALOG });
    expect(document.further_calls).toEqual({ previous_year: 0, to_date: 1, trend: 2 });
    expect(document.calls.at(-1)?.partners).toEqual([{ section: 'card', kind: 'trend', of: 'rows' }]);
    const text = formatExplain(document);
    expect(text).toMatch(/^Further {2}1 for the figures to date, 2 for the trend$/m);
    expect(text).toContain('for the trend of card,');
    const shared = explain(compile([card, months], {}, OWN_PERIOD), { catalog: CATALOG });
    expect(shared.further_calls.trend).toBe(0);
    expect([shared.tokens, shared.section_calls, shared.naive_calls]).toEqual([3, 5, 8]);
  });

  test('omits text sections, which make no calls', () => {
    const plan = compile([{ id: 'words', layout: 'text', description: 'In words.' }, card]);
    expect(plan.sections.map(({ section, call }) => [section.id, call !== undefined])).toEqual([
      ['words', false],
      ['card', true],
    ]);
    const document = explain(plan);
    expect(document.sections.map(({ id }) => id)).toEqual(['card']);
    expect(document.calls.flatMap(({ sections }) => sections)).toEqual(['card']);
  });
});

describe('docket check', () => {
  const check = (section: Partial<SectionInput>, input: Partial<PlanInput> = {}) =>
    checkPlan({
      definition: definitionOf([{ ...card, ...section }]),
      period: OCTOBER,
      catalog: CATALOG,
      ...input,
    });
  const readings = (metrics: string[]) => ({ settings: settingsOf({ readings: { at: '22:30', metrics, by: [] } }) });

  test('reports a trend of current counts without readings, and names the reading to add', () => {
    const found = check({ metrics: ['alerts.open', 'rfis.open'] }, readings(['alerts.open']));
    expect(found).toMatchObject([{ path: ['sections', 0, 'trend'], next: expect.stringContaining('"rfis.open"') }]);
    expect(found[0]?.next).not.toContain('"alerts.open"');
    expect(check({ metrics: ['alerts.open'] })).toHaveLength(1);
    expect(check({ metrics: ['alerts.open'] }, readings(['alerts.open']))).toEqual([]);
  });

  test('reports metrics that lack the granularity of the trend at their place in the file', () => {
    const period = { ...OCTOBER, from: '2026-10-20', to: '2026-10-20' };
    const metrics = ['profiles.created', 'cohort.completion_rate'];
    expect(check({ metrics }, { period })).toMatchObject([{ path: ['sections', 0, 'metrics', 1] }]);
    const groups = [{ title: 'Cohorts', metrics: ['cohort.completion_rate'] }];
    expect(check({ metrics: ['profiles.created'], groups }, { period })).toMatchObject([
      { path: ['sections', 0, 'groups', 0, 'metrics', 0] },
    ]);
    expect(check({ metrics })).toEqual([]);
  });

  test('reports unknown metrics of groups at their place in the file', () => {
    const groups = [
      { title: 'New', metrics: ['profiles.created'] },
      { title: 'Odd', metrics: ['profiles.decided', 'profiles.creatd'] },
    ];
    expect(check({ metrics: undefined, groups } as Partial<SectionInput>)).toMatchObject([
      { path: ['sections', 0, 'groups', 1, 'metrics', 1], next: 'Did you mean "profiles.created"?' },
    ]);
  });

  test('reports a trend that has no data before its period', () => {
    const since = (from: string): Catalog => ({
      ...CATALOG,
      metrics: CATALOG.metrics.map((metric) => ({ ...metric, data_available: { from } })),
    });
    expect(check({}, { catalog: since('2026-09-30') })).toEqual([]);
    expect(check({}, { catalog: since('2026-10-01') })).toMatchObject([
      { path: ['sections', 0, 'trend'], got: expect.stringContaining('2026-10-01') },
    ]);
  });
});

test('a report that follows replacements shows each successor once in its groups', () => {
  const groups = [
    { title: 'New', metrics: ['profiles.opened'] },
    { title: 'Again', metrics: ['profiles.created', 'profiles.decided'] },
  ];
  const plan = compile([{ id: 'card', layout: 'scorecard', groups }], { follow_replacements: true });
  expect(plan.sections[0]?.section.groups).toEqual([
    { title: 'New', metrics: ['profiles.created'] },
    { title: 'Again', metrics: ['profiles.decided'] },
  ]);
});
