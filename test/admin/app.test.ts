import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AdminServices } from '../../src/admin/access/services.ts';
import type { RunView } from '../../src/admin/api/schemas.ts';
import type { AdminPorts } from '../../src/admin/app.ts';
import { hashToken, newToken, type TokenEntry } from '../../src/admin/auth/tokens.ts';
import type { AdminApp } from '../../src/admin/hono-env.ts';
import { DocketError } from '../../src/base/error.ts';
import { redisAuditLog } from '../../src/services/audit-log.ts';
import type { FindEarlierDelivery } from '../../src/services/runs/already-delivered.ts';
import { triggerRun } from '../../src/services/runs/trigger-run.ts';
import { createTestAdmin } from '../support/admin.ts';
import { cases } from '../support/fuzz.ts';
import { loadedJobs } from '../support/loaded-jobs.ts';
import { manualClock } from '../support/manual-clock.ts';
import { openQueueHarness, type QueueHarness, recordingLog, reportDefinition } from '../support/queue-harness.ts';

/** The body of a response, typed as the route declares it. */
const bodyOf = async <Body>(response: Response): Promise<Body> => (await response.json()) as Body;
const runOf = (response: Response) => bodyOf<RunView>(response);
const runsOf = async (response: Response) => (await bodyOf<{ runs: RunView[] }>(response)).runs;
interface Problem {
  readonly code: string;
  readonly errors: readonly { readonly pointer: string }[];
}

const NOW = Date.parse('2026-11-18T12:00:00Z');
const WEEK = { from: '2026-11-09', to: '2026-11-15', timezone: 'Europe/Zurich', label: '2026-W46' };
const tokens = {
  operator: newToken(),
  viewer: newToken(),
  all: newToken(),
  expired: newToken(),
  lastDay: newToken(),
};
const entries: TokenEntry[] = [
  { name: 'ops', sha256: tokens.operator.sha256, role: 'operator', orgs: ['acme'] },
  { name: 'eyes', sha256: tokens.viewer.sha256, role: 'viewer', orgs: ['acme'] },
  { name: 'root', sha256: tokens.all.sha256, role: 'operator', orgs: '*' },
  { name: 'old', sha256: tokens.expired.sha256, role: 'operator', orgs: '*', expires: '2026-11-17' },
  { name: 'today', sha256: tokens.lastDay.sha256, role: 'viewer', orgs: '*', expires: '2026-11-18' },
];
const reports = [reportDefinition('weekly'), reportDefinition('daily'), reportDefinition('weekly', undefined, 'rival')];

