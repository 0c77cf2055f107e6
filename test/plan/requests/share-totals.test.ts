import { describe, expect, test } from 'vitest';
import type { Filter, ReportRequest } from '../../../src/contract/report.ts';
import { type CallLimits, callLimits } from '../../../src/plan/requests/call.ts';
import type { KeyedRequest } from '../../../src/plan/requests/merge-requests.ts';
import { shareTotals } from '../../../src/plan/requests/share-totals.ts';
import { CATALOG } from '../../support/reports.ts';

const OCTOBER = { from: '2026-10-01', to: '2026-10-31', timezone: 'Europe/Zurich' };
const HIGH: Filter[] = [{ dimension: 'profile.risk', op: 'eq', values: ['high'] }];

const keyed = (key: string, request: ReportRequest, lookup?: boolean): KeyedRequest => ({
  key,
  request,
  ...(lookup === undefined ? {} : { lookup }),
});
const totals = (more: Partial<ReportRequest> = {}): KeyedRequest =>
  keyed('totals', { metrics: ['profiles.decided'], time: OCTOBER, ...more }, true);
const byRisk: ReportRequest = { metrics: ['profiles.created'], dimensions: ['profile.risk'], time: OCTOBER };
const byDay: ReportRequest = { metrics: ['profiles.created'], time: { ...OCTOBER, granularity: 'day' } };

const share = (requests: readonly KeyedRequest[], limits: Partial<CallLimits> = {}) =>
  shareTotals(requests, CATALOG, callLimits(CATALOG, limits));
/** The shared request of the totals, or undefined if nothing was shared. */
const shared = (requests: readonly KeyedRequest[], limits: Partial<CallLimits> = {}) => {
  const found = share(requests, limits);
  return found === requests ? undefined : found.find(({ key }) => key === 'totals')?.request;
};

describe('totals are requested together with rows of the same days', () => {
  test('by group, if the rows are only looked up', () => {
    const rows = keyed('rows', byRisk, true);
    expect(share([totals(), rows])).toEqual([
      {
        key: 'totals',
        request: {
          metrics: ['profiles.decided'],
          dimensions: ['profile.risk'],
          time: OCTOBER,
          include: ['totals'],
        },
        lookup: true,
      },
      rows,
    ]);
    expect(shared([totals(), keyed('rows', byRisk)])).toBeUndefined();
    expect(shared([totals(), keyed('rows', byRisk, false)])).toBeUndefined();
  });

  test('by bucket, whether or not the rows are only looked up', () => {
    const request = { metrics: ['profiles.decided'], time: byDay.time, include: ['totals'] };
    expect(shared([keyed('rows', byDay), totals()])).toStrictEqual(request);
    expect(shared([keyed('rows', byDay, true), totals()])).toEqual(request);
  });

  test('only with the same filters', () => {
    const filtered = keyed('rows', { ...byRisk, filters: HIGH }, true);
    expect(shared([totals({ filters: HIGH }), filtered])).toMatchObject({ filters: HIGH, include: ['totals'] });
    expect(shared([totals(), filtered])).toBeUndefined();
    expect(shared([totals({ filters: HIGH }), keyed('rows', byRisk, true)])).toBeUndefined();
  });

  test('only with the same first day, last day and time zone', () => {
    for (const time of [
      { ...OCTOBER, from: '2026-10-02' },
      { ...OCTOBER, to: '2026-10-30' },
      { ...OCTOBER, timezone: 'UTC' },
    ]) {
      expect(shared([totals({ time }), keyed('rows', byRisk, true)])).toBeUndefined();
    }
  });

  test('only without order, limit and comparison', () => {
    for (const more of [
      { order: [{ by: 'profiles.created', dir: 'desc' as const }] },
      { limit: 3 },
      { time: { ...OCTOBER, compare: 'previous_period' as const } },
    ]) {
      expect(shared([totals(), keyed('rows', { ...byRisk, ...more }, true)])).toBeUndefined();
    }
  });

  test('only if every metric accepts the dimension', () => {
    expect(shared([totals({ metrics: ['screening.hits'] }), keyed('rows', byRisk, true)])).toBeUndefined();
    const both = { metrics: ['profiles.decided', 'screening.hits'] };
    expect(shared([totals(both), keyed('rows', byRisk, true)])).toBeUndefined();
    const twice = { ...byRisk, dimensions: ['profile.type', 'hit.kind'] };
    expect(shared([totals(), keyed('rows', twice, true)])).toBeUndefined();
    expect(shared([totals({ metrics: ['revenue'] }), keyed('rows', byRisk, true)])).toBeUndefined();
    expect(shared([totals({ metrics: ['revenue'] }), keyed('rows', byDay)])).toBeUndefined();
  });

  test('only if every metric accepts the granularity', () => {
    expect(shared([totals({ metrics: ['cohort.completion_rate'] }), keyed('rows', byDay)])).toBeUndefined();
    const byWeek = { ...byDay, time: { ...OCTOBER, granularity: 'week' as const } };
    expect(shared([totals({ metrics: ['cohort.completion_rate'] }), keyed('rows', byWeek)])).toBeDefined();
  });

  test('in a later request if the first does not fit', () => {
    const hits = keyed('hits', { ...byRisk, metrics: ['screening.hits'], dimensions: ['hit.kind'] }, true);
    expect(shared([totals(), hits, keyed('rows', byRisk, true)])).toMatchObject({ dimensions: ['profile.risk'] });
  });
});

