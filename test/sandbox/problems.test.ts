import { describe, expect, it } from 'vitest';
import { problemSchema } from '../../src/contract/problem.ts';
import { inProcessSandbox } from '../support/in-process-sandbox.ts';

const sandbox = inProcessSandbox({ now: Date.parse('2026-04-08T08:30:00Z') });

/** Requests a report that must be refused, and returns its well-formed problem. */
async function refused(body: unknown, status = 422) {
  const requested = await sandbox.report(body);
  expect(requested.status).toBe(status);
  const problem = problemSchema.parse(requested.body);
  expect(problem.detail).toMatch(/\S/);
  expect(problem.correlation_id).toBe(requested.headers.get('X-Correlation-Id'));
  return problem;
}
const created = { metrics: ['profiles.created'] };

describe('refused reports, row by row of §7', () => {
  it('analytics.unknown_metric: an id that is not in the catalog of this organization', async () => {
    expect(await refused({ metrics: ['profiles.created', 'profiles.vanished'] })).toMatchObject({
      code: 'analytics.unknown_metric',
      errors: [{ pointer: '/metrics/1', code: 'unknown', metadata: { metric: 'profiles.vanished' } }],
    });
    const foreign = await sandbox.report({ metrics: ['intake.submissions'] }, { org: 103 });
    expect(foreign).toMatchObject({ status: 422, body: { code: 'analytics.unknown_metric' } });
  });

  it('analytics.incompatible_dimension: a dimension that one of the metrics does not accept', async () => {
    const problem = await refused({
      metrics: ['profiles.created', 'alerts.created', 'rfis.sent'],
      dimensions: ['profile.type', 'alert.type'],
    });
    expect(problem).toMatchObject({
      code: 'analytics.incompatible_dimension',
      errors: [
        {
          pointer: '/dimensions/1',
          code: 'invalid',
          metadata: {
            dimension: 'alert.type',
            metrics: ['profiles.created', 'rfis.sent'],
            allowed: ['profile.type', 'profile.group', 'profile.risk'],
          },
        },
      ],
    });
    expect(await refused({ ...created, dimensions: ['no.such'] })).toMatchObject({
      code: 'analytics.incompatible_dimension',
      errors: [{ pointer: '/dimensions/0', metadata: { dimension: 'no.such', metrics: ['profiles.created'] } }],
    });
  });

  it('analytics.incompatible_dimension: a current count with a granularity', async () => {
    expect(await refused({ metrics: ['alerts.created', 'alerts.open'], time: { granularity: 'day' } })).toMatchObject({
      code: 'analytics.incompatible_dimension',
      errors: [
        {
          pointer: '/time/granularity',
          metadata: { dimension: 'bucket', metrics: ['alerts.open'], allowed: expect.arrayContaining(['alert.type']) },
        },
      ],
    });
  });

  it('analytics.invalid_filter: a dimension that the metrics cannot be filtered by', async () => {
    expect(
      await refused({ ...created, filters: [{ dimension: 'hit.kind', op: 'eq', values: ['pep'] }] }),
    ).toMatchObject({
      code: 'analytics.invalid_filter',
      errors: [{ pointer: '/filters/0/dimension', metadata: { dimension: 'hit.kind', metrics: ['profiles.created'] } }],
    });
  });

  it('analytics.invalid_filter: a value that the dimension does not take', async () => {
    const filters = [{ dimension: 'profile.risk', op: 'in', values: ['high', 'extreme'] }];
    expect(await refused({ ...created, filters })).toMatchObject({
      code: 'analytics.invalid_filter',
      errors: [
        {
          pointer: '/filters/0/values/1',
          metadata: { value: 'extreme', allowed: ['low', 'medium', 'high', 'severe'] },
        },
      ],
    });
    // An organization without adverse media does not accept it as a value.
    const adverse = { dimension: 'hit.kind', op: 'eq', values: ['adverse_media'] };
    const requested = await sandbox.report({ metrics: ['screening.hits'], filters: [adverse] }, { org: 102 });
    expect(requested.body).toMatchObject({ code: 'analytics.invalid_filter' });
  });

  it('analytics.range_too_large: more than 366 days', async () => {
    expect(await refused({ ...created, time: { from: '2025-01-01', to: '2026-01-02' } })).toMatchObject({
      code: 'analytics.range_too_large',
      errors: [{ pointer: '/time', metadata: { days: 367, maximum: 366 } }],
    });
  });

  it('analytics.cardinality_exceeded: more than 2 dimensions, or more than 5000 rows', async () => {
    const dimensions = ['profile.type', 'profile.risk', 'profile.group'];
    expect(await refused({ ...created, dimensions })).toMatchObject({
      code: 'analytics.cardinality_exceeded',
      errors: [{ pointer: '/dimensions', code: 'too_many', metadata: { maximum: 2 } }],
    });
    expect(await refused({ ...created, limit: 5001 })).toMatchObject({
      code: 'analytics.cardinality_exceeded',
      errors: [{ pointer: '/limit', code: 'too_many', metadata: { maximum: 5000 } }],
    });
  });

  const values = Array.from({ length: 51 }, (_, nth) => `v${nth}`);
  it.each<[string, unknown, string]>([
    ['no metrics', {}, '/metrics'],
    ['an empty list of metrics', { metrics: [] }, '/metrics'],
    ['more than 20 metrics', { metrics: Array.from({ length: 21 }, () => 'profiles.created') }, '/metrics'],
    ['a metric twice', { metrics: ['rfis.sent', 'rfis.sent'] }, '/metrics/1'],
    ['a metric that is no text', { metrics: [7] }, '/metrics/0'],
    ['a dimension twice', { ...created, dimensions: ['profile.type', 'profile.type'] }, '/dimensions/1'],
    ['"to" before "from"', { ...created, time: { from: '2026-03-02', to: '2026-03-01' } }, '/time/to'],
    ['"from" alone', { ...created, time: { from: '2026-03-02' } }, '/time/to'],
    ['"to" alone', { ...created, time: { to: '2026-03-02' } }, '/time/from'],
    ['a day that does not exist', { ...created, time: { from: '2026-02-30', to: '2026-03-02' } }, '/time/from'],
    ['an instant for a day', { ...created, time: { from: '2026-02-03T00:00:00Z', to: '2026-03-02' } }, '/time/from'],
    ['a day before the year 1', { ...created, time: { from: '0000-12-31', to: '0001-01-01' } }, '/time/from'],
    [
      'a day before the year 1, by comparison',
      { ...created, time: { from: '0001-01-01', to: '0001-01-31', compare: 'previous_period' } },
      '/time/from',
    ],
    ['an unknown timezone', { ...created, time: { timezone: 'Mars/Olympus' } }, '/time/timezone'],
    ['an offset for a timezone', { ...created, time: { timezone: '+02:00' } }, '/time/timezone'],
    ['a timezone in lower case', { ...created, time: { timezone: 'europe/zurich' } }, '/time/timezone'],
    ['an unknown granularity', { ...created, time: { granularity: 'quarter' } }, '/time/granularity'],
    ['an unknown comparison', { ...created, time: { compare: 'previous_year' } }, '/time/compare'],
    [
      'an unknown operator',
      { ...created, filters: [{ dimension: 'profile.risk', op: 'lt', values: ['low'] }] },
      '/filters/0/op',
    ],
    [
      'more than 50 values',
      { ...created, filters: [{ dimension: 'profile.risk', op: 'in', values }] },
      '/filters/0/values',
    ],
    [
      'a filter without values',
      { ...created, filters: [{ dimension: 'profile.risk', op: 'in', values: [] }] },
      '/filters/0/values',
    ],
    [
      '"eq" with two values',
      { ...created, filters: [{ dimension: 'profile.risk', op: 'eq', values: ['low', 'high'] }] },
      '/filters/0/values',
    ],
    ['order by a column not requested', { ...created, order: [{ by: 'rfis.sent' }] }, '/order/0/by'],
    ['order by bucket without a granularity', { ...created, order: [{ by: 'bucket' }] }, '/order/0/by'],
    ['an unknown direction', { ...created, order: [{ by: 'profiles.created', dir: 'up' }] }, '/order/0/dir'],
    ['a limit of 0', { ...created, limit: 0 }, '/limit'],
    ['a limit that is not a whole number', { ...created, limit: 2.5 }, '/limit'],
    ['an unknown inclusion', { ...created, include: ['everything'] }, '/include/0'],
    ['an unknown field', { ...created, metric: 'rfis.sent' }, '/metric'],
    ['a body that is no object', [], ''],
    ['null', null, ''],
  ])('validation.failed: %s', async (_, body, pointer) => {
    const problem = await refused(body);
    expect(problem.code).toBe('validation.failed');
    expect(problem.errors?.map((error) => error.pointer)).toContain(pointer);
    for (const error of problem.errors ?? []) {
      expect(error).toEqual({
        pointer: expect.any(String),
        code: expect.any(String),
        detail: expect.any(String),
        metadata: expect.any(Object),
      });
    }
  });

  it('name every error at once, and have the code of the first', async () => {
    const problem = await refused({
      metrics: ['alerts.created', 'no.such'],
      dimensions: ['review.age'],
      filters: [{ dimension: 'profile.risk', op: 'eq', values: ['?'] }],
      order: [{ by: 'bucket' }],
      time: { timezone: 'Nowhere' },
    });
    expect(problem.code).toBe('analytics.unknown_metric');
    expect(problem.errors?.map(({ pointer }) => pointer)).toEqual([
      '/metrics/1',
      '/time/timezone',
      '/dimensions/0',
      '/filters/0/values/0',
      '/order/0/by',
    ]);
  });

  it('do not include requests exactly at a limit', async () => {
    const metrics = sandbox.world.tenants
      .get(101)!
      .catalog()
      .metrics.slice(0, 20)
      .map(({ id }) => id);
    const values = Array.from({ length: 50 }, (_, nth) => (nth % 2 === 0 ? 'high' : 'low'));
    for (const body of [
      { metrics },
      { ...created, dimensions: ['profile.type', 'profile.risk'] },
      { ...created, filters: [{ dimension: 'profile.risk', op: 'in', values }] },
      { ...created, limit: 5000 },
      { ...created, limit: 1 },
      { ...created, time: { from: '2025-01-01', to: '2026-01-01' } },
    ]) {
      expect((await sandbox.report(body)).status, JSON.stringify(body)).toBe(200);
    }
  });
});

