import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type Context, Hono } from 'hono';
import type { Log } from '../base/log.ts';
import { RATES } from '../contract/limits.ts';
import type { HeldReport, ReportCache } from './cache.ts';
import { home } from './home.ts';
import { authenticate, type IssuedKey, ROLES, type StoredKey } from './keys.ts';
import { type Limiter, type LimiterKind, limiter } from './limiter.ts';
import { LISTS, type ListName, list } from './lists.ts';
import type { OrganizationSpec } from './organizations.ts';
import { pageBody, recordWith } from './page.ts';
import { ask, nameOf } from './question.ts';
import { forbidden, notFound, Refusal } from './refusal.ts';
import { report } from './report.ts';
import type { Tenant, World } from './world.ts';

const zip = promisify(gzip);

const LIST = `/api/orgs/:org/:list{${LISTS.join('|')}}/` as const;
/** Bodies of requests larger than this are refused, in characters. */
const LARGEST_BODY = 262_144;
/** Answers smaller than this are not worth compressing, in bytes. */
const SMALL = 1024;

export interface AppOptions {
  readonly world: World;
  readonly keys: readonly IssuedKey[];
  readonly cache: ReportCache;
  /** Epoch ms of the clock by which limits and the cache run. */
  readonly clock: () => number;
  readonly limiter: LimiterKind;
  readonly windowMs: number;
  readonly log: Log;
}

type Variables = { Variables: { correlationId: string; key: StoredKey } };

