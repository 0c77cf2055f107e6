import { describe, expect, test } from 'vitest';
import type { Catalog } from '../../../src/contract/catalog.ts';
import type { ReportRequest } from '../../../src/contract/report.ts';
import { checkPlan } from '../../../src/plan/checks/check-plan.ts';
import { compilePlan, type PlanInput } from '../../../src/plan/compile.ts';
import { explain, formatExplain } from '../../../src/plan/explain.ts';
import { collectAllCalls, type Plan } from '../../../src/plan/plan.ts';
import { type CallLimits, callLimits } from '../../../src/plan/requests/call.ts';
import {
  isAnsweredBySection,
  type PartnerRequest,
  partnerRequests,
  yearBeforeInComparison,
} from '../../../src/plan/requests/partner-requests.ts';
import { CATALOG, type DefinitionInput, definitionOf, type SectionInput, settingsOf } from '../../support/reports.ts';

const OCTOBER = { from: '2026-10-01', to: '2026-10-31', timezone: 'Europe/Zurich', label: '2026-10' };
const TREND = { from: '2025-10-01', to: '2026-10-31', timezone: 'Europe/Zurich', label: 'trend' };

const compile = (sections: readonly SectionInput[], more: DefinitionInput = {}, input: Partial<PlanInput> = {}): Plan =>
  compilePlan({
    definition: definitionOf(sections, more),
    settings: settingsOf(),
    period: OCTOBER,
    catalog: CATALOG,
    ...input,
  });

/** `kind of from..to` of each partner of a section. */
const partnersOf = (plan: Plan, id: string) =>
  plan.sections
    .find(({ section }) => section.id === id)
    ?.partners.map(({ kind, of, range }) => `${kind} ${of} ${range.from}..${range.to}`);
const requests = (plan: Plan) => plan.calls.flatMap((call) => (call.kind === 'report' ? [call.request] : []));

const card: SectionInput = { id: 'card', metrics: ['profiles.created', 'profiles.approval_rate'] };
const days: SectionInput = { id: 'days', metrics: ['profiles.created'], granularity: 'day', totals: true };
const months: SectionInput = { id: 'months', metrics: ['profiles.created'], granularity: 'month', totals: true };
const risk: SectionInput = { id: 'risk', metrics: ['profiles.created'], dimensions: ['profile.risk'] };

