import { describe, expect, test } from 'vitest';
import type { Catalog } from '../../../src/contract/catalog.ts';
import type { ReportRequest } from '../../../src/contract/report.ts';
import { compilePlan } from '../../../src/plan/compile.ts';
import { collectCalls } from '../../../src/plan/plan.ts';
import { splitMetrics } from '../../../src/plan/requests/build-calls.ts';
import { type CallLimits, callLimits } from '../../../src/plan/requests/call.ts';
import { countMaxRows, MAX_CALLS_PER_TABLE } from '../../../src/plan/requests/partition.ts';
import { type RequestSplit, splitRequest } from '../../../src/plan/requests/split-request.ts';
import { CATALOG, definitionOf, settingsOf, WEEK } from '../../support/reports.ts';

const SPACE = { timezone: 'Europe/Zurich' };
const time = (from: string, to: string, more: Partial<NonNullable<ReportRequest['time']>> = {}) => ({
  from,
  to,
  ...SPACE,
  ...more,
});
const NOVEMBER = time('2026-11-01', '2026-11-10');
const cut = (request: ReportRequest, stricter: Partial<CallLimits> = {}, catalog: Catalog = CATALOG) =>
  splitRequest(request, catalog, callLimits(catalog, stricter));
const requireSplit = (...requested: Parameters<typeof cut>): RequestSplit => {
  const found = cut(...requested);
  if ('refused' in found) throw new Error(`refused: ${found.refused.kind}`);
  return found;
};

describe('a request within the limits', () => {
  test('is made unchanged', () => {
    const request: ReportRequest = {
      metrics: ['profiles.created', 'profiles.approval_rate'],
      filters: [{ dimension: 'profile.risk', op: 'eq', values: ['high'] }],
      time: { ...NOVEMBER, granularity: 'week', compare: 'previous_period' },
      order: [{ by: 'bucket', dir: 'desc' }],
      limit: 2,
      include: ['totals'],
    };
    expect(cut(request)).toEqual({
      requests: [{ request, period: 'this', first: 0, buckets: 3, rows: true, totals: request.metrics }],
      sums: false,
    });
  });

  test('for current counts has one bucket, and totals only if they are requested', () => {
    const request: ReportRequest = { metrics: ['alerts.open'], time: SPACE };
    expect(cut(request)).toEqual({
      requests: [{ request, period: 'this', first: 0, buckets: 1, rows: true, totals: [] }],
      sums: false,
    });
  });

  test('may have as many rows as the limit, and any number if only the first ones are requested', () => {
    const request: ReportRequest = {
      metrics: ['profiles.created'],
      dimensions: ['profile.type'],
      time: { ...NOVEMBER, granularity: 'day' },
    };
    expect(countMaxRows(request, CATALOG)).toBe(20);
    expect(requireSplit(request, { max_rows: 20 }).requests.length).toBe(1);
    expect(requireSplit(request, { max_rows: 19 }).requests.length).toBe(2);
    expect(requireSplit({ ...request, limit: 10 }, { max_rows: 10 }).requests.length).toBe(1);
  });
});

