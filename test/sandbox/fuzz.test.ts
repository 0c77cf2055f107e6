import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DIMENSION_IDS } from '../../src/contract/catalog.ts';
import { pageSchema } from '../../src/contract/organization.ts';
import { PROBLEM_CODES, problemSchema } from '../../src/contract/problem.ts';
import { type ReportRequest, reportRequestSchema, reportResponseSchema } from '../../src/contract/report.ts';
import { toDay } from '../../src/sandbox/reports/calendar.ts';
import { cases, least } from '../support/fuzz.ts';
import { inProcessSandbox, type SandboxReply } from '../support/in-process-sandbox.ts';
import { METRIC_IDS } from '../support/metric-ids.ts';

const sandbox = inProcessSandbox({ now: Date.parse('2026-04-08T08:30:00Z') });
const catalog = sandbox.world.tenants.get(103)!.catalog();

/** The statuses of §7 with their codes, and the two that docs/internals/conformance.md adds. */
const DOCUMENTED: Readonly<Record<string, number>> = { ...PROBLEM_CODES, not_found: 404, method_not_allowed: 405 };

function expectProblem(requested: SandboxReply, what: unknown) {
  const { status } = requested;
  const context = JSON.stringify({ what, status, body: requested.body });
  const body = problemSchema.parse(requested.body);
  expect(DOCUMENTED[body.code ?? ''], context).toBe(status);
  expect(body.detail, context).toMatch(/\S/);
  expect(body.correlation_id, context).toMatch(/^[0-9a-f-]{36}$/);
  expect(Array.isArray(body.errors), context).toBe(status === 422);
  for (const error of body.errors ?? []) {
    expect(Object.keys(error).sort(), context).toEqual(['code', 'detail', 'metadata', 'pointer']);
    expect(error.pointer, context).toMatch(/^(|\/.*|\?ordering)$/s);
  }
  if (status === 429) expect(Number(requested.headers.get('Retry-After')), context).toBeGreaterThan(0);
}

const metricIds = Object.values(METRIC_IDS).flat();
const valuesOf = catalog.dimensions.flatMap(({ values }) => values.map(({ value }) => value));
const date = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: toDay('2025-06-01'), max: toDay('2026-06-01') }) },
  { weight: 1, arbitrary: fc.integer({ min: -719_600, max: 2_932_896 }) },
);
const iso = (day: number) => new Date(day * 86_400_000).toISOString().slice(0, 10);
const dateText = date.map(iso);
const zone = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom('UTC', 'Europe/Zurich', 'Pacific/Apia', 'America/Havana', 'Etc/GMT+12') },
  { weight: 1, arbitrary: fc.string() },
);
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 2 });
const jsonValue = fc.jsonValue({ maxDepth: 2 });
/** Mostly valid values, sometimes any JSON value. */
const mostly = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 30, arbitrary }, { weight: 1, arbitrary: jsonValue });

const metric = fc.oneof(
  { weight: 40, arbitrary: fc.constantFrom(...catalog.metrics.map(({ id }) => id)) },
  { weight: 1, arbitrary: fc.constantFrom(...metricIds) },
  { weight: 1, arbitrary: fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'bucket')) },
);
const dimension = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom(...DIMENSION_IDS) },
  { weight: 1, arbitrary: fc.string() },
);
const request = fc.record(
  {
    metrics: mostly(fc.array(mostly(metric), { minLength: 1, maxLength: 3, size: 'max' })),
    dimensions: maybe(mostly(fc.array(mostly(dimension), { maxLength: 3 }))),
    filters: maybe(
      mostly(
        fc.array(
          mostly(
            fc.record({
              dimension: mostly(dimension),
              op: mostly(fc.constantFrom('eq', 'in', 'not_in')),
              values: mostly(fc.array(mostly(fc.constantFrom(...valuesOf)), { minLength: 1, maxLength: 3 })),
            }),
          ),
          { maxLength: 2 },
        ),
      ),
    ),
    time: maybe(
      mostly(
        fc
          .record(
            {
              range: fc.tuple(
                date,
                fc.oneof({ weight: 8, arbitrary: fc.nat(365) }, fc.integer({ min: -400, max: 400 })),
              ),
              from: dateText,
              granularity: mostly(fc.constantFrom('day', 'week', 'month')),
              timezone: mostly(zone),
              compare: mostly(fc.constant('previous_period')),
            },
            { requiredKeys: ['range', 'from'] },
          )
          .chain(({ range: [first, days], from, ...rest }) =>
            fc.oneof(
              { weight: 20, arbitrary: fc.constant({ from: iso(first), to: iso(first + days), ...rest }) },
              { weight: 5, arbitrary: fc.constant(rest) },
              { weight: 1, arbitrary: fc.constant({ from, ...rest }) },
            ),
          ),
      ),
    ),
    order: maybe(
      mostly(
        fc.array(
          mostly(
            fc.record({ by: fc.oneof(metric, dimension, fc.constant('bucket')), dir: fc.constantFrom('asc', 'desc') }),
          ),
          {
            maxLength: 2,
          },
        ),
      ),
    ),
    limit: maybe(mostly(fc.integer({ min: -1, max: 5001 }))),
    include: maybe(mostly(fc.constant(['totals']))),
  },
  { requiredKeys: ['metrics'] },
);

