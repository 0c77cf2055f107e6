import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type Context, Hono } from 'hono';
import { html } from 'hono/html';
import type { Log } from '../base/log.ts';
import { RATE_LIMITS } from '../contract/limits.ts';
import { authenticate, type IssuedKey, ROLES, type StoredKey } from './api-keys.ts';
import type { OrganizationSpec } from './generator/organizations.ts';
import { createLimiter, type Limiter, type LimiterAlgorithm } from './limiter.ts';
import { LISTS, type ListName, recordList } from './lists.ts';
import { findRecord, paginate } from './pagination.ts';
import { forbidden, notFound, ProblemError } from './problem.ts';
import { computeReport } from './reports/report.ts';
import type { CachedReport, ReportCache } from './reports/report-cache.ts';
import { parseReportQuery, queryKey } from './reports/report-query.ts';
import type { SandboxState, Tenant } from './tenants.ts';

const gzipAsync = promisify(gzip);

const LIST = `/api/orgs/:org/:list{${LISTS.join('|')}}/` as const;
/** Limit of request bodies, in characters. */
const MAX_BODY_CHARACTERS = 262_144;
/** Smaller responses (in bytes) are not worth compressing. */
const MIN_COMPRESSED_BYTES = 1024;

export interface AppOptions {
  readonly state: SandboxState;
  readonly keys: readonly IssuedKey[];
  readonly cache: ReportCache;
  /** Epoch ms, for limits and the cache. */
  readonly clock: () => number;
  readonly limiter: LimiterAlgorithm;
  readonly windowMs: number;
  readonly log: Log;
}

type Variables = { Variables: { correlationId: string; key: StoredKey } };

/**
 * Creates the service without a network: the endpoints of specification §4, their keys (§5), errors (§7) and rates
 * (§8).
 */
export function createApp(options: AppOptions): Hono<Variables> {
  const { state, cache, clock, log } = options;
  const stored = options.keys.map((key) => key.stored);
  const rate = (kind: keyof typeof RATE_LIMITS): Limiter =>
    createLimiter(options.limiter, RATE_LIMITS[kind].calls, options.windowMs);
  const rates = { metrics: rate('metrics'), reads: rate('reads'), writes: rate('writes') };
  const app = new Hono<Variables>();

  app.use(async (c, next) => {
    const correlationId = randomUUID();
    c.set('correlationId', correlationId);
    await next();
    c.header('X-Correlation-Id', correlationId);
  });

  app.onError((thrown, c) => {
    const correlationId = c.get('correlationId');
    if (!(thrown instanceof ProblemError)) {
      log.error('A request failed', { path: c.req.path, why: String(thrown), correlation_id: correlationId });
      return c.json({ detail: 'Internal error.', code: 'internal_error', correlation_id: correlationId }, 500);
    }
    const { status, code, message: detail, errors, headers } = thrown;
    for (const [name, value] of Object.entries(headers)) c.header(name, value);
    c.header('X-Correlation-Id', correlationId);
    return c.json({ detail, code, correlation_id: correlationId, ...(errors && { errors }) }, status);
  });
  app.notFound(() => {
    throw notFound('There is nothing at this path.');
  });

  app.get('/', (c) => c.html(indexPage(new URL(c.req.url).origin, options.keys, state)));

  app.use('/api/*', async (c, next) => {
    const key = authenticate(stored, c.req.header('Authorization'), state.now());
    c.set('key', key);
    const metrics = /^\/api\/orgs\/[^/]+\/analytics\//.test(c.req.path);
    const reading = c.req.method === 'GET' || c.req.method === 'HEAD';
    const wait = metrics
      ? rates.metrics.acquire(`key ${key.id}`, clock())
      : rates[reading ? 'reads' : 'writes'].acquire(`user ${key.owner.id}`, clock());
    if (wait > 0) {
      const seconds = Math.max(1, Math.ceil(wait / 1000));
      throw new ProblemError(429, 'rate.throttled', `Too many requests: wait ${seconds} s.`, {
        headers: { 'Retry-After': String(seconds) },
      });
    }
    await next();
  });

  app.get('/api/orgs/', (c) => {
    const key = c.get('key');
    assertUnscoped(key);
    const reached = [...state.tenants.values()].filter(({ spec }) => canAccess(key, spec.id));
    return jsonResponse(c, JSON.stringify(reached.map(({ spec }) => organizationBody(spec, state, c))));
  });

  app.get('/api/orgs/:org/', (c) => {
    const { spec } = authorizeTenant(c.req.param('org'), c.get('key'), state, 'records');
    return jsonResponse(c, JSON.stringify(organizationBody(spec, state, c)));
  });

  app.get('/api/orgs/:org/analytics/metrics/', (c) => {
    const tenant = authorizeTenant(c.req.param('org'), c.get('key'), state, 'metrics');
    return jsonResponse(c, JSON.stringify(tenant.catalog()));
  });

  app.post('/api/orgs/:org/analytics/report/', async (c) => {
    const key = c.get('key');
    const tenant = authorizeTenant(c.req.param('org'), key, state, 'metrics');
    // A read-only key may only use GET (§5.4), unless it was made for metrics, which are read with this POST (§5.5).
    if (key.access === 'read' && key.scope === null) throw forbidden('This key is read-only: GET endpoints only.');
    const question = parseReportQuery(await jsonBody(c), tenant, state);
    // If the past changes, so does the response.
    const name = `${tenant.spec.id} ${queryKey(question)} ${state.lateEntries()}`;
    const cached = cache.get(name, clock());
    if (cached !== undefined) return jsonResponse(c, reportBody(cached.held, true, cached.secondsLeft));
    const { meta, rest } = computeReport(question, tenant, state);
    const computed = { at: clock(), meta, rest: Buffer.from(rest) };
    cache.put(name, computed);
    return jsonResponse(c, reportBody(computed, false, null));
  });

  app.get(LIST, (c) => {
    const tenant = authorizeTenant(c.req.param('org'), c.get('key'), state, 'records');
    return jsonResponse(
      c,
      JSON.stringify(paginate(buildList(c.req.param('list'), tenant, stored), new URL(c.req.url))),
    );
  });

  app.get(`${LIST}:id/`, (c) => {
    const tenant = authorizeTenant(c.req.param('org'), c.get('key'), state, 'records');
    const record = findRecord(buildList(c.req.param('list'), tenant, stored), c.req.param('id'));
    if (record === undefined) throw notFound('There is no such record in this organization.');
    return jsonResponse(c, JSON.stringify(record));
  });

  for (const [path, allow] of [
    ['/api/orgs/', 'GET'],
    ['/api/orgs/:org/', 'GET'],
    ['/api/orgs/:org/analytics/metrics/', 'GET'],
    ['/api/orgs/:org/analytics/report/', 'POST'],
    [LIST, 'GET'],
    [`${LIST}:id/`, 'GET'],
  ] as const) {
    app.all(path, (c) => {
      if (c.get('key').access === 'read' && c.req.method !== 'GET') throw forbidden('This key is read-only.');
      throw new ProblemError(405, 'method_not_allowed', `Only ${allow} is served here.`, { headers: { Allow: allow } });
    });
  }
  return app;
}