describe('a request over too long a range', () => {
  const folded: ReportRequest = {
    metrics: ['profiles.created', 'profiles.decided'],
    dimensions: ['profile.type'],
    time: NOVEMBER,
    order: [{ by: 'profiles.created', dir: 'desc' }],
    limit: 1,
    include: ['totals'],
  };

  test('without buckets is split into ranges whose figures add up, each with totals, without order and limit', () => {
    const part = (from: string, to: string) => ({
      request: {
        metrics: folded.metrics,
        dimensions: folded.dimensions,
        time: time(from, to),
        include: ['totals'],
      },
      period: 'this',
      first: 0,
      buckets: 1,
      rows: true,
      totals: folded.metrics,
    });
    expect(cut(folded, { max_range_days: 6 })).toEqual({
      requests: [part('2026-11-01', '2026-11-06'), part('2026-11-07', '2026-11-10')],
      sums: true,
    });
  });

  test('has parts of its own for the compared period', () => {
    const compared: ReportRequest = {
      ...folded,
      time: time('2026-11-02', '2026-11-09', { granularity: 'day', compare: 'previous_period' }),
    };
    const found = requireSplit(compared, { max_range_days: 5 });
    expect(found.sums).toBe(false);
    expect(found.requests.map(({ period, first, buckets, request }) => [period, first, buckets, request.time])).toEqual(
      [
        ['this', 0, 5, time('2026-11-02', '2026-11-06', { granularity: 'day' })],
        ['this', 5, 3, time('2026-11-07', '2026-11-09', { granularity: 'day' })],
        ['previous', 0, 5, time('2026-10-25', '2026-10-29', { granularity: 'day' })],
        ['previous', 5, 3, time('2026-10-30', '2026-11-01', { granularity: 'day' })],
      ],
    );
  });

  test('has no totals for figures that do not add up, with the range as the reason', () => {
    const request: ReportRequest = {
      metrics: ['profiles.created', 'profiles.approval_rate'],
      time: { ...NOVEMBER, granularity: 'day' },
      include: ['totals'],
    };
    const found = requireSplit(request, { max_range_days: 5 });
    expect(found.undefinedTotals).toEqual({ metrics: ['profiles.approval_rate'], why: 'range' });
    expect(found.requests.map(({ totals, request: { include } }) => [totals, include])).toEqual([
      [['profiles.created'], ['totals']],
      [['profiles.created'], ['totals']],
    ]);
    const rigid = requireSplit({ ...request, metrics: ['profiles.approval_rate'] }, { max_range_days: 5 });
    expect(rigid.requests.map(({ totals, request: { include } }) => [totals, include])).toEqual([
      [[], undefined],
      [[], undefined],
    ]);
    const { include: _include, ...plain } = request;
    expect(requireSplit(plain, { max_range_days: 5 })).not.toHaveProperty('undefinedTotals');
  });
});

describe('a request with too long a filter', () => {
  const filtered: ReportRequest = {
    metrics: ['profiles.created'],
    filters: [{ dimension: 'profile.risk', op: 'in', values: ['high', 'low'] }],
    time: NOVEMBER,
    include: ['totals'],
  };
  const risk = (value: string) => [{ dimension: 'profile.risk', op: 'eq', values: [value] }];

  test('adds up only if its dimension is not a column', () => {
    const found = requireSplit(filtered, { max_filter_values: 1 });
    expect(found.sums).toBe(true);
    expect(found.requests.map(({ request }) => request.filters)).toEqual([risk('high'), risk('low')]);
    expect(requireSplit({ ...filtered, dimensions: ['profile.risk'] }, { max_filter_values: 1 }).sums).toBe(false);
  });

  test('has no totals for figures that do not add up, with the filter as the reason', () => {
    const grouped: ReportRequest = {
      ...filtered,
      metrics: ['profiles.created', 'profiles.approval_rate'],
      dimensions: ['profile.risk'],
    };
    expect(requireSplit(grouped, { max_filter_values: 1 }).undefinedTotals).toEqual({
      metrics: ['profiles.approval_rate'],
      why: 'filter',
    });
  });

  test('is refused for figures that do not add up, before the range is checked', () => {
    const rigid: ReportRequest = { ...filtered, metrics: ['profiles.created', 'profiles.approval_rate'] };
    expect(cut(rigid, { max_filter_values: 1, max_range_days: 2 })).toEqual({
      refused: { kind: 'filter', dimension: 'profile.risk', metrics: ['profiles.approval_rate'] },
    });
    expect(cut(rigid, { max_range_days: 2 })).toEqual({
      refused: { kind: 'fold', metrics: ['profiles.approval_rate'] },
    });
  });

  test('that excludes every listed value requests the rows without a value and with new values', () => {
    const values = ['high', 'low', 'medium', 'severe'];
    const others: ReportRequest = { ...filtered, filters: [{ dimension: 'profile.risk', op: 'not_in', values }] };
    expect(requireSplit(others, { max_filter_values: 3 }).requests.map(({ request }) => request.filters)).toEqual([
      [
        { dimension: 'profile.risk', op: 'not_in', values: ['high', 'low', 'medium'] },
        { dimension: 'profile.risk', op: 'not_in', values: ['severe'] },
      ],
    ]);
  });
});