/** The endpoints of specification §4, their keys (§5), errors (§7) and rates (§8), without a network. */
export function createApp(options: AppOptions): Hono<Variables> {
  const { world, cache, clock, log } = options;
  const stored = options.keys.map((key) => key.stored);
  const rate = (calls: number): Limiter => limiter(options.limiter, calls, options.windowMs);
  const rates = {
    metrics: rate(RATES.metrics.calls),
    reads: rate(RATES.reads.calls),
    writes: rate(RATES.writes.calls),
  };
  const app = new Hono<Variables>();

  app.use(async (c, next) => {
    const correlationId = randomUUID();
    c.set('correlationId', correlationId);
    await next();
    c.header('X-Correlation-Id', correlationId);
  });

  app.onError((thrown, c) => {
    const correlationId = c.get('correlationId');
    if (!(thrown instanceof Refusal)) {
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

  app.get('/', (c) => c.html(home(new URL(c.req.url).origin, options.keys, world)));

  app.use('/api/*', async (c, next) => {
    const key = authenticate(stored, c.req.header('Authorization'), world.now());
    c.set('key', key);
    const metrics = /^\/api\/orgs\/[^/]+\/analytics\//.test(c.req.path);
    const reading = c.req.method === 'GET' || c.req.method === 'HEAD';
    const wait = metrics
      ? rates.metrics.take(`key ${key.id}`, clock())
      : rates[reading ? 'reads' : 'writes'].take(`user ${key.owner.id}`, clock());
    if (wait > 0) {
      const seconds = Math.max(1, Math.ceil(wait / 1000));
      throw new Refusal(429, 'rate.throttled', `Too many requests: wait ${seconds} s.`, {
        headers: { 'Retry-After': String(seconds) },
      });
    }
    await next();
  });

  app.get('/api/orgs/', (c) => {
    const key = c.get('key');
    unscoped(key);
    const reached = [...world.tenants.values()].filter(({ spec }) => reaches(key, spec.id));
    return answer(c, JSON.stringify(reached.map(({ spec }) => organization(spec, world, c))));
  });

  app.get('/api/orgs/:org/', (c) => {
    const { spec } = tenantOf(c.req.param('org'), c.get('key'), world, 'records');
    return answer(c, JSON.stringify(organization(spec, world, c)));
  });

  app.get('/api/orgs/:org/analytics/metrics/', (c) => {
    const tenant = tenantOf(c.req.param('org'), c.get('key'), world, 'metrics');
    return answer(c, JSON.stringify(tenant.catalog()));
  });

  app.post('/api/orgs/:org/analytics/report/', async (c) => {
    const key = c.get('key');
    const tenant = tenantOf(c.req.param('org'), key, world, 'metrics');
    // A read-only key may call GET only (§5.4), unless it was made for metrics, which are read by this POST (§5.5).
    if (key.access === 'read' && key.scope === null) throw forbidden('This key is read-only: GET endpoints only.');
    const question = ask(await jsonBody(c), tenant, world);
    const name = `${tenant.spec.id} ${nameOf(question)}`;
    const cached = cache.get(name, clock());
    if (cached !== undefined) return answer(c, reportBody(cached.held, true, cached.secondsLeft));
    const { meta, rest } = report(question, tenant, world);
    const computed = { at: clock(), meta, rest: Buffer.from(rest) };
    cache.put(name, computed);
    return answer(c, reportBody(computed, false, null));
  });

  app.get(LIST, (c) => {
    const tenant = tenantOf(c.req.param('org'), c.get('key'), world, 'records');
    return answer(c, JSON.stringify(pageBody(listOf(c.req.param('list'), tenant, stored), new URL(c.req.url))));
  });

  app.get(`${LIST}:id/`, (c) => {
    const tenant = tenantOf(c.req.param('org'), c.get('key'), world, 'records');
    const found = listOf(c.req.param('list'), tenant, stored);
    const record = recordWith(found, c.req.param('id'));
    if (record === undefined) throw notFound('There is no such record in this organization.');
    return answer(c, JSON.stringify(record));
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
      throw new Refusal(405, 'method_not_allowed', `Only ${allow} is served here.`, { headers: { Allow: allow } });
    });
  }
  return app;
}

/** @param refreshRetryAfter seconds after which the report can be had anew; null when it is new (specification §2.8) */
function reportBody({ meta, rest }: HeldReport, cached: boolean, refreshRetryAfter: number | null): Buffer {
  const whole = JSON.stringify({ ...meta, cached, refresh_retry_after: refreshRetryAfter });
  return Buffer.concat([Buffer.from(`{"meta":${whole},`), rest, CLOSING]);
}
const CLOSING = Buffer.from('}');

/** JSON text, compressed for those who accept it. */
async function answer(c: Context<Variables>, json: string | Buffer): Promise<Response> {
  c.header('Content-Type', 'application/json');
  c.header('Vary', 'Accept-Encoding');
  const wanted = json.length >= SMALL && /\bgzip\b/.test(c.req.header('Accept-Encoding') ?? '');
  if (wanted) c.header('Content-Encoding', 'gzip');
  const body = wanted ? await zip(json, { level: 1 }) : json;
  return c.body(typeof body === 'string' ? body : new Uint8Array(body));
}

/** The body as JSON. Throws a 422 `Refusal`, also for another content type than §4 asks for. */
async function jsonBody(c: Context<Variables>): Promise<unknown> {
  const invalid = (detail: string) =>
    new Refusal(422, 'validation.failed', detail, {
      errors: [{ pointer: '', code: 'invalid', detail, metadata: {} }],
    });
  if (!/^application\/json\s*(;|$)/i.test(c.req.header('Content-Type') ?? '')) {
    throw invalid('Send the header "Content-Type: application/json".');
  }
  if (Number(c.req.header('Content-Length') ?? 0) > LARGEST_BODY) throw invalid('The body is too large.');
  const text = await c.req.text();
  if (text.length > LARGEST_BODY) throw invalid('The body is too large.');
  try {
    return JSON.parse(text);
  } catch {
    throw invalid('The body is not JSON.');
  }
}

function unscoped(key: StoredKey): void {
  if (key.scope !== null) throw forbidden(`This key is scoped to ${key.scope.join(', ')} and nothing else.`);
}

const reaches = (key: StoredKey, org: number): boolean => key.owner.roles.has(org) && (!key.scoped || key.home === org);

/** The organization of a path, if this key may do this there; else a 404 or 403 `Refusal` as in specification §7. */
function tenantOf(org: string, key: StoredKey, world: World, purpose: 'metrics' | 'records'): Tenant {
  const current = org === 'current' && purpose === 'metrics';
  const id = current ? key.home : /^\d{1,9}$/.test(org) ? Number(org) : Number.NaN;
  const tenant = world.tenants.get(id);
  if (tenant === undefined) throw notFound('There is no such organization.');
  if (key.scoped && key.home !== id) throw forbidden('This key belongs to another organization.');
  const role = ROLES.find((candidate) => candidate.id === key.owner.roles.get(id));
  if (role === undefined) throw forbidden("This key's owner is not a member of the organization.");
  if (purpose === 'records') unscoped(key);
  else if (!role.analytics || (key.scope !== null && !key.scope.includes('analytics.read'))) {
    throw forbidden('The permission analytics.read is needed.');
  }
  return tenant;
}

function listOf(name: string, tenant: Tenant, keys: readonly StoredKey[]) {
  const known: ListName | undefined = LISTS.find((candidate) => candidate === name);
  if (known === undefined) throw notFound('There is no such list.');
  return list(known, tenant.spec, tenant.view(), keys);
}

/** Specification §2.1, with the link fields that it does not name. */
function organization(spec: OrganizationSpec, world: World, c: Context<Variables>): Record<string, unknown> {
  const base = `${new URL(c.req.url).origin}/api/orgs/${spec.id}/`;
  const created = new Date(world.tenants.get(spec.id)?.view().history.start ?? 0).toISOString();
  const links = LISTS.map((name) => [`${name.replace('-', '_')}_url`, `${base}${name}/`]);
  return {
    id: spec.id,
    url: base,
    name: spec.name,
    image: null,
    ...Object.fromEntries(links),
    created_at: created,
    updated_at: created,
  };
}