describe('a request of a section', () => {
  test('has the service compare with the previous period, if the report does', () => {
    const compares = (compare: DefinitionInput['compare']) =>
      requests(compile([card], compare === undefined ? {} : { compare }))[0]?.time?.compare;
    expect(compares(undefined)).toBeUndefined();
    expect(compares('previous_year')).toBeUndefined();
    expect(compares('previous_period')).toBe('previous_period');
    expect(compares(['previous_year', 'previous_period'])).toBe('previous_period');
  });

  test('has the comparisons of its section instead of those of the report', () => {
    const plan = compile([card, { ...days, compare: ['previous_year'] }], { compare: 'previous_period' });
    expect(plan.sections.map(({ comparisons }) => comparisons)).toEqual([['previous_period'], ['previous_year']]);
    expect(requests(plan).map(({ time }) => time?.compare)).toEqual([
      'previous_period',
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe('the year before', () => {
  test('needs one further call for rows and totals if their days are the same, otherwise two', () => {
    const plan = compile([card, days, months, risk], { compare: 'previous_year' });
    expect(partnersOf(plan, 'card')).toEqual(['previous_year totals 2025-10-01..2025-10-31']);
    expect(partnersOf(plan, 'days')).toEqual([
      'previous_year rows 2025-10-02..2025-11-01',
      'previous_year totals 2025-10-01..2025-10-31',
    ]);
    expect(partnersOf(plan, 'months')).toEqual([
      'previous_year rows 2025-10-01..2025-10-31',
      'previous_year totals 2025-10-01..2025-10-31',
    ]);
    expect(partnersOf(plan, 'risk')).toEqual(['previous_year rows 2025-10-01..2025-10-31']);
    const [rows, totals] = plan.sections[2]?.partners ?? [];
    expect(rows?.call).toBe(totals?.call);
    expect(totals?.request.include).toEqual(['totals']);
    // Four tables, the days a year before, and October a year before by month and by risk.
    expect(plan.calls).toHaveLength(7);
  });

  test('is requested without order and limit, which would drop groups', () => {
    const top: SectionInput = { ...risk, id: 'top', order: [{ by: 'profiles.created', dir: 'desc' }], limit: 2 };
    const [own, before] = requests(compile([top], { compare: 'previous_year' }));
    expect(own).toMatchObject({ limit: 2, order: [{ by: 'profiles.created' }] });
    expect(before).toEqual({
      metrics: ['profiles.created'],
      dimensions: ['profile.risk'],
      time: { from: '2025-10-01', to: '2025-10-31', timezone: 'Europe/Zurich' },
    });
  });

  test('is a fiscal year before for whole fiscal months', () => {
    const period = { ...OCTOBER, from: '2027-04-06', to: '2028-04-05' };
    const settings = settingsOf({ fiscal_year_start: { month: 4, day: 6, named_by: 'end' } });
    const plan = compile([card], { compare: 'previous_year' }, { period, settings });
    expect(partnersOf(plan, 'card')).toEqual(['previous_year totals 2026-04-06..2027-04-05']);
  });

  test('of a whole year is the previous period and needs no further call', () => {
    const year = { ...OCTOBER, from: '2025-01-01', to: '2025-12-31' };
    const counts = (period: typeof year, more: Partial<PlanInput> = {}) =>
      [card, days, months, risk].map(
        (section) =>
          compile([section], { compare: ['previous_period', 'previous_year'] }, { period, ...more }).calls.length,
      );
    // A section by day needs further calls, because a day is compared with the day 364 days before, which is at
    // another position.
    expect(counts(year)).toEqual([1, 3, 1, 1]);
    expect(counts(OCTOBER)).toEqual([2, 3, 2, 2]);
    const settings = settingsOf({ fiscal_year_start: { month: 4, day: 6, named_by: 'end' } });
    expect(counts({ ...year, from: '2026-04-06', to: '2027-04-05' }, { settings })).toEqual([1, 3, 1, 1]);
    // 52 ISO weeks: the same number of days before has the same weeks, but not the same parts of months.
    expect(counts({ ...year, from: '2025-12-29', to: '2026-12-27' })[2]).toBe(3);
    const alone = compile([card], { compare: 'previous_year' }, { period: year });
    expect(requests(alone).map(({ time }) => time?.compare)).toEqual([undefined, undefined]);
  });

  test('does not exist for week 53', () => {
    const period = { ...OCTOBER, from: '2026-12-28', to: '2027-01-03' };
    const plan = compile([card, { ...days, granularity: 'week' }], { compare: 'previous_year' }, { period });
    expect(plan.sections.map(({ partners }) => partners)).toEqual([[], []]);
    expect(plan.sections[0]?.comparisons).toEqual(['previous_year']);
    const both = compile([card], { compare: ['previous_period', 'previous_year'] }, { period });
    expect(both.sections[0]?.partners).toEqual([]);
    expect(requests(both).map(({ time }) => time?.compare)).toEqual(['previous_period']);
  });

  test('of a long trend is joined from several calls; totals that cannot be added up are undefined', () => {
    const trend: SectionInput = { ...months, id: 'trend', metrics: card.metrics!, period: 'last_13_months' };
    const plan = compile([trend], { compare: 'previous_year' }, { sectionPeriods: { trend: TREND } });
    expect(plan.sections[0]?.period).toEqual(TREND);
    const [rows, totals] = plan.sections[0]?.partners ?? [];
    expect(rows?.join?.parts.map(({ call }) => call)).toHaveLength(2);
    expect(totals?.join?.undefinedTotals).toEqual({ metrics: ['profiles.approval_rate'], why: 'range' });
    const weeks = compile(
      [{ ...trend, granularity: 'week' }],
      { compare: 'previous_year' },
      {
        sectionPeriods: { trend: TREND },
      },
    );
    expect(weeks.sections[0]?.partners.map(({ of, request }) => [of, request.metrics])).toEqual([
      ['rows', ['profiles.created', 'profiles.approval_rate']],
      ['totals', ['profiles.created']],
    ]);
  });

  test('does not apply to current counts and lists', () => {
    const plan = compile(
      [
        { id: 'now', metrics: ['alerts.open'] },
        { id: 'roster', list: 'profiles' },
      ],
      {
        compare: ['previous_period', 'previous_year'],
        to_date: 'year',
      },
    );
    expect(plan.sections.map(({ comparisons, partners, toDate }) => [comparisons, partners, toDate])).toEqual([
      [[], [], undefined],
      [[], [], undefined],
    ]);
    expect(plan.calls).toHaveLength(2);
  });
});

describe('a report with figures to date', () => {
  test('requests them for totals, and for rows without buckets', () => {
    const plan = compile([card, days, { ...risk, totals: true }, { ...days, id: 'bare', totals: false }], {
      to_date: 'year',
    });
    expect(partnersOf(plan, 'card')).toEqual(['to_date totals 2026-01-01..2026-10-31']);
    expect(partnersOf(plan, 'days')).toEqual(['to_date totals 2026-01-01..2026-10-31']);
    expect(partnersOf(plan, 'risk')).toEqual([
      'to_date rows 2026-01-01..2026-10-31',
      'to_date totals 2026-01-01..2026-10-31',
    ]);
    expect(partnersOf(plan, 'bare')).toEqual([]);
    expect(plan.sections[0]?.toDate).toBe('year');
  });

  test('reads them from the call of the section if the days are the same', () => {
    const period = { ...OCTOBER, from: '2026-01-01', to: '2026-01-31' };
    const plan = compile([card, { ...risk, limit: 2, totals: true }], { to_date: 'year' }, { period });
    expect(plan.calls).toHaveLength(2);
    for (const { call, partners } of plan.sections) {
      expect(partners.length).toBeGreaterThan(0);
      expect(new Set(partners.map((partner) => partner.call))).toEqual(new Set([call]));
    }
  });
});

describe('further calls are shared', () => {
  test('by totals of sections with the same filters, whatever their rows', () => {
    const decided: SectionInput = { ...days, id: 'decided', metrics: ['profiles.decided'], granularity: 'week' };
    const plan = compile([card, days, decided], { to_date: 'year' });
    expect(plan.calls).toHaveLength(4);
    expect(requests(plan).at(1)).toEqual({
      metrics: ['profiles.created', 'profiles.approval_rate', 'profiles.decided'],
      time: { from: '2026-01-01', to: '2026-10-31', timezone: 'Europe/Zurich' },
    });
    const filtered: SectionInput = { ...card, id: 'high', filters: [{ dimension: 'profile.risk', values: ['high'] }] };
    expect(compile([card, filtered], { to_date: 'year' }).calls).toHaveLength(4);
  });

  test('by rows that are only looked up, whatever their metrics', () => {
    const other: SectionInput = { ...risk, id: 'other', metrics: ['profiles.decided'] };
    const plan = compile([risk, other], { compare: 'previous_year' });
    expect(requests(plan).map(({ metrics, time }) => [time?.from, metrics])).toEqual([
      ['2026-10-01', ['profiles.created']],
      ['2025-10-01', ['profiles.created', 'profiles.decided']],
      ['2026-10-01', ['profiles.decided']],
    ]);
  });

  test('by totals and rows of the same days, if every metric accepts the dimensions', () => {
    const plan = compile([card, risk], { compare: 'previous_year' });
    expect(plan.calls).toHaveLength(3);
    expect(plan.sections[0]?.partners[0]?.request).toMatchObject({ dimensions: ['profile.risk'], include: ['totals'] });
    const hits: SectionInput = { id: 'hits', metrics: ['screening.hits'] };
    expect(compile([hits, risk], { compare: 'previous_year' }).calls).toHaveLength(4);
  });

  test('by totals and rows only if that needs fewer calls', () => {
    const hits: SectionInput = { id: 'hits', metrics: ['screening.hits'] };
    const decided: SectionInput = { id: 'decided', metrics: ['profiles.decided'] };
    const plan = compile([decided, hits, risk], { compare: 'previous_year' });
    // Both totals need one call together, but two if one of them were requested with the rows.
    expect(plan.calls).toHaveLength(4);
    expect(plan.sections[0]?.partners[0]?.request).not.toHaveProperty('dimensions');
    expect(plan.sections[0]?.partners[0]?.call).toBe(plan.sections[1]?.partners[0]?.call);
  });

  test('up to the limit of metrics per call', () => {
    const more: SectionInput = { id: 'more', metrics: ['profiles.decided'] };
    const calls = (max_metrics: number) =>
      compile([card, more], { to_date: 'year' }, { limits: { max_metrics } }).calls.length;
    expect(calls(3)).toBe(2);
    expect(calls(2)).toBe(4);
  });
});

describe('docket explain', () => {
  test('shows each further call with its purpose, the costs, and the periods of sections', () => {
    const trend: SectionInput = { ...months, id: 'trend', totals: false, period: 'last_13_months' };
    const plan = compile(
      [{ ...card, compare: ['previous_period', 'previous_year'], to_date: 'year' }, days, trend],
      { compare: 'previous_year' },
      { sectionPeriods: { trend: TREND } },
    );
    const document = explain(plan, { catalog: CATALOG });
    expect(document.further_calls).toEqual({ previous_year: 3, to_date: 1, trend: 0 });
    expect(document.tokens).toBe(plan.calls.length);
    expect(document.sections.map(({ id, period, to_date }) => [id, period.label, to_date])).toEqual([
      ['card', '2026-10', 'year'],
      ['days', '2026-10', null],
      ['trend', 'trend', null],
    ]);
    const named = document.sections.map((section) => {
      const { from, to } = section.period;
      return { ...section, period: { ...section.period, label: `${from} to ${to}` } };
    });
    // A label that is the range itself is shown once.
    expect(formatExplain({ ...document, sections: named }).split('\n')[2]).toBe(
      '         trend: 2025-10-01 to 2026-10-31',
    );
    expect(formatExplain(document)).toMatchInlineSnapshot(`
      "acme/weekly: Weekly
      Period   2026-10 (2026-10-01 to 2026-10-31, Europe/Zurich)
               trend: trend (2025-10-01 to 2026-10-31)
      Calls    8 metrics calls (section by section 10, metric by metric 13), registry version 7
        1. profiles.created, profiles.approval_rate; with the previous period
           for card, at most 1 row
        2. profiles.created, profiles.approval_rate; each month; 2025-10-01 to 2025-10-31
           for the year before of card (totals), days (totals), trend (rows), at most 1 row
        3. profiles.created, profiles.approval_rate; 2026-01-01 to 2026-10-31
           for the figures to date of card (totals), at most 1 row
        4. profiles.created; each day
           for days, at most 31 rows
        5. profiles.created; each day; 2025-10-02 to 2025-11-01
           for the year before of days (rows), at most 31 rows
        6. profiles.created; each month; 2025-10-01 to 2026-09-30
           for trend, at most 12 rows
        7. profiles.created; each month
           for trend, at most 1 row
        8. profiles.created; each month; 2024-10-01 to 2025-09-30
           for the year before of trend (rows), at most 12 rows
      Further  3 for the year before, 1 for the figures to date
      Tokens   8 of the key's budget
      Outputs  csv
      To       (no deliveries)"
    `);
  });

  test('shows a purpose for every call', () => {
    const plan = compile([card, days, risk], { compare: ['previous_year', 'previous_period'], to_date: 'quarter' });
    for (const { sections, partners } of explain(plan).calls)
      expect(sections.length + partners.length).toBeGreaterThan(0);
    expect(new Set(plan.sections.flatMap(collectAllCalls))).toEqual(new Set(plan.calls.map(({ id }) => id)));
  });
});

describe('docket check', () => {
  const found = (sections: readonly SectionInput[], more: DefinitionInput = {}, catalog: Catalog = CATALOG) =>
    checkPlan({ definition: definitionOf(sections, more), period: OCTOBER, catalog }).map(({ path, got }) => [
      path,
      got,
    ]);
  const since = (from: string): Catalog => ({
    ...CATALOG,
    metrics: CATALOG.metrics.map((metric) => ({ ...metric, data_available: { from } })),
  });

  test('reports a year before without data for any metric', () => {
    const late = since('2025-11-02');
    expect(found([card, risk], { compare: ['previous_period', 'previous_year'] }, late)).toEqual([
      [['compare', 1], '"previous_year" up to 2025-10-31 of "card", "risk", whose data begins on 2025-11-02'],
    ]);
    expect(found([risk, { ...card, compare: 'previous_year' }], {}, late).map(([path]) => path)).toEqual([
      ['sections', 1, 'compare', 0],
    ]);
    expect(found([card], { compare: 'previous_year' }, since('2025-10-31'))).toEqual([]);
    const year = { ...OCTOBER, from: '2025-01-01', to: '2025-12-31' };
    const definition = definitionOf([card], { compare: ['previous_period', 'previous_year'] });
    const ofYear = (from: string) =>
      checkPlan({ definition, period: year, catalog: since(from) }).map(({ path }) => path);
    expect(ofYear('2025-01-01')).toEqual([['compare', 1]]);
    expect(ofYear('2024-12-31')).toEqual([]);
    // It does not stop a run: the figures are undefined.
    expect(compile([card], { compare: 'previous_year' }, { catalog: late }).calls).toHaveLength(2);
  });

  test('reports comparisons and periods of current counts without readings', () => {
    const now: SectionInput = {
      id: 'now',
      metrics: ['alerts.open'],
      compare: 'previous_period',
      to_date: 'year',
      period: 'previous_month',
    };
    expect(found([risk, now]).map(([path]) => path)).toEqual([
      ['sections', 1, 'period'],
      ['sections', 1, 'compare'],
      ['sections', 1, 'to_date'],
    ]);
    const definition = definitionOf([risk, now]);
    const readings = { at: '22:30', metrics: ['alerts.open'], by: [] };
    expect(checkPlan({ definition, period: OCTOBER, catalog: CATALOG, settings: { readings } })).toMatchObject([
      { path: ['sections', 1, 'to_date'] },
    ]);
    expect(found([{ id: 'now', metrics: ['alerts.open'] }], { compare: 'previous_year', to_date: 'year' })).toEqual([]);
  });

  test('reports a year before that needs too many calls, even if a limit keeps the section in one', () => {
    const wide: Catalog = {
      ...CATALOG,
      limits: { ...CATALOG.limits, max_rows: 2 },
    };
    const top: SectionInput = { ...days, totals: false, dimensions: ['profile.risk', 'profile.type'], limit: 2 };
    expect(found([top], {}, wide)).toEqual([]);
    expect(found([top], { compare: 'previous_year' }, wide)).toEqual([
      [['sections', 0], expect.stringMatching(/calls for the year before$/)],
    ]);
  });
});

test('a section with the ID "constructor" has the period of the report', () => {
  const trend: SectionInput = { ...months, id: 'trend', period: 'last_13_months' };
  const plan = compile([{ ...card, id: 'constructor' }, trend], {}, { sectionPeriods: { trend: TREND } });
  expect(plan.sections.map(({ period }) => period)).toEqual([OCTOBER, TREND]);
});

describe('a further request needs no call of its own', () => {
  const JANUARY = { from: '2026-01-01', to: '2026-01-31' };
  const own = { metrics: ['profiles.created'], time: JANUARY };
  const rows: PartnerRequest = { kind: 'to_date', of: 'rows', range: JANUARY, request: own };
  const totals: PartnerRequest = { ...rows, of: 'totals' };

  test('if its days are those of the section', () => {
    expect(isAnsweredBySection(rows, own)).toBe(true);
    expect(isAnsweredBySection({ ...rows, range: { ...JANUARY, from: '2025-12-31' } }, own)).toBe(false);
    expect(isAnsweredBySection({ ...rows, range: { ...JANUARY, to: '2026-01-30' } }, own)).toBe(false);
    expect(isAnsweredBySection(rows, { metrics: own.metrics })).toBe(false);
  });

  test('for totals if the section has totals or a single row', () => {
    expect(isAnsweredBySection(totals, own)).toBe(true);
    const grouped = { ...own, dimensions: ['profile.risk'] };
    const byDay = { ...own, time: { ...JANUARY, granularity: 'day' as const } };
    for (const table of [grouped, byDay]) {
      expect(isAnsweredBySection(rows, table)).toBe(true);
      expect(isAnsweredBySection(totals, table)).toBe(false);
      expect(isAnsweredBySection(totals, { ...table, include: ['totals'] })).toBe(true);
    }
  });

  test('if it needs all metrics of the section', () => {
    const both = { ...own, metrics: ['profiles.created', 'profiles.approval_rate'] };
    expect(isAnsweredBySection(totals, both)).toBe(false);
  });
});

test('a comparison with the previous period contains the year before only if the buckets are the same', () => {
  const year = { from: '2025-01-01', to: '2025-12-31', compare: 'previous_period' as const };
  const before = (time: NonNullable<ReportRequest['time']>) => yearBeforeInComparison({ metrics: [], time }, {});
  expect(before(year)).toEqual({ from: '2024-01-01', to: '2024-12-31' });
  expect(before({ ...year, granularity: 'month' })).toEqual({ from: '2024-01-01', to: '2024-12-31' });
  expect(before({ from: year.from, to: year.to })).toBeUndefined();
  expect(before({ compare: 'previous_period' })).toBeUndefined();
  // 52 whole weeks: the same number of days before has the weeks of the same numbers.
  expect(before({ ...year, from: '2025-12-29', to: '2026-12-27' })).toEqual({ from: '2024-12-30', to: '2025-12-28' });
  const weeks = { ...year, from: '2025-12-29', to: '2026-12-27' };
  expect(before({ ...weeks, granularity: 'week' })).toBeUndefined();
  expect(before({ ...weeks, granularity: 'day' })).toBeUndefined();
  expect(before({ ...weeks, granularity: 'month' })).toBeUndefined();
});

test('further requests have no fields without a value, and do not exist without metrics', () => {
  const further = (request: ReportRequest, limits: Partial<CallLimits> = {}) =>
    partnerRequests(
      { request, comparisons: ['previous_year'], toDate: undefined },
      { catalog: CATALOG, calendar: {}, limits: callLimits(CATALOG, limits) },
    );
  const time = { from: '2026-10-01', to: '2026-10-31', timezone: 'Europe/Zurich' };
  const before = { ...time, from: '2025-10-01', to: '2025-10-31' };
  const request: ReportRequest = { metrics: ['profiles.created'], dimensions: ['profile.risk'], time };
  const range = { from: before.from, to: before.to };
  expect(further({ ...request, include: ['totals'] })).toStrictEqual([
    { kind: 'previous_year', of: 'rows', range, request: { ...request, time: before, include: ['totals'] } },
    { kind: 'previous_year', of: 'totals', range, request: { ...request, time: before, include: ['totals'] } },
  ]);
  expect(further({ metrics: ['profiles.created'], time: { ...time, granularity: 'month' } })).toStrictEqual([
    {
      kind: 'previous_year',
      of: 'rows',
      range,
      request: { metrics: ['profiles.created'], time: { ...before, granularity: 'month' } },
    },
  ]);
  const rate: ReportRequest = {
    metrics: ['profiles.approval_rate'],
    time: { ...time, granularity: 'day' },
    include: ['totals'],
  };
  expect(further(rate).map(({ of }) => of)).toEqual(['rows', 'totals']);
  expect(further(rate, { max_range_days: 7 }).map(({ of }) => of)).toEqual(['rows']);
  expect(further({ metrics: ['alerts.open'] })).toEqual([]);
});
