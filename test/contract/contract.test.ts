import { describe, expect, it } from 'vitest';
import {
  catalogSchema,
  DIMENSION_IDS,
  isAdditive,
  isCurrentCount,
  isWronglyAdditive,
} from '../../src/contract/catalog.ts';
import { LIMITS, RATE_LIMITS } from '../../src/contract/limits.ts';
import { listBodySchema, organizationSchema, PATHS, pageSchema } from '../../src/contract/organization.ts';
import { PROBLEM_CODES, problemSchema } from '../../src/contract/problem.ts';
import { reportRequestSchema, reportResponseSchema } from '../../src/contract/report.ts';
import { METRIC_IDS } from '../support/metric-ids.ts';
import { metricOf } from '../support/reports.ts';

const metric = metricOf('profiles.created', { label: 'Profiles created', dimensions: ['profile.type'] });
const catalog = {
  registry_version: 7,
  metrics: [metric],
  dimensions: [
    {
      id: 'profile.type',
      label: 'Type',
      description: '',
      type: 'enum',
      values: [{ value: 'entity', label: 'Entity' }],
    },
  ],
  limits: { max_range_days: 366, max_dimensions: 2, max_rows: 5000 },
};
const meta = {
  as_of: '2026-04-08T08:30:00Z',
  cached: false,
  refresh_retry_after: null,
  timezone: 'UTC',
  range: { from: '2026-03-01', to: '2026-03-31' },
  granularity: 'day',
  row_count: 1,
  truncated: false,
  registry_version: 7,
};
const answer = {
  meta,
  columns: [{ name: 'rfis.sent', label: 'RFIs sent', kind: 'metric', type: 'integer', unit: 'count' }],
  rows: [{ bucket: '2026-03-01', 'rfis.sent': 3, compare: { 'rfis.sent': null }, partial: false }],
  totals: { 'rfis.sent': 3, compare: { 'rfis.sent': 2 } },
};

it('the catalog replaces an empty or invisible label by the ID or code', () => {
  const { metrics, dimensions } = catalogSchema.parse({
    ...catalog,
    metrics: [
      { ...metric, label: '' },
      { ...metric, id: 'profiles.decided', label: ' \u200b' },
      { ...metric, id: 'x', label: '%' },
    ],
    dimensions: catalog.dimensions.map((each) => ({ ...each, label: ' ', values: [{ value: 'entity', label: '' }] })),
  });
  expect(metrics.map(({ label }) => label)).toEqual(['profiles.created', 'profiles.decided', '%']);
  expect(dimensions).toMatchObject([{ label: 'profile.type', values: [{ value: 'entity', label: 'entity' }] }]);
});

describe('whether a metric may be added up (§2.4):', () => {
  it.each([
    ['a count', {}, true, false],
    ['a count that is not additive', { additive_over_time: false }, false, false],
    ['a rate', { unit: 'ratio', aggregation: 'share' }, false, true],
    ['a duration', { unit: 'seconds', aggregation: 'sum' }, false, true],
    ['a percentile of counts', { aggregation: 'p90' }, false, true],
    ['a distinct count', { aggregation: 'count_distinct' }, false, true],
    ['a metric in an unknown unit', { unit: 'chf' }, false, false],
    ['a metric without a unit', { unit: null }, false, false],
  ])('%s', (_name, change, additive, wrongly) => {
    const [read] = catalogSchema.parse({ ...catalog, metrics: [{ ...metric, ...change }] }).metrics;
    expect(read && isAdditive(read)).toBe(additive);
    expect(read && isWronglyAdditive(read)).toBe(wrongly);
  });
});