describe('totals are requested alone', () => {
  test('if there are no such rows, and the list of requests is unchanged', () => {
    const requests = [totals(), keyed('other', { metrics: ['profiles.created'], time: OCTOBER }, true)];
    expect(share(requests)).toBe(requests);
    expect(share([])).toEqual([]);
  });

  test('if they are the single row of a section', () => {
    const own = keyed('totals', { metrics: ['profiles.decided'], time: OCTOBER });
    expect(shared([own, keyed('rows', byRisk, true)])).toBeUndefined();
  });

  test('if the requests have rows themselves', () => {
    const requests = [
      keyed('groups', { ...byRisk, metrics: ['profiles.decided'] }, true),
      keyed('days', { ...byDay, metrics: ['profiles.decided'] }, true),
      keyed('rows', byRisk, true),
    ];
    expect(share(requests)).toBe(requests);
  });

  test('if the call would have too many metrics', () => {
    const other = keyed('other', { metrics: ['profiles.approval_rate'], time: OCTOBER }, true);
    const requests = [totals(), other, keyed('rows', byRisk, true)];
    const dimensionsOf = (max_metrics: number) =>
      share(requests, { max_metrics }).map(({ request }) => request.dimensions?.length ?? 0);
    expect(dimensionsOf(3)).toEqual([1, 1, 1]);
    expect(dimensionsOf(2)).toEqual([1, 0, 1]);
    expect(dimensionsOf(1)).toEqual([0, 0, 1]);
    // A metric that the rows already have does not count twice.
    expect(
      shared([totals({ metrics: ['profiles.created'] }), keyed('rows', byRisk, true)], { max_metrics: 1 }),
    ).toBeDefined();
  });

  test('if the rows need several calls, unless one of them has the days of the totals', () => {
    // Five groups of 31 days: the rows are split, and no part is complete.
    const rows = keyed('rows', { ...byRisk, time: { ...OCTOBER, granularity: 'day' } }, true);
    expect(shared([totals(), rows])).toBeDefined();
    expect(shared([totals(), rows], { max_rows: 100 })).toBeUndefined();
    // September and October are separate parts.
    const months = { ...byDay, time: { ...OCTOBER, from: '2026-09-01', granularity: 'month' as const } };
    expect(shared([totals(), keyed('rows', months)])).toBeUndefined();
    expect(shared([totals(), keyed('rows', months)], { max_range_days: 31 })).toEqual({
      metrics: ['profiles.decided'],
      time: { ...OCTOBER, granularity: 'month' },
      include: ['totals'],
    });
  });

  test('if neither has a time', () => {
    const { time: _time, ...rows } = byRisk;
    const own = keyed('totals', { metrics: ['profiles.decided'] }, true);
    expect(shared([own, keyed('rows', rows, true)])).toBeUndefined();
  });

  test('if the rows cannot be requested', () => {
    const long = { ...byRisk, metrics: ['profiles.approval_rate'] };
    expect(shared([totals(), keyed('rows', long, true)], { max_range_days: 30 })).toBeUndefined();
  });
});