/** @param refreshRetryAfter seconds until the report can be computed again; null for a new one (specification §2.8) */
function reportBody({ meta, rest }: CachedReport, cached: boolean, refreshRetryAfter: number | null): Buffer {
  const whole = JSON.stringify({ ...meta, cached, refresh_retry_after: refreshRetryAfter });
  return Buffer.concat([Buffer.from(`{"meta":${whole},`), rest, CLOSING]);
}
const CLOSING = Buffer.from('}');

/** Responds with JSON text, compressed if the client accepts it. */
async function jsonResponse(c: Context<Variables>, json: string | Buffer): Promise<Response> {
  c.header('Content-Type', 'application/json');
  c.header('Vary', 'Accept-Encoding');
  const wanted = json.length >= MIN_COMPRESSED_BYTES && /\bgzip\b/.test(c.req.header('Accept-Encoding') ?? '');
  if (wanted) c.header('Content-Encoding', 'gzip');
  const body = wanted ? await gzipAsync(json, { level: 1 }) : json;
  return c.body(typeof body === 'string' ? body : new Uint8Array(body));
}

/** Reads the body as JSON. Throws a 422 `ProblemError`, also for a content type other than the one that §4 requires. */
async function jsonBody(c: Context<Variables>): Promise<unknown> {
  const invalid = (detail: string) =>
    new ProblemError(422, 'validation.failed', detail, {
      errors: [{ pointer: '', code: 'invalid', detail, metadata: {} }],
    });
  if (!/^application\/json\s*(;|$)/i.test(c.req.header('Content-Type') ?? '')) {
    throw invalid('Send the header "Content-Type: application/json".');
  }
  if (Number(c.req.header('Content-Length') ?? 0) > MAX_BODY_CHARACTERS) throw invalid('The body is too large.');
  const text = await c.req.text();
  if (text.length > MAX_BODY_CHARACTERS) throw invalid('The body is too large.');
  try {
    return JSON.parse(text);
  } catch {
    throw invalid('The body is not JSON.');
  }
}