describe('a request for too many rows', () => {
  const grouped: ReportRequest = {
    metrics: ['profiles.created', 'profiles.approval_rate'],
    dimensions: ['profile.type', 'profile.risk'],
    filters: [{ dimension: 'profile.type', op: 'eq', values: ['entity'] }],
    time: { ...NOVEMBER, granularity: 'day', compare: 'previous_period' },
    include: ['totals'],
  };

  test('is split by groups, compared in the same call, and has one more call for the totals of the service', () => {
    const found = requireSplit(grouped, { max_rows: 30 });
    expect(found.sums).toBe(false);
    expect(found).not.toHaveProperty('undefinedTotals');
    expect(found.requests.slice(0, 2).map(({ request, totals }) => [request, totals])).toEqual(
      (['in', 'not_in'] as const).map((op) => [
        {
          ...grouped,
          filters: [...grouped.filters!, { dimension: 'profile.risk', op, values: ['high', 'low', 'medium'] }],
        },
        // Requested to check the rows, but not added up: the sum would also agree if rows were lost.
        [],
      ]),
    );
    expect(found.requests.slice(2)).toEqual([
      {
        request: {
          metrics: grouped.metrics,
          time: { ...NOVEMBER, compare: 'previous_period' },
          filters: grouped.filters,
          include: ['totals'],
        },
        period: 'this',
        first: 0,
        buckets: 1,
        rows: false,
        totals: grouped.metrics,
      },
    ]);
    const counts = requireSplit({ ...grouped, metrics: ['profiles.created'] }, { max_rows: 30 });
    expect(counts.requests.map(({ totals }) => totals)).toEqual([[], [], ['profiles.created']]);
  });

  test('has no such call if totals are not requested', () => {
    const { include: _include, ...plain } = grouped;
    const found = requireSplit(plain, { max_rows: 30 });
    expect(found.requests.map(({ totals, request: { include } }) => [totals, include])).toEqual([
      [[], undefined],
      [[], undefined],
    ]);
  });

  test('is split by range instead if that takes no more calls, and its totals are added up', () => {
    const { compare: _compare, ...uncompared } = grouped.time!;
    const requested: ReportRequest = {
      ...grouped,
      time: uncompared,
      metrics: ['profiles.created'],
      dimensions: ['profile.risk'],
    };
    const found = requireSplit(requested, { max_rows: 24 });
    expect(found.requests.map(({ request, first, buckets }) => [request.filters, first, buckets])).toEqual([
      [grouped.filters, 0, 4],
      [grouped.filters, 4, 4],
      [grouped.filters, 8, 2],
    ]);
  });

  test('is split by groups for current counts', () => {
    const current: ReportRequest = { metrics: ['alerts.open'], dimensions: ['profile.type'], time: SPACE };
    expect(requireSplit(current, { max_rows: 1 }).requests.map(({ request }) => request)).toEqual(
      (['eq', 'not_in'] as const).map((op) => ({
        ...current,
        filters: [{ dimension: 'profile.type', op, values: ['individual'] }],
      })),
    );
  });

  test('is refused if a single group has too many', () => {
    expect(cut({ ...grouped, time: NOVEMBER }, { max_rows: 0 })).toEqual({ refused: { kind: 'groups', rows: 5 } });
    expect(cut(grouped, { max_rows: 1, max_range_days: 1 })).toMatchObject({ requests: expect.any(Array) });
  });
});

