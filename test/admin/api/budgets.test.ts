import { afterAll, beforeAll, expect, it } from 'vitest';
import { newToken, type TokenEntry } from '../../../src/admin/auth/tokens.ts';
import { Secret, secretSource } from '../../../src/base/secrets/secret.ts';
import { RATE_LIMITS } from '../../../src/contract/limits.ts';
import { sharedBudgets } from '../../../src/services/budgets/budgets.ts';
import { budgetOverview } from '../../../src/services/budgets/inspect-budgets.ts';
import { createTestAdmin } from '../../support/admin.ts';
import { loadedJobs } from '../../support/loaded-jobs.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { openQueueHarness, type QueueHarness, reportDefinition } from '../../support/queue-harness.ts';

const tokens = { acme: newToken(), all: newToken() };
const entries: TokenEntry[] = [
  { name: 'eyes', sha256: tokens.acme.sha256, role: 'viewer', orgs: ['acme'] },
  { name: 'ops', sha256: tokens.all.sha256, role: 'viewer', orgs: '*' },
];
const SHARED = 'shared.s3cr3t';
const NOW = Date.parse('2026-11-21T12:00:00Z');
const keyless = reportDefinition('weekly', undefined, 'keyless');
const jobs = loadedJobs(reportDefinition(), reportDefinition('weekly', undefined, 'rival'), {
  ...keyless,
  settings: { ...keyless.settings, api_key: { env: 'NOWHERE' } },
});

let harness: QueueHarness;
beforeAll(async () => {
  harness = await openQueueHarness();
});
afterAll(() => harness.close());

const get = async (as: keyof typeof tokens) => {
  const clock = manualClock(NOW);
  const budgetOf = sharedBudgets(harness.producer, harness.prefix, clock);
  const app = createTestAdmin(
    entries,
    {
      jobs: () => jobs,
      budgetsOf: (orgs) => budgetOverview(orgs, { secrets: secretSource({ ACME_KEY: SHARED }), budgetOf, clock }),
    },
    { clock },
  );
  const response = await app.request('/api/budgets', { headers: { authorization: `Bearer ${tokens[as].token}` } });
  expect(response.status).toBe(200);
  const text = await response.text();
  expect(text).not.toContain(SHARED);
  const body: unknown = JSON.parse(text);
  return body;
};

it('shows the budget of each visible organization’s key and when the next token is free, and hides other organizations that share the key', async () => {
  const clock = manualClock(NOW);
  const budget = sharedBudgets(harness.producer, harness.prefix, clock)('metrics', RATE_LIMITS.metrics);
  const key = new Secret(SHARED).fingerprint();
  const ask = (id: string) => budget.acquire({ key, id, org: 'acme', priority: 'scheduled', holdMs: 30_000 });
  for (let n = 0; n < 30; n += 1) await ask(`${n}`);
  await ask('waits');
  const line = {
    key,
    of: 'metrics',
    calls: 30,
    window_ms: 60_000,
    limit: 30,
    tokens: 0,
    in_flight: 30,
    waiting: 1,
    throttled: 0,
    blocked_until: null,
    slowed_until: null,
    next_token_at: '2026-11-21T12:01:00.000Z',
  };
  expect(await get('acme')).toEqual({
    at: '2026-11-21T12:00:00.000Z',
    budgets: [{ ...line, organizations: ['acme'] }],
    unknown: [],
  });
  expect(await get('all')).toMatchObject({
    budgets: [{ ...line, organizations: ['acme', 'rival'] }],
    unknown: [{ org: 'keyless' }],
  });
});

it('says until when a 429 blocks all calls', async () => {
  const clock = manualClock(NOW);
  const budget = sharedBudgets(harness.producer, harness.prefix, clock)('metrics', RATE_LIMITS.metrics);
  await budget.penalize(new Secret(SHARED).fingerprint(), NOW + 20_000, 'acme');
  expect(await get('acme')).toMatchObject({
    budgets: [{ blocked_until: expect.stringMatching(/^2026-11-21T12:00:/), throttled: 1, limit: 15 }],
  });
});
