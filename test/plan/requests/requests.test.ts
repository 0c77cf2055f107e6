import { describe, expect, test } from 'vitest';
import { DocketError } from '../../../src/base/error.ts';
import type { Filter } from '../../../src/contract/report.ts';
import type { ChartSpec, Section } from '../../../src/definitions/schema/report-definition.ts';
import { compilePlan } from '../../../src/plan/compile.ts';
import { followedMetrics, followedTargets, followReplacements } from '../../../src/plan/replacements.ts';
import {
  buildRequest,
  callLimits,
  canonicalJson,
  listCall,
  normalizeFilters,
  reportCall,
} from '../../../src/plan/requests/call.ts';
import { mergeRequests } from '../../../src/plan/requests/merge-requests.ts';
import { CATALOG, definitionOf, sectionOf, settingsOf, WEEK } from '../../support/reports.ts';

const DEFINITION = definitionOf([{ id: 'any', list: 'profiles' }]);

describe('the canonical JSON of a request', () => {
  test('has sorted keys at every depth, lists in their order, and no undefined values', () => {
    expect(canonicalJson({ b: [{ z: 1, y: null }, 'x'], a: { d: undefined, c: 2 } })).toBe(
      '{"a":{"c":2},"b":[{"y":null,"z":1},"x"]}',
    );
  });

  test('gives the call an ID that depends on kind, organization and body', () => {
    const request = { metrics: ['profiles.created'] };
    const call = reportCall('current', request);
    expect(call).toEqual({ kind: 'report', id: expect.stringMatching(/^[0-9a-f]{16}$/), org: 'current', request });
    const roster = listCall('current', 'profiles', sectionOf({ id: 'a', list: 'profiles' }));
    expect(roster).toEqual({
      kind: 'list',
      id: expect.stringMatching(/^[0-9a-f]{16}$/),
      org: 'current',
      list: 'profiles',
    });
    const found = listCall(
      'current',
      'profiles',
      sectionOf({ id: 'a', list: 'profiles', ordering: '-id', search: 'x' }),
    );
    expect(found).toMatchObject({ kind: 'list', list: 'profiles', ordering: '-id', search: 'x' });
    expect(roster).not.toHaveProperty('ordering');
    expect(Object.keys(found)).toEqual(['kind', 'id', 'org', 'list', 'ordering', 'search']);
    expect(Object.keys(roster)).toEqual(['kind', 'id', 'org', 'list']);
    // Later versions read the stored responses of runs by these IDs.
    expect([call.id, roster.id, found.id]).toEqual(['cae21fa944122319', '9f31d0658d32445f', '363ff617696c4ffa']);
    const others = [
      call,
      reportCall(7, request),
      reportCall('current', { metrics: ['profiles.decided'] }),
      roster,
      found,
      listCall(7, 'profiles', sectionOf({ id: 'a', list: 'profiles' })),
      listCall('current', 'profiles', sectionOf({ id: 'a', list: 'profiles', search: 'x' })),
    ];
    expect(new Set(others.map(({ id }) => id)).size).toBe(others.length);
  });
});

describe('filters', () => {
  const filter = (dimension: string, op: Filter['op'], ...values: string[]): Filter => ({ dimension, op, values });

  test('are sorted, with each value and each filter once', () => {
    expect(
      normalizeFilters([
        filter('profile.type', 'in', 'entity'),
        filter('profile.risk', 'not_in', 'severe', 'high', 'severe'),
        filter('profile.risk', 'not_in', 'high', 'severe'),
        filter('profile.risk', 'in', 'low', 'high'),
        filter('hit.kind', 'not_in', 'pep'),
      ]),
    ).toEqual([
      filter('hit.kind', 'not_in', 'pep'),
      filter('profile.risk', 'in', 'high', 'low'),
      filter('profile.risk', 'not_in', 'high', 'severe'),
      filter('profile.type', 'eq', 'entity'),
    ]);
  });

  test('are omitted if there are none', () => {
    expect(normalizeFilters([])).toBe(undefined);
    expect(normalizeFilters(undefined)).toBe(undefined);
  });
});

