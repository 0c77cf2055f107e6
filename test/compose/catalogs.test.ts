import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/base/config/config.ts';
import { silentLog } from '../../src/base/log.ts';
import { createScope, type Scope } from '../../src/base/scope.ts';
import { Secret } from '../../src/base/secrets/secret.ts';
import { composePlanExplainer } from '../../src/compose/catalogs.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { reportDefinition } from '../support/queue-harness.ts';

const MAY_ASK = { mayFetch: true };

describe('the plan explainer of the admin route', () => {
  let sandbox: Sandbox;
  let redis: Redis;
  let prefix: string;
  let key: string;
  let scope: Scope;
  beforeAll(async () => {
    sandbox = await startSandbox();
    key = sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '';
    redis = new Redis(inject('redisUrl'));
  });
  beforeEach(() => {
    prefix = `{planning-${randomBytes(6).toString('hex')}}`;
    scope = createScope();
  });
  afterEach(() => scope.close());
  afterAll(async () => {
    redis.disconnect();
    await sandbox.close();
  });

  const frozen = reportDefinition('weekly', { cron: '0 8 * * MON' });
  const version = { ...frozen, settings: { ...frozen.settings, org: 'current' as const } };
  const planning = (env: Readonly<Record<string, string>>) =>
    composePlanExplainer(
      { config: readConfig(env), env, clock: systemClock, log: silentLog },
      { redis, prefix, orgs: () => new Map() },
      scope,
    );
  const withService = () => planning({ COMPLIANCE_API_URL: sandbox.url, ACME_KEY: key });
  const countRequests = () => sandbox.requests().length;

  it('requests a missing catalog once, and shares it with all processes', async () => {
    const before = countRequests();
    const document = await withService().explain(version, undefined, MAY_ASK);
    expect(document).toMatchObject({
      org: 'acme',
      report: 'weekly',
      tokens: 1,
      budget: { tokens: 29, waiting: 0 },
      slots: [{ timezone: 'Europe/Zurich' }, {}, {}, {}, {}],
    });
    const once = countRequests();
    expect(once).toBeGreaterThan(before);
    const alone = planning({ ACME_KEY: key });
    expect(await alone.explain(version, 'previous_month', { mayFetch: false })).toMatchObject({ report: 'weekly' });
    expect(await alone.getCachedCatalog(version.settings)).toMatchObject({ metrics: expect.arrayContaining([]) });
    expect(countRequests()).toBe(once);
  });

  it('requests a new catalog if the cached one lacks a new value, for callers with permission', async () => {
    const filters = [{ dimension: 'profile.group', op: 'in' as const, values: ['Partners'] }];
    const [section] = version.definition.sections;
    if (section?.metrics === undefined) throw new Error('a section of metrics');
    const sections = [{ ...section, metrics: ['profiles.created'], filters }];
    const partners = { ...version, definition: { ...version.definition, sections } };
    sandbox.setFaults([{ kind: 'old-catalog', count: 1 }]);
    await withService().explain(version, undefined, MAY_ASK);
    for (const name of await redis.keys(`${prefix}:catalog:*`)) await redis.pexpire(name, 3_000_000);
    const refused = { code: 'plan.invalid' };
    await expect(withService().explain(partners, undefined, { mayFetch: false })).rejects.toMatchObject(refused);
    await expect(planning({ ACME_KEY: key }).explain(partners, undefined, MAY_ASK)).rejects.toMatchObject(refused);
    const before = countRequests();
    expect(await withService().explain(partners, undefined, MAY_ASK)).toMatchObject({ report: 'weekly' });
    expect(countRequests() - before).toBe(1);
  });

  it('uses no token for callers without permission', async () => {
    const before = countRequests();
    await expect(withService().explain(version, undefined, { mayFetch: false })).rejects.toMatchObject({
      code: 'catalog.missing',
    });
    expect(countRequests()).toBe(before);
  });

  it('never requests a catalog for a comparison, and names what is missing without a URL or key', async () => {
    const before = countRequests();
    const alone = planning({ ACME_KEY: key });
    await expect(alone.explain(version, undefined, MAY_ASK)).rejects.toMatchObject({
      code: 'catalog.missing',
      next: expect.stringContaining('COMPLIANCE_API_URL'),
    });
    expect(await alone.getCachedCatalog(version.settings)).toContain('No metric catalog of acme is cached');
    expect(await withService().getCachedCatalog(version.settings)).toContain('No metric catalog of acme is cached');
    const keyless = planning({ COMPLIANCE_API_URL: sandbox.url });
    await expect(keyless.explain(version, undefined, MAY_ASK)).rejects.toMatchObject({ code: 'catalog.missing' });
    expect(await keyless.getCachedCatalog(version.settings)).toContain(
      'This process does not have the API key of acme',
    );
    expect(countRequests()).toBe(before);
  });

  it('fails at once if the next token is far away', async () => {
    const fingerprint = new Secret(key).fingerprint();
    const { sharedBudgets } = await import('../../src/services/budgets/budgets.ts');
    const budget = sharedBudgets(redis, prefix, systemClock)('metrics', { calls: 30, windowMs: 60_000 });
    await budget.penalize(fingerprint, Date.now() + 50_000, 'acme');
    await expect(withService().explain(version, undefined, MAY_ASK)).rejects.toMatchObject({
      code: 'catalog.missing',
      got: expect.stringContaining('a token expected at'),
    });
  });
});