function assertUnscoped(key: StoredKey): void {
  if (key.scope !== null) throw forbidden(`This key is scoped to ${key.scope.join(', ')} and nothing else.`);
}

const canAccess = (key: StoredKey, org: number): boolean =>
  key.owner.roles.has(org) && (!key.scoped || key.home === org);

/**
 * The organization in a path, if the key may access it. Otherwise throws a 404 or 403 `ProblemError` (specification
 * §7).
 */
function authorizeTenant(org: string, key: StoredKey, world: SandboxState, purpose: 'metrics' | 'records'): Tenant {
  const current = org === 'current' && purpose === 'metrics';
  const id = current ? key.home : /^\d{1,9}$/.test(org) ? Number(org) : Number.NaN;
  const tenant = world.tenants.get(id);
  if (tenant === undefined) throw notFound('There is no such organization.');
  if (key.scoped && key.home !== id) throw forbidden('This key belongs to another organization.');
  const role = ROLES.find((candidate) => candidate.id === key.owner.roles.get(id));
  if (role === undefined) throw forbidden("This key's owner is not a member of the organization.");
  if (purpose === 'records') assertUnscoped(key);
  else if (!role.analytics || (key.scope !== null && !key.scope.includes('analytics.read'))) {
    throw forbidden('The permission analytics.read is needed.');
  }
  return tenant;
}

function buildList(name: string, tenant: Tenant, keys: readonly StoredKey[]) {
  const known: ListName | undefined = LISTS.find((candidate) => candidate === name);
  if (known === undefined) throw notFound('There is no such list.');
  return recordList(known, tenant.spec, tenant.snapshot(), keys);
}

/** As in specification §2.1, with the additional link fields. */
function organizationBody(spec: OrganizationSpec, world: SandboxState, c: Context<Variables>): Record<string, unknown> {
  const base = `${new URL(c.req.url).origin}/api/orgs/${spec.id}/`;
  const created = new Date(world.tenants.get(spec.id)?.start ?? 0).toISOString();
  const links = LISTS.map((name) => [`${name.replace('-', '_')}_url`, `${base}${name}/`]);
  const { id, name } = spec;
  return { id, url: base, name, image: null, ...Object.fromEntries(links), created_at: created, updated_at: created };
}

/** Responds to `GET /`: an overview with commands to copy. */
function indexPage(url: string, keys: readonly IssuedKey[], world: SandboxState) {
  const first = keys[0]?.text ?? '';
  const auth = `-H 'Authorization: Api-Key ${first}'`;
  const body = JSON.stringify({
    metrics: ['profiles.created', 'profiles.approval_rate'],
    dimensions: ['profile.type'],
    time: { granularity: 'week', timezone: 'Europe/Zurich', compare: 'previous_period' },
    include: ['totals'],
  });
  const lines = [
    `curl ${auth} ${url}/api/orgs/`,
    `curl ${auth} '${url}/api/orgs/101/profiles/?ordering=-created_at&search=keller'`,
    `curl ${auth} ${url}/api/orgs/current/analytics/metrics/`,
    `curl ${auth} -H 'Content-Type: application/json' -d '${body}' ${url}/api/orgs/current/analytics/report/`,
  ];
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Compliance Service sandbox</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
  pre, code { font: 13px/1.5 ui-monospace, monospace; background: #8881; border-radius: 4px }
  pre { padding: .75rem; white-space: pre-wrap; word-break: break-all }
  table { border-collapse: collapse; width: 100% } td, th { text-align: left; padding: .25rem .75rem .25rem 0; vertical-align: top }
  td code { word-break: break-all }
</style>
<h1>Compliance Service sandbox</h1>
<p>The Compliance Service over generated data: nobody here is real, and these keys open nothing else.</p>
<h2>Try it</h2>
${lines.map((line) => html`<pre>${line}</pre>`)}
<h2>Organizations</h2>
<table>
  <tr><th>Id<th>Name<th>Features</tr>
  ${[...world.tenants.values()].map(
    ({ spec }) => html`<tr><td>${spec.id}<td>${spec.name}<td>${spec.features.join(', ')}</tr>`,
  )}
</table>
<h2>Keys</h2>
<table>
  <tr><th>Key<th>What it may do</tr>
  ${keys.map(({ stored, text }) => html`<tr><td><code>${text}</code><td>${stored.what}</tr>`)}
</table>
</html>`;
}