test('a request has only the fields of its section, and each metric once', () => {
  const plain = { metrics: ['profiles.created'], time: { from: WEEK.from, to: WEEK.to, timezone: WEEK.timezone } };
  const section = {
    ...sectionOf({ id: 'a', metrics: ['profiles.created'] }),
    metrics: ['profiles.created', 'profiles.created'],
    dimensions: [],
    filters: [],
    order: [],
  };
  const frame = { period: WEEK, comparisons: [], current: false } as const;
  expect(buildRequest(section, frame)).toStrictEqual(plain);
  expect(Object.keys(buildRequest(section, frame))).toEqual(['metrics', 'time']);
  expect(buildRequest(section, { ...frame, current: true })).toEqual({ ...plain, time: { timezone: WEEK.timezone } });
});

test('the limits of a call come from the catalog and the specification, and can be stricter', () => {
  const catalog = { ...CATALOG, limits: { max_range_days: 100, max_dimensions: 2, max_rows: 200 } };
  expect(callLimits(catalog)).toEqual({ max_range_days: 100, max_rows: 200, max_metrics: 20, max_filter_values: 50 });
  expect(callLimits(catalog, { max_rows: 9, max_metrics: 3 })).toEqual({
    max_range_days: 100,
    max_rows: 9,
    max_metrics: 3,
    max_filter_values: 50,
  });
});

describe('a shared request', () => {
  const time = { from: '2026-11-09', to: '2026-11-15', timezone: 'UTC' };

  test('has the metrics of all requests, and totals if one of them has', () => {
    const one = { key: 'a', request: { metrics: ['x'], time, include: ['totals' as const] } };
    const other = { key: 'b', request: { metrics: ['y', 'x'], time } };
    const both = { metrics: ['x', 'y'], time, include: ['totals'] };
    expect([...mergeRequests([one, other])]).toEqual([
      ['a', both],
      ['b', both],
    ]);
    const turned = { metrics: ['y', 'x'], time, include: ['totals'] };
    expect([...mergeRequests([other, one])]).toEqual([
      ['b', turned],
      ['a', turned],
    ]);
    expect(mergeRequests([other]).get('b')).not.toHaveProperty('include');
  });

  test('includes another request while the metrics are within the limit', () => {
    const wanted = ['a', 'b', 'c'].map((key) => ({ key, request: { metrics: [key, 'all'], time } }));
    const served = (most: number) => [...mergeRequests(wanted, most).values()].map(({ metrics }) => metrics.join());
    expect(served(4)).toEqual(['a,all,b,c', 'a,all,b,c', 'a,all,b,c']);
    expect(served(3)).toEqual(['a,all,b', 'a,all,b', 'c,all']);
    expect(served(2)).toEqual(['a,all', 'b,all', 'c,all']);
  });

  test('with groups, or sorted by a metric, includes only requests for the same metrics', () => {
    const grouped = { dimensions: ['profile.type'], time };
    const served = (...requests: object[]) =>
      new Set(
        mergeRequests(requests.map((more, index) => ({ key: `${index}`, request: { metrics: [], ...more } }))).values(),
      ).size;
    expect(served({ metrics: ['a', 'b'], ...grouped }, { metrics: ['b', 'a'], ...grouped })).toBe(1);
    expect(served({ metrics: ['a', 'b'], ...grouped }, { metrics: ['a'], ...grouped })).toBe(2);
    const sorted = {
      time,
      order: [
        { by: 'bucket', dir: 'asc' },
        { by: 'a', dir: 'asc' },
      ],
    };
    expect(served({ metrics: ['a', 'b'], ...sorted }, { metrics: ['a'], ...sorted })).toBe(2);
    const byBucket = { time, order: [{ by: 'bucket', dir: 'desc' }] };
    expect(served({ metrics: ['a', 'b'], ...byBucket }, { metrics: ['a'], ...byBucket })).toBe(1);
  });
});