describe('a catalog with duplicates', () => {
  it('keeps the first metric of an ID and lists the other as unread', () => {
    const again = { ...metric, unit: 'ratio' };
    const read = catalogSchema.parse({ ...catalog, metrics: [metric, again] });
    expect(read.metrics.map(({ unit }) => unit)).toEqual(['count']);
    expect(read.unread).toEqual([{ id: 'profiles.created', why: 'listed more than once' }]);
    // A stored catalog is read again.
    expect(catalogSchema.parse(JSON.parse(JSON.stringify(read)))).toEqual(read);
  });

  it('keeps each value of a dimension once, because it would be requested in two calls', () => {
    const [dimension] = catalog.dimensions;
    const values = ['entity', 'individual', 'entity'].map((value, index) => ({ value, label: `${index}` }));
    const read = catalogSchema.parse({ ...catalog, dimensions: [{ ...dimension, values }] });
    expect(read.dimensions[0]?.values).toEqual(values.slice(0, 2));
    expect(read.unread).toBe(undefined);
  });
});

describe('lists (§2.1 to §2.3)', () => {
  it('are distinguished by their shape: a plain array or an envelope', () => {
    const plain = listBodySchema.parse([{ id: 1, name: 'Acme' }]);
    const page = listBodySchema.parse({ count: 1, next: null, previous: null, results: [{ id: 1 }] });
    expect(Array.isArray(plain)).toBe(true);
    expect(Array.isArray(page)).toBe(false);
    expect(listBodySchema.safeParse({ results: 'none' }).success).toBe(false);
    expect(listBodySchema.safeParse('<html>').success).toBe(false);
  });

  it('keep unknown fields', () => {
    expect(organizationSchema.parse({ id: 1, name: 'Acme', roles_url: 'https://x/', plan: 'gold' })).toMatchObject({
      roles_url: 'https://x/',
      plan: 'gold',
    });
    const page = pageSchema.parse({
      count: 1,
      next: null,
      previous: null,
      results: [{ id: 1, risk: 'high' }],
      took: 3,
    });
    expect(page).toMatchObject({ took: 3, results: [{ risk: 'high' }] });
  });

  it('need an ID in every record and an integer as the count', () => {
    expect(pageSchema.safeParse({ count: 1, next: null, previous: null, results: [{ name: 'x' }] }).success).toBe(
      false,
    );
    expect(pageSchema.safeParse({ count: 1.5, next: null, previous: null, results: [] }).success).toBe(false);
  });

  it('have the paths of the specification', () => {
    expect([PATHS.organizations, PATHS.list(7, 'profiles'), PATHS.catalog('current'), PATHS.report(7)]).toEqual([
      '/api/orgs/',
      '/api/orgs/7/profiles/',
      '/api/orgs/current/analytics/metrics/',
      '/api/orgs/7/analytics/report/',
    ]);
  });
});

describe('the catalog (§2.4 to §2.6)', () => {
  it('is read as the specification writes it', () => {
    expect(catalogSchema.parse(catalog)).toEqual(catalog);
  });

  it('keeps unknown values and fields of a newer service, so that a run can show them', () => {
    const newer = {
      ...catalog,
      metrics: [
        { ...metric, unit: 'euros', aggregation: 'p99', time_field: 'escalated', type: 'money', owner: 'risk' },
      ],
      limits: { ...catalog.limits, max_cells: 100_000 },
    };
    expect(catalogSchema.parse(newer)).toEqual(newer);
  });

  it('marks a current count by its time field', () => {
    expect(isCurrentCount({ time_field: 'now' })).toBe(true);
    expect(isCurrentCount({ time_field: 'created' })).toBe(false);
  });

  it('has 41 metrics and 11 dimensions without duplicates', () => {
    const ids = Object.values(METRIC_IDS).flat();
    expect(new Set(ids).size).toBe(41);
    expect(ids).toHaveLength(41);
    expect(new Set(DIMENSION_IDS).size).toBe(11);
  });
});