describe('the admin route', () => {
  let harness: QueueHarness;
  let app: AdminApp;
  const log = recordingLog();
  const clock = manualClock(NOW);
  const admin = (given: Partial<AdminServices> = {}, change: Partial<AdminPorts> = {}) =>
    createTestAdmin(
      entries,
      {
        jobs: () => loadedJobs(...reports),
        trigger: harness.trigger,
        runs: harness.runs,
        audit: redisAuditLog(harness.producer, { prefix: harness.prefix, clock, log }),
        ...given,
      },
      { clock, log, ...change },
    );
  beforeAll(async () => {
    harness = await openQueueHarness(clock);
  });
  beforeEach(() => {
    app = admin();
  });
  afterAll(() => harness.close());

  type As = keyof typeof tokens;
  const call = (
    method: string,
    path: string,
    as?: As,
    init: { body?: string; headers?: Record<string, string> } = {},
  ) =>
    app.request(path, {
      method,
      headers: {
        ...(as === undefined ? {} : { authorization: `Bearer ${tokens[as].token}` }),
        ...(init.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...init.headers,
      },
      ...(init.body === undefined ? {} : { body: init.body }),
    });
  const post = (
    body?: unknown,
    headers: Record<string, string> = {},
    as: As = 'operator',
    path = '/api/reports/acme/weekly/runs',
  ) => call('POST', path, as, { ...(body === undefined ? {} : { body: JSON.stringify(body) }), headers });
  const problemOf = async (response: Response) => {
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    const body = await bodyOf<Problem>(response);
    expect(body).toMatchObject({
      status: response.status,
      type: expect.stringMatching(/^urn:docket:problem:/),
      title: expect.any(String),
    });
    return body;
  };

  describe('triggering', () => {
    it('answers 202 with the run and its location', async () => {
      const response = await post();
      expect(response.status).toBe(202);
      const run = await runOf(response);
      expect(run).toMatchObject({
        org: 'acme',
        report: 'weekly',
        state: 'queued',
        trigger: 'on_demand',
        priority: 'on_demand',
        deliver: true,
        created_at: '2026-11-18T12:00:00.000Z',
        period: { from: '2026-11-09', to: '2026-11-15', timezone: 'Europe/Zurich' },
      });
      expect(response.headers.get('location')).toBe(`/api/runs/${run.id}`);
      const found = await call('GET', `/api/runs/${run.id}`, 'viewer');
      expect(found.status).toBe(200);
      expect(await found.json()).toEqual({ ...run, held: null });
      expect(log.lines).toContainEqual(expect.objectContaining({ message: 'Run triggered', run: run.id, who: 'ops' }));
    });

    it('answers 409 when the period was already delivered, unless the request has `again`', async () => {
      const earlier = { run: 'f'.repeat(32), period: WEEK, at: NOW - 60_000, sent: { email: 2, s3: 1 }, uncertain: 0 };
      const requested: unknown[] = [];
      const findDelivered: FindEarlierDelivery = async ({ org, report, period }) => {
        requested.push([org, report, period.from, period.to]);
        return earlier;
      };
      const { runs, queue } = harness;
      const [{ definition, settings }] = [reportDefinition('mailed')];
      const deliveries = [{ email: { to: ['lead@acme.example'], attach: ['csv' as const] } }];
      app = admin({
        jobs: () => loadedJobs({ definition: { ...definition, deliveries }, settings }),
        trigger: (request) => triggerRun(request, { runs, queue, findDelivered, clock, log }),
      });
      const to = (body: unknown, headers = {}, as: As = 'operator') =>
        post(body, headers, as, '/api/reports/acme/mailed/runs');
      const key = { 'idempotency-key': 'again-1' };
      for (const headers of [{}, key]) {
        const refused = await to({}, headers);
        expect(refused.status).toBe(409);
        expect(await problemOf(refused)).toMatchObject({
          code: 'already_delivered',
          detail: expect.stringMatching(/2 people and 1 S3 bucket on 18 Nov, 12:59 \(run ffffffff\)/),
          delivered: { run: earlier.run, people: 2, targets: 1, uncertain: 0, at: '2026-11-18T11:59:00.000Z' },
        });
      }
      expect(requested).toContainEqual(['acme', 'mailed', '2026-11-09', '2026-11-15']);
      expect(await harness.runs.list({ report: 'mailed', limit: 1 })).toEqual([]);
      // A viewer’s token does not even look up earlier deliveries.
      const asking = requested.length;
      expect((await to({}, {}, 'viewer')).status).toBe(403);
      expect(requested).toHaveLength(asking);

      expect((await to({ deliver: false })).status).toBe(202);
      const insisted = await to({ again: true }, key);
      expect(insisted.status).toBe(202);
      const { id } = await runOf(insisted);
      expect(await runOf(await to({ again: true }, key))).toMatchObject({ id });
      const other = await to({}, key);
      expect([other.status, (await problemOf(other)).code]).toEqual([409, 'run.conflict']);
      expect((await to({ again: 'yes' })).status).toBe(422);
    });

    it.each([
      ['2026-09', '2026-09-01', '2026-09-30'],
      ['previous_month', '2026-10-01', '2026-10-31'],
      [{ from: '2026-01-05', to: '2026-01-06' }, '2026-01-05', '2026-01-06'],
    ])('takes the period %j', async (period, from, to) => {
      const response = await post({ period, deliver: false });
      expect(await response.json()).toMatchObject({ period: { from, to }, deliver: false });
    });

    it('opens a run for each request without a key, and one run for each key', async () => {
      const ids = async (...headers: Record<string, string>[]) =>
        Promise.all(headers.map(async (header) => (await runOf(await post({}, header))).id));
      expect(new Set(await ids({}, {})).size).toBe(2);
      const key = { 'Idempotency-Key': 'order-1' };
      expect(new Set(await ids(key, key, key, key)).size).toBe(1);
    });

    it('rejects a key that comes back with another body', async () => {
      const key = { 'Idempotency-Key': 'order-2' };
      expect((await post({ period: '2026-09' }, key)).status).toBe(202);
      expect((await post({ period: '2026-09' }, key)).status).toBe(202);
      const response = await post({ period: '2026-10' }, key);
      expect(response.status).toBe(409);
      expect(await problemOf(response)).toMatchObject({
        code: 'run.conflict',
        next: expect.stringContaining('Idempotency-Key'),
      });
    });

    it('keeps equal keys of two clients and of two reports apart', async () => {
      const key = { 'Idempotency-Key': '1' };
      const ids = await Promise.all([
        post({}, key),
        post({}, key, 'all'),
        post({}, key, 'operator', '/api/reports/acme/daily/runs'),
      ]);
      const found = await Promise.all(ids.map(async (response) => (await runOf(response)).id));
      expect(new Set(found).size).toBe(3);
    });

    it.each([
      [{ deliver: 'yes' }, '/deliver'],
      [{ period: 'yesterday' }, '/period'],
      [{ period: { from: '2026-02-02', to: '2026-02-01' } }, '/period/to'],
      [{ recipients: ['me@evil.example'] }, ''],
      [[], ''],
      [null, ''],
    ])('rejects the body %j and names the field', async (body, pointer) => {
      const response = await post(body);
      expect(response.status).toBe(422);
      const { errors } = await problemOf(response);
      expect(errors.map((error) => error.pointer)).toContain(pointer);
    });

    it.each([
      ['not JSON', '{', {}, 400],
      ['another type', '<a/>', { 'content-type': 'application/xml' }, 415],
      ['a body that is too large', JSON.stringify({ period: 'x'.repeat(70_000) }), {}, 413],
      ['an invalid key', '{}', { 'idempotency-key': 'ä b' }, 400],
    ])('refuses %s', async (_, body, headers, status) => {
      const response = await call('POST', '/api/reports/acme/weekly/runs', 'operator', { body, headers });
      expect(response.status).toBe(status);
      await problemOf(response);
    });

    it('rejects viewers', async () => {
      const response = await post({}, {}, 'viewer');
      expect(response.status).toBe(403);
      expect(await problemOf(response)).toMatchObject({ code: 'auth.forbidden' });
    });

    it('answers 503 with Retry-After while Redis is unreachable', async () => {
      app = admin({
        trigger: async () => {
          throw new DocketError('redis.unreachable', 'Redis at 10.0.0.1:6379 cannot be reached.', {
            got: 'ECONNREFUSED',
          });
        },
      });
      const response = await post();
      expect(response.status).toBe(503);
      expect(response.headers.get('retry-after')).toBe('5');
      expect(await problemOf(response)).toMatchObject({ code: 'redis.unreachable' });
    });

    it('hides the details of an internal error from the client', async () => {
      app = admin({
        trigger: async () => {
          throw new TypeError('cannot read canary of undefined');
        },
      });
      const response = await post();
      expect(response.status).toBe(500);
      const text = await response.text();
      expect(text).not.toMatch(/canary|at .*\.ts|TypeError/);
      expect(log.lines.at(-1)).toMatchObject({ level: 'error', error: { code: 'internal.defect' } });
    });
  });

  describe('another organization', () => {
    it('gets 404 for reports, runs and listings that it may not see', async () => {
      const foreign = await runOf(await post({}, {}, 'all', '/api/reports/rival/weekly/runs'));
      const responses = await Promise.all([
        post({}, {}, 'operator', '/api/reports/rival/weekly/runs'),
        post({}, {}, 'operator', '/api/reports/nobody/weekly/runs'),
        call('GET', `/api/runs/${foreign.id}`, 'operator'),
        call('GET', `/api/runs/${'0'.repeat(32)}`, 'operator'),
        call('GET', '/api/runs?org=rival', 'operator'),
      ]);
      expect(responses.map((response) => response.status)).toEqual([404, 404, 404, 404, 404]);
      const codes = await Promise.all(responses.map(async (response) => (await problemOf(response)).code));
      expect(new Set(codes)).toEqual(new Set(['request.not_found']));
      const listed = await runsOf(await call('GET', '/api/runs?limit=500', 'operator'));
      expect(new Set(listed.map((run) => run.org))).toEqual(new Set(['acme']));
      const all = await runsOf(await call('GET', '/api/runs?limit=500', 'all'));
      expect(all.map((run) => run.id)).toContain(foreign.id);
    });
  });

  describe('listing', () => {
    it('is newest first, filtered and limited', async () => {
      clock.advance(1_000);
      const first = await runOf(await post({}, {}, 'operator', '/api/reports/acme/daily/runs'));
      clock.advance(1_000);
      const second = await runOf(await post({}, {}, 'operator', '/api/reports/acme/daily/runs'));
      const list = async (query: string) =>
        (await runsOf(await call('GET', `/api/runs?${query}`, 'viewer'))).map((run) => run.id);
      expect((await list('org=acme&report=daily')).slice(0, 2)).toEqual([second.id, first.id]);
      expect(await list('report=daily&limit=1')).toEqual([second.id]);
    });

    it.each(['limit=0', 'limit=501', 'limit=x', 'state=over', 'after=x', 'since=soon', 'states=done'])(
      'refuses ?%s',
      async (query) => {
        const response = await call('GET', `/api/runs?${query}`, 'viewer');
        expect(response.status).toBe(422);
        await problemOf(response);
      },
    );
  });

  describe('tokens', () => {
    it.each([
      ['no token', {}, 'auth.missing'],
      ['another scheme', { authorization: `Basic ${tokens.all.token}` }, 'auth.missing'],
      ['an unknown token', { authorization: `Bearer ${newToken().token}` }, 'auth.invalid'],
      ['the hash instead of the token', { authorization: `Bearer ${tokens.all.sha256}` }, 'auth.invalid'],
      ['an expired token', { authorization: `Bearer ${tokens.expired.token}` }, 'auth.expired'],
    ])('refuses %s', async (_, headers, code) => {
      for (const path of ['/api/runs', '/api/reports/acme/weekly/runs', '/nowhere']) {
        const response = await app.request(path, { headers });
        expect(response.status).toBe(401);
        expect(response.headers.get('www-authenticate')).toBe('Bearer realm="docket"');
        expect(await problemOf(response)).toMatchObject({ code });
      }
    });

    it('accepts a token through its last day', async () => {
      expect((await call('GET', '/api/runs', 'lastDay')).status).toBe(200);
    });

    it('throttles an address that guesses tokens, but not valid tokens', async () => {
      const guess = () => app.request('/api/runs', { headers: { authorization: 'Bearer wrong' } });
      const statuses = [];
      for (let n = 0; n < 11; n += 1) statuses.push((await guess()).status);
      expect(statuses.slice(0, 9)).toEqual(Array(9).fill(401));
      expect(statuses.slice(9)).toEqual([429, 429]);
      const throttled = await guess();
      expect(Number(throttled.headers.get('retry-after'))).toBeGreaterThan(0);
      await problemOf(throttled);
      expect((await call('GET', '/api/runs', 'viewer')).status).toBe(200);
      clock.advance(61_000);
      expect((await guess()).status).toBe(401);
    });

    it('are long, random and kept as hashes', () => {
      const { token, sha256 } = newToken();
      expect(token).toMatch(/^docket_[A-Za-z0-9_-]{43}$/);
      expect(sha256).toBe(hashToken(token));
      expect(newToken().token).not.toBe(token);
    });

    it('are never written to the log', () => {
      const text = JSON.stringify(log.lines);
      for (const { token, sha256 } of Object.values(tokens)) {
        expect(text).not.toContain(token);
        expect(text).not.toContain(sha256);
      }
    });
  });

  describe('health', () => {
    it('needs no token', async () => {
      expect((await app.request('/healthz')).status).toBe(200);
      expect((await app.request('/readyz')).status).toBe(200);
    });

    it('answers 503 at /readyz while a check fails', async () => {
      const health = async () => [{ name: 'redis', ok: false, detail: 'no answer' }];
      app = admin({}, { health, problemCodes: () => ['circuit.open'] });
      const response = await app.request('/readyz');
      expect(response.status).toBe(503);
      expect(await response.json()).toEqual({
        status: 'not ready',
        checks: [{ name: 'redis', ok: false, detail: 'no answer' }],
        problems: ['circuit.open'],
      });
      expect((await app.request('/healthz')).status).toBe(200);
    });
  });

  describe('metrics', () => {
    const type = 'text/plain; version=0.0.4; charset=utf-8';
    const scraped = (as?: As) => {
      app = admin({}, { metrics: async () => ({ type, body: 'docket_redis_up 1\n' }) });
      return call('GET', '/metrics', as);
    };

    it('need a token for all organizations, and have the media type that Prometheus expects', async () => {
      const response = await scraped('lastDay');
      expect([response.status, response.headers.get('content-type')]).toEqual([200, type]);
      expect(await response.text()).toBe('docket_redis_up 1\n');
    });

    it('are refused to tokens of one organization and without a token', async () => {
      expect((await scraped()).status).toBe(401);
      const response = await scraped('operator');
      expect(response.status).toBe(403);
      expect(await problemOf(response)).toMatchObject({ code: 'auth.forbidden', got: 'one for acme' });
    });
  });

  it('answers 404 and 405 as problems, with the allowed methods', async () => {
    const nowhere = await call('GET', '/api/nowhere', 'viewer');
    expect(nowhere.status).toBe(404);
    await problemOf(nowhere);
    const wrong = await call('DELETE', '/api/runs', 'viewer');
    expect(wrong.status).toBe(405);
    expect(wrong.headers.get('allow')).toBe('GET, HEAD');
    await problemOf(wrong);
    expect((await call('GET', '/api/reports/acme/weekly/runs', 'viewer')).headers.get('allow')).toBe('POST');
  });

  it('sets security headers, and allows no other origin', async () => {
    for (const response of [
      await app.request('/healthz', { headers: { origin: 'https://evil.example' } }),
      await call('GET', '/api/nowhere', 'viewer', { headers: { origin: 'https://evil.example' } }),
      await call('OPTIONS', '/api/runs', 'viewer', { headers: { origin: 'https://evil.example' } }),
    ]) {
      expect(Object.fromEntries(response.headers)).toMatchObject({
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'cache-control': 'no-store',
      });
      expect(response.headers.get('access-control-allow-origin')).toBeNull();
    }
  });

  it('never answers a body, path, query or header with an internal error', async () => {
    const anything = fc.oneof(
      fc.json().map((body) => ({ body, type: 'application/json' })),
      fc.record({
        body: fc.string(),
        type: fc.constantFrom('application/json', 'text/plain', 'application/json; charset=x', ''),
      }),
      fc
        .record({ period: fc.anything(), deliver: fc.anything() }, { requiredKeys: [] })
        .map((body) => ({ body: JSON.stringify(body), type: 'application/json' })),
    );
    const path = fc.oneof(
      fc.constant('/api/reports/acme/weekly/runs'),
      fc.constant('/api/runs'),
      fc.string().map((text) => `/api/runs/${encodeURIComponent(text)}`),
      fc
        .string()
        .map(
          (text) =>
            `/api/runs?${encodeURIComponent(text)}=${encodeURIComponent(text)}&limit=${encodeURIComponent(text)}`,
        ),
      fc.webPath().map((text) => `/api/reports${text}/runs`),
      fc.constantFrom(
        '/api/runs/%E0%A4%A',
        '/api/reports/%00/%ff/runs',
        '/api/reports/__proto__/constructor/runs',
        '//',
        '/%2e%2e/',
      ),
    );
    await fc.assert(
      fc.asyncProperty(
        anything,
        path,
        fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'),
        fc.option(fc.string({ unit: 'binary-ascii', maxLength: 300 }).filter((key) => !/[\0\r\n]/.test(key))),
        async ({ body, type }, target, method, key) => {
          const response = await app.request(target, {
            method,
            headers: {
              authorization: `Bearer ${tokens.operator.token}`,
              ...(type === '' ? {} : { 'content-type': type }),
              ...(key === null ? {} : { 'idempotency-key': key }),
            },
            ...(method === 'GET' ? {} : { body }),
          });
          expect(response.status).toBeLessThan(500);
          const text = await response.text();
          if (response.status >= 400) {
            expect(response.headers.get('content-type')).toBe('application/problem+json');
            expect(JSON.parse(text)).toMatchObject({ status: response.status });
          }
          expect(text).not.toMatch(/\bat .*\.[jt]s:\d+|rival/);
        },
      ),
      cases(1_000),
    );
  });
});