describe('bodies that are not JSON', () => {
  const path = '/api/orgs/101/analytics/report/';
  it.each<[string, RequestInit]>([
    ['text', { body: 'metrics=profiles.created', headers: { 'Content-Type': 'application/json' } }],
    ['another content type', { body: JSON.stringify(created), headers: { 'Content-Type': 'text/plain' } }],
    ['nothing', { headers: { 'Content-Type': 'application/json' } }],
    ['half a body', { body: '{"metrics":["prof', headers: { 'Content-Type': 'application/json' } }],
    ['an endless body', { body: `"${'x'.repeat(300_000)}"`, headers: { 'Content-Type': 'application/json' } }],
  ])('are refused: %s', async (_, init) => {
    const { status, body } = await sandbox.send('POST', path, init);
    const { code, errors } = problemSchema.parse(body);
    expect({ status, code, pointer: errors?.[0]?.pointer }).toEqual({
      status: 422,
      code: 'validation.failed',
      pointer: '',
    });
  });
});

describe('paths and methods that do not exist', () => {
  it.each([
    '/api/orgs/999/analytics/metrics/',
    '/api/orgs/abc/profiles/',
    '/api/orgs/current/profiles/',
    '/api/orgs/101/secrets/',
    '/api/orgs/101/profiles',
    '/api/orgs/101/profiles/102000001/',
    '/api/',
    '/nowhere',
  ])('are answered with 404 for %s', async (path) => {
    expect(await sandbox.get(path)).toMatchObject({
      status: 404,
      body: { code: 'not_found', correlation_id: expect.any(String) },
    });
  });

  it('are answered with 405 and the allowed methods', async () => {
    const report = await sandbox.get('/api/orgs/101/analytics/report/');
    expect(report).toMatchObject({ status: 405, body: { code: 'method_not_allowed' } });
    expect(report.headers.get('Allow')).toBe('POST');
    const profiles = await sandbox.send('POST', '/api/orgs/101/profiles/', { body: '{}' });
    expect(profiles.status).toBe(405);
    expect(profiles.headers.get('Allow')).toBe('GET');
  });
});