describe('replacements', () => {
  const follow = (section: Section) => {
    const [followed] = followReplacements({ ...DEFINITION, sections: [section], follow_replacements: true }, CATALOG);
    return followed!;
  };
  const base = sectionOf({ id: 'a', metrics: ['profiles.decided', 'profiles.opened'] });

  test('are also followed in order and chart', () => {
    const chart: ChartSpec = {
      kind: 'line',
      series: ['profiles.opened', 'profiles.created', 'profiles.decided'],
      secondary: ['profiles.opened'],
    };
    const order = [
      { by: 'profiles.opened', dir: 'desc' as const },
      { by: 'bucket', dir: 'asc' as const },
    ];
    expect(follow({ ...base, order, chart })).toEqual({
      section: {
        ...base,
        metrics: ['profiles.decided', 'profiles.created'],
        order: [{ by: 'profiles.created', dir: 'desc' }, order[1]],
        chart: {
          kind: 'line',
          series: ['profiles.created', 'profiles.decided'],
          secondary: ['profiles.created'],
        },
      },
      replaced: [{ from: 'profiles.opened', to: 'profiles.created' }],
    });
  });

  test('leave other fields of a section and other sections unchanged', () => {
    expect(follow({ ...base, chart: 'line' }).section.chart).toBe('line');
    expect(follow({ ...base, chart: { kind: 'line' } }).section.chart).toEqual({ kind: 'line' });
    expect(Object.keys(follow(base).section)).toEqual(Object.keys(base));
    const untouched = sectionOf({ id: 'a', metrics: ['profiles.decided'] });
    expect(follow(untouched)).toEqual({ section: untouched, replaced: [] });
    expect(follow(untouched).section).toBe(untouched);
    const list = sectionOf({ id: 'a', list: 'profiles' });
    expect(follow(list)).toEqual({ section: list, replaced: [] });
    const unknown = sectionOf({ id: 'a', metrics: ['revenue'] });
    expect(follow(unknown)).toEqual({ section: unknown, replaced: [] });
    expect(followReplacements({ ...DEFINITION, sections: [base] }, CATALOG)).toEqual([{ section: base, replaced: [] }]);
  });

  test('are also followed in targets and headlines, unless the successor has its own target', () => {
    const report = { follow_replacements: true };
    const old = { metric: 'profiles.opened', better: 'higher' as const, target: 100 };
    const own = { metric: 'profiles.created', better: 'higher' as const, target: 90 };
    const followed = { ...old, metric: 'profiles.created' };
    expect(followedTargets([old], report, CATALOG)).toEqual([followed]);
    expect(followedTargets([old], { follow_replacements: false }, CATALOG)).toEqual([old]);
    expect(followedTargets([old, own], report, CATALOG)).toEqual([own]);
    // Targets per week and per period both apply.
    expect(followedTargets([old, { ...own, per: 'week' }], report, CATALOG)).toHaveLength(2);
    const headline = ['profiles.opened', 'profiles.decided', 'profiles.created'];
    expect(followedMetrics(headline, report, CATALOG)).toEqual(['profiles.created', 'profiles.decided']);
    expect(followedMetrics(headline, { follow_replacements: false }, CATALOG)).toEqual(headline);
  });

  test('are listed once for a metric that is named twice', () => {
    expect(follow({ ...base, metrics: ['profiles.opened', 'profiles.opened'] }).replaced).toEqual([
      { from: 'profiles.opened', to: 'profiles.created' },
    ]);
  });

  test('are followed only for a deprecated metric with a successor', () => {
    const asked = (more: object) => {
      const metrics = CATALOG.metrics.map((metric) =>
        metric.id === 'profiles.opened' ? { ...metric, ...more } : metric,
      );
      const [followed] = followReplacements(
        { ...DEFINITION, sections: [base], follow_replacements: true },
        { ...CATALOG, metrics },
      );
      return followed?.section.metrics?.[1];
    };
    expect(asked({})).toBe('profiles.created');
    expect(asked({ deprecated_at: null })).toBe('profiles.opened');
    expect(asked({ replaced_by: null })).toBe('profiles.opened');
  });
});

describe('a definition with unknown metrics', () => {
  const refusal = (...metrics: string[]): DocketError => {
    try {
      compilePlan({
        definition: definitionOf([{ id: 'a', metrics }]),
        settings: settingsOf(),
        period: WEEK,
        catalog: CATALOG,
      });
    } catch (error) {
      if (error instanceof DocketError) return error;
    }
    throw new Error('it was planned');
  };
  const fault = (index: number, name: string) =>
    `\n  sections[0].metrics[${index}]: expected a metric of the organization's catalog; got "${name}". \`docket catalog --org acme\` lists them.`;

  test('is refused with the path, the expected value and the fix of each error', () => {
    const error = refusal('revenue', 'turnover');
    expect(error).toMatchObject({ code: 'plan.invalid', where: 'acme/weekly' });
    expect(
      error.message
        .split('\n')
        .slice(1)
        .map((line) => `\n${line}`),
    ).toEqual([fault(0, 'revenue'), fault(1, 'turnover')]);
  });
});
