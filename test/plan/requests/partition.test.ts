import { describe, expect, test } from 'vitest';
import type { ReportRequest } from '../../../src/contract/report.ts';
import { type CallLimits, callLimits } from '../../../src/plan/requests/call.ts';
import { countMaxRows, partitionRequest, requestRange } from '../../../src/plan/requests/partition.ts';
import { splitRequest } from '../../../src/plan/requests/split-request.ts';
import { CATALOG } from '../../support/reports.ts';

const BRANCHES = Array.from({ length: 14 }, (_, index) => ({ value: `branch-${index}`, label: '' }));
/** With a dimension of fourteen values, which has fifteen groups. */
const WIDE = {
  ...CATALOG,
  metrics: CATALOG.metrics.map((metric) => ({ ...metric, dimensions: [...metric.dimensions, 'branch'] })),
  dimensions: [...CATALOG.dimensions, { id: 'branch', label: '', description: '', type: 'enum', values: BRANCHES }],
};
const TEN_DAYS = { from: '2026-11-01', to: '2026-11-10', timezone: 'Europe/Zurich', granularity: 'day' as const };
const byBranch: ReportRequest = { metrics: ['profiles.created'], dimensions: ['branch'], time: TEN_DAYS };

const split = (request: ReportRequest, limits: Partial<CallLimits>) => {
  const found = splitRequest(request, WIDE, callLimits(WIDE, limits));
  if ('refused' in found) throw new Error(`refused: ${found.refused.kind}`);
  return found;
};

describe('a request without both days', () => {
  test('has no range', () => {
    expect(requestRange({ metrics: [] })).toBeUndefined();
    expect(requestRange({ metrics: [], time: { timezone: 'UTC' } })).toBeUndefined();
    expect(requestRange({ metrics: [], time: { from: '2026-11-01' } })).toBeUndefined();
    expect(requestRange({ metrics: [], time: { to: '2026-11-01' } })).toBeUndefined();
    expect(requestRange(byBranch)).toEqual({ from: '2026-11-01', to: '2026-11-10' });
  });

  test('has one row for each group, and is split by groups', () => {
    const { time: _time, ...request } = byBranch;
    expect(countMaxRows(byBranch, WIDE)).toBe(150);
    expect(countMaxRows(request, WIDE)).toBe(15);
    expect(split({ metrics: ['profiles.created'] }, {})).toStrictEqual({
      requests: [
        { request: { metrics: ['profiles.created'] }, period: 'this', first: 0, buckets: 1, rows: true, totals: [] },
      ],
      sums: false,
    });
    const { requests, sums } = split(request, { max_rows: 8 });
    expect(
      requests.map((one) => [one.request.time, one.request.filters?.map(({ op, values }) => [op, values.length])]),
    ).toEqual([
      [undefined, [['in', 8]]],
      [undefined, [['not_in', 8]]],
    ]);
    expect(sums).toBe(false);
  });
});

describe('a partition', () => {
  test('into slices of different lengths keeps the rows of the longest within the limit', () => {
    // Slices of seven and three days. The groups per call must fit seven days.
    const { requests } = split({ ...byBranch, include: ['totals'] }, { max_range_days: 7, max_rows: 28 });
    expect(requests).toHaveLength(8);
    for (const { request } of requests) expect(countMaxRows(request, WIDE)).toBeLessThanOrEqual(28);
    expect(new Set(requests.map(({ buckets }) => buckets))).toEqual(new Set([7, 3]));
    // Over several slices, totals are added up.
    for (const { totals } of requests) expect(totals).toEqual(['profiles.created']);
  });

  test('is refused if a bucket is too long, with or without a comparison', () => {
    const months = { ...TEN_DAYS, granularity: 'month' as const };
    for (const time of [months, { ...months, compare: 'previous_period' as const }]) {
      const limits = callLimits(WIDE, { max_range_days: 9 });
      expect(partitionRequest({ metrics: ['profiles.created'], time }, [[]], WIDE, limits)).toEqual({ kind: 'bucket' });
    }
  });

  test('requests the previous period itself only if the range needs several slices', () => {
    const compared = { ...byBranch, time: { ...TEN_DAYS, compare: 'previous_period' as const } };
    const slices = (limits: Partial<CallLimits>) => {
      const found = partitionRequest(compared, [[]], WIDE, callLimits(WIDE, limits));
      return 'kind' in found ? found : [found.current.length, found.previous.length, found.filterSets.length];
    };
    expect(slices({})).toEqual([1, 0, 1]);
    expect(slices({ max_range_days: 7 })).toEqual([2, 2, 1]);
    expect(slices({ max_rows: 100 })).toEqual([1, 0, 2]);
    expect(slices({ max_rows: 1 })).toEqual({ kind: 'calls', calls: 300 });
  });

  test('by groups leaves the comparison to the service, and adds no fields without a value', () => {
    const inOneMonth = { ...TEN_DAYS, granularity: 'month' as const };
    const times = (time: typeof inOneMonth) =>
      split({ ...byBranch, time }, { max_rows: 8 }).requests.map(({ request }) => request.time);
    expect(times(inOneMonth)).toStrictEqual([inOneMonth, inOneMonth]);
    const compared = { ...inOneMonth, compare: 'previous_period' as const };
    expect(times(compared)).toStrictEqual([compared, compared]);
  });
});

test('a request with as many rows as the limit is not split and keeps its order', () => {
  const request: ReportRequest = { ...byBranch, order: [{ by: 'profiles.created', dir: 'desc' }] };
  expect(split(request, { max_rows: 150 }).requests.map((one) => one.request)).toEqual([request]);
});