describe('the report (§2.7, §2.8)', () => {
  it('is read as the specification writes it', () => {
    expect(reportResponseSchema.parse(answer)).toEqual(answer);
  });

  it.each([
    ['row_count', 'rows_count', 1],
    ['truncated', 'is_truncated', false],
    ['as_of', 'computed_at', '2026-04-08T08:30:00Z'],
    ['cached', 'is_cached', false],
  ] as const)('has the field %s also in the spelling %s', (first, second, value) => {
    const { [first]: _, ...others } = meta;
    const { meta: read } = reportResponseSchema.parse({ ...answer, meta: { ...others, [second]: value } });
    expect(read[first]).toBe(value);
    expect(reportResponseSchema.safeParse({ ...answer, meta: others }).success).toBe(false);
  });

  it('prefers the first spelling of a field if it has both', () => {
    const { meta: read } = reportResponseSchema.parse({ ...answer, meta: { ...meta, rows_count: 99 } });
    expect(read.row_count).toBe(1);
  });

  it('distinguishes null from 0 and keeps unknown fields', () => {
    const rows = [{ 'rfis.response_rate': null }, { 'rfis.response_rate': 0 }];
    const read = reportResponseSchema.parse({ ...answer, rows, meta: { ...meta, region: 'eu' }, hint: 'x' });
    expect(read.rows).toEqual(rows);
    expect(read).toMatchObject({ hint: 'x', meta: { region: 'eu' } });
  });

  it('is refused if a bucket is no date or the body is no report', () => {
    for (const wrong of [
      { ...answer, rows: [{ bucket: 'March' }] },
      { ...answer, rows: [{ compare: 'three' }] },
      { ...answer, totals: 3 },
      { ...answer, rows: undefined },
      { detail: 'Not found.' },
      [],
    ]) {
      expect(reportResponseSchema.safeParse(wrong).success, JSON.stringify(wrong)).toBe(false);
    }
  });

  it('is requested only with fields of §2.7', () => {
    const full = {
      metrics: ['rfis.sent'],
      dimensions: ['profile.type'],
      filters: [{ dimension: 'profile.risk', op: 'in', values: ['high'] }],
      time: {
        from: '2026-03-01',
        to: '2026-03-31',
        granularity: 'week',
        timezone: 'Europe/Zurich',
        compare: 'previous_period',
      },
      order: [{ by: 'bucket', dir: 'desc' }],
      limit: 10,
      include: ['totals'],
    };
    expect(reportRequestSchema.parse(full)).toEqual(full);
    expect(reportRequestSchema.parse({ metrics: ['a'], order: [{ by: 'a' }] }).order).toEqual([
      { by: 'a', dir: 'asc' },
    ]);
    expect(reportRequestSchema.safeParse({ ...full, period: 'last_week' }).success).toBe(false);
    expect(reportRequestSchema.safeParse({ metrics: [] }).success).toBe(false);
  });
});

describe('problems and limits (§7, §8)', () => {
  it('keep code, correlation ID and entries with their pointers', () => {
    const problem = {
      detail: 'No.',
      code: 'analytics.invalid_filter',
      correlation_id: 'c-1',
      errors: [{ pointer: '/filters/0', code: 'invalid', detail: 'No.', metadata: { allowed: ['low'] } }],
      help: 'https://x/',
    };
    expect(problemSchema.parse(problem)).toEqual(problem);
    expect(problemSchema.parse({})).toEqual({});
  });

  it('have a status for each code', () => {
    expect(new Set(Object.values(PROBLEM_CODES))).toEqual(new Set([401, 403, 422, 429]));
    expect(Object.keys(PROBLEM_CODES)).toHaveLength(11);
  });

  it('have the values of the specification', () => {
    expect(LIMITS).toMatchObject({ max_range_days: 366, max_dimensions: 2, max_metrics: 20, max_rows: 5000 });
    expect(LIMITS).toMatchObject({ max_filter_values: 50, default_range_days: 30, report_cache_seconds: 3600 });
    expect([RATE_LIMITS.metrics.calls, RATE_LIMITS.reads.calls, RATE_LIMITS.writes.calls]).toEqual([30, 600, 120]);
  });
});