/** Checks the response to an accepted request against the rules of §2.7 and §2.8. */
function expectRules(body: ReportRequest, requested: SandboxReply) {
  const context = JSON.stringify(body);
  const answer = reportResponseSchema.parse(requested.body);
  const { meta, rows, columns, totals } = answer;
  expect(meta.row_count, context).toBe(rows.length);
  expect(rows.length, context).toBeLessThanOrEqual(body.limit ?? 5000);
  expect(toDay(meta.range?.to ?? '') - toDay(meta.range?.from ?? ''), context).toBeLessThanOrEqual(365);
  expect(
    columns.map(({ name }) => name),
    context,
  ).toEqual([...(body.time?.granularity === undefined ? [] : ['bucket']), ...(body.dimensions ?? []), ...body.metrics]);
  expect(totals !== undefined, context).toBe((body.include ?? []).length > 0);
  for (const row of rows) {
    if (body.time?.compare !== undefined) expect(Object.keys(row.compare ?? {}), context).toEqual(body.metrics);
    for (const id of body.metrics) {
      const { unit } = catalog.metrics.find((candidate) => candidate.id === id)!;
      const value = row[id] as number | null;
      if (unit === 'count') expect(Number.isInteger(value) && Number(value) >= 0, context).toBe(true);
      else if (value !== null) expect(value >= 0 && (unit !== 'ratio' || value <= 1), context).toBe(true);
    }
  }
}

describe('10,000 generated requests (§7)', () => {
  it('are answered as documented: reports', async () => {
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(request, async (body) => {
        const requested = await sandbox.report(body, { org: 103 });
        if (requested.status !== 200) return expectProblem(requested, body);
        accepted++;
        expectRules(reportRequestSchema.parse(JSON.parse(JSON.stringify(body))), requested);
      }),
      cases(8000),
    );
    // Otherwise the rules would be checked on too few responses.
    expect(accepted).toBeGreaterThan(least(1000));
  });

  it('are answered as documented: bodies of any kind', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.json(), fc.string(), fc.string({ unit: 'binary' })), async (text) => {
        const requested = await sandbox.send('POST', '/api/orgs/current/analytics/report/', {
          body: text,
          headers: { 'Content-Type': 'application/json' },
        });
        expectProblem(requested, text);
      }),
      cases(1000),
    );
  });

  it('are answered as documented: lists and paths', async () => {
    const parameter = fc.record(
      {
        page: fc.oneof(fc.integer().map(String), fc.string()),
        ordering: fc.oneof(fc.constantFrom('id', '-id', 'name', '-created_at', '-'), fc.string()),
        search: fc.string(),
        '%': fc.string(),
      },
      { requiredKeys: [] },
    );
    const segment = fc.oneof(
      fc.constantFrom('101', '103', '104', 'current', '999', 'profiles', 'alerts', 'analytics', 'metrics', 'report'),
      fc.string().map(encodeURIComponent),
    );
    const list = fc.constantFrom('profiles', 'alerts', 'rfis', 'members', 'tags', 'blockchain-addresses');
    const place = fc.oneof(
      fc.tuple(fc.constantFrom('103', '104'), list).map(([org, name]) => `/api/orgs/${org}/${name}/`),
      fc.array(segment, { maxLength: 4 }).map((parts) => `/api/orgs/${[...parts, ''].join('/')}`),
    );
    const verb = fc.oneof(
      { weight: 6, arbitrary: fc.constant('GET') },
      { weight: 1, arbitrary: fc.constantFrom('POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS') },
    );
    const key = fc.constantFrom(
      'all',
      'acme',
      'lakeside',
      'metrics',
      'readonly',
      'agent',
      'elsewhere',
      'left',
      'expired',
    );
    await fc.assert(
      fc.asyncProperty(place, parameter, verb, key, async (path, query, method, label) => {
        const search = new URLSearchParams(
          Object.entries(query).map(([name, value]): [string, string] => [name, value ?? '']),
        );
        const requested = await sandbox.send(method, `${path}?${search}`, { key: label });
        if (requested.status !== 200) return expectProblem(requested, { path, query, method, label });
        if (/(profiles|alerts|rfis|members|tags|addresses)\/$/.test(path)) pageSchema.parse(requested.body);
      }),
      cases(2000),
    );
  });

  it('are answered as documented: headers', async () => {
    const secret = sandbox.keyOf('all');
    const header = fc.oneof(
      fc.string().map((text) => text.replace(/[^\x20-\x7e]/g, '')),
      fc.string().map((text) => `Api-Key ${text.replace(/[^\x20-\x7e]/g, '')}`),
      fc.nat(secret.length - 1).map((cut) => `Api-Key ${secret.slice(0, cut)}`),
    );
    await fc.assert(
      fc.asyncProperty(header, async (authorization) => {
        const requested = await sandbox.send('GET', '/api/orgs/', { headers: { Authorization: authorization } });
        expect(requested.status).toBe(401);
        expectProblem(requested, authorization);
      }),
      cases(500),
    );
  });
});