test('a request that needs more calls than the limit is refused with their number; exactly the limit is allowed', () => {
  const days = (from: string): ReportRequest => ({
    metrics: ['profiles.created'],
    time: time(from, '2026-11-30', { granularity: 'day' }),
  });
  expect(requireSplit(days('2026-08-23'), { max_range_days: 1 }).requests.length).toBe(MAX_CALLS_PER_TABLE);
  expect(cut(days('2026-08-22'), { max_range_days: 1 })).toEqual({ refused: { kind: 'calls', calls: 101 } });
  expect(
    cut(
      { ...days('2026-11-01'), time: time('2026-11-01', '2026-11-30', { granularity: 'week' }) },
      { max_range_days: 6 },
    ),
  ).toEqual({
    refused: { kind: 'bucket' },
  });
});

test('metrics are spread over as few requests as possible, and only a single request keeps order and limit', () => {
  const request: ReportRequest = {
    metrics: ['a', 'b', 'c', 'd', 'e'],
    time: SPACE,
    order: [{ by: 'a', dir: 'desc' }],
    limit: 3,
  };
  expect(splitMetrics(request, 5)).toEqual([request]);
  expect(splitMetrics(request, 2)).toEqual([
    { metrics: ['a', 'b'], time: SPACE },
    { metrics: ['c', 'd'], time: SPACE },
    { metrics: ['e'], time: SPACE },
  ]);
});

describe('the join of a table', () => {
  const compile = (
    sections: Parameters<typeof definitionOf>[0],
    limits: Partial<CallLimits>,
    more: Parameters<typeof definitionOf>[1] = {},
  ) => {
    const period = { ...WEEK, from: '2026-11-09', to: '2026-11-12' };
    return compilePlan({
      definition: definitionOf(sections, more),
      settings: settingsOf(),
      period,
      catalog: CATALOG,
      limits,
    });
  };

  test('has its buckets, those of the previous period, and what each part provides', () => {
    const plan = compile(
      [
        { id: 'a', metrics: ['profiles.created', 'profiles.approval_rate'], granularity: 'day', totals: true },
        { id: 'b', metrics: ['profiles.decided'], granularity: 'day' },
      ],
      { max_range_days: 3 },
      { compare: 'previous_period' },
    );
    const ids = plan.calls.map(({ id }) => id);
    expect(ids.length).toBe(4);
    const [a, b] = plan.sections;
    const bucket = (label: string) => ({ label, from: label, to: label });
    const buckets = ['2026-11-09', '2026-11-10', '2026-11-11', '2026-11-12'].map(bucket);
    const previous = {
      from: '2026-11-05',
      to: '2026-11-08',
      buckets: ['2026-11-05', '2026-11-06', '2026-11-07', '2026-11-08'].map(bucket),
    };
    const place = [
      { period: 'this', first: 0, buckets: 3 },
      { period: 'this', first: 3, buckets: 1 },
      { period: 'previous', first: 0, buckets: 3 },
      { period: 'previous', first: 3, buckets: 1 },
    ];
    const requested = time('2026-11-09', '2026-11-12', { granularity: 'day', compare: 'previous_period' });
    expect(a?.call).toBe(ids[0]);
    expect(a?.join).toEqual({
      request: { metrics: ['profiles.created', 'profiles.approval_rate'], time: requested, include: ['totals'] },
      buckets,
      previous,
      parts: place.map((where, index) => ({
        call: ids[index],
        ...where,
        metrics: ['profiles.created', 'profiles.approval_rate'],
        totals: ['profiles.created'],
      })),
      sums: false,
      undefinedTotals: { metrics: ['profiles.approval_rate'], why: 'range' },
    });
    expect(b?.join).toEqual({
      request: { metrics: ['profiles.decided'], time: requested },
      buckets,
      previous,
      parts: place.map((where, index) => ({ call: ids[index], ...where, metrics: ['profiles.decided'], totals: [] })),
      sums: false,
    });
    expect(collectCalls(b!)).toEqual(ids);
  });

  test('is absent for one call, even if it also requests the metrics of another section', () => {
    const plan = compile(
      [
        { id: 'a', metrics: ['profiles.created'], granularity: 'day', totals: true },
        { id: 'b', metrics: ['profiles.approval_rate'], granularity: 'day' },
      ],
      {},
    );
    expect(plan.calls.length).toBe(1);
    expect(plan.sections.map((section) => 'join' in section)).toEqual([false, false]);
    expect(collectCalls(plan.sections[0]!)).toEqual([plan.calls[0]?.id]);
  });

  test('has one bucket without a name for current counts', () => {
    const plan = compile(
      [{ id: 'a', metrics: ['alerts.open', 'rfis.open'] }],
      { max_metrics: 1 },
      { compare: 'previous_period' },
    );
    expect(plan.sections[0]?.join).toMatchObject({
      buckets: [{ label: '', from: '', to: '' }],
      parts: [{ metrics: ['alerts.open'] }, { metrics: ['rfis.open'] }],
      sums: false,
    });
    expect(plan.sections[0]?.join).not.toHaveProperty('previous');
  });

  test('without buckets has the range as its bucket, and adds the parts up', () => {
    const plan = compile([{ id: 'a', metrics: ['profiles.created'] }], { max_range_days: 3 });
    expect(plan.sections[0]?.join).toMatchObject({
      buckets: [{ label: '2026-11-09', from: '2026-11-09', to: '2026-11-12' }],
      sums: true,
    });
    expect(plan.sections[0]?.join).not.toHaveProperty('previous');
    expect(plan.sections[0]?.join).not.toHaveProperty('undefinedTotals');
  });

  test('has a part that only provides totals, and names each metric without totals once', () => {
    const section = {
      id: 'a',
      metrics: ['profiles.created', 'profiles.approval_rate'],
      dimensions: ['profile.risk'],
      granularity: 'day' as const,
      totals: true,
    };
    const [parted] = compile([section], { max_rows: 12 }).sections;
    expect(parted?.join?.parts.map(({ metrics, totals }) => [metrics, totals])).toEqual([
      [section.metrics, ['profiles.created']],
      [section.metrics, ['profiles.created']],
      [[], ['profiles.approval_rate']],
    ]);
    const spread = { ...section, metrics: ['profiles.approval_rate', 'profiles.created'], dimensions: [] };
    const [lacking] = compile([spread], { max_metrics: 1, max_range_days: 2 }).sections;
    expect(lacking?.join?.undefinedTotals).toEqual({ metrics: ['profiles.approval_rate'], why: 'range' });
  });

  test('includes totals from a shared call only if its own section shows them', () => {
    const plan = compile(
      [
        { id: 'a', metrics: ['profiles.created'], dimensions: ['profile.risk'], granularity: 'day' },
        { id: 'b', metrics: ['profiles.created'], dimensions: ['profile.risk'], granularity: 'day', totals: true },
        { id: 'c', metrics: ['profiles.approval_rate'], dimensions: ['profile.risk'], granularity: 'day' },
        {
          id: 'd',
          metrics: ['profiles.approval_rate'],
          dimensions: ['profile.risk'],
          granularity: 'day',
          totals: true,
        },
      ],
      { max_rows: 12 },
    );
    expect(
      plan.sections.map(({ join }) => join?.parts.map(({ metrics, totals }) => [...metrics, '|', ...totals].join(' '))),
    ).toEqual([
      ['profiles.created |', 'profiles.created |'],
      ['profiles.created | profiles.created', 'profiles.created | profiles.created'],
      ['profiles.approval_rate |', 'profiles.approval_rate |'],
      ['profiles.approval_rate |', 'profiles.approval_rate |', '| profiles.approval_rate'],
    ]);
    expect(plan.sections.map(({ join }) => join?.undefinedTotals)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });
});
