import { beforeEach, expect, it } from 'vitest';
import { newToken, type TokenEntry } from '../../../src/admin/auth/tokens.ts';
import type { AdminApp } from '../../../src/admin/hono-env.ts';
import { createDecisionService } from '../../../src/services/deliveries/decisions.ts';
import { createTestAdmin } from '../../support/admin.ts';
import { loadedJobs } from '../../support/loaded-jobs.ts';
import { reportDefinition } from '../../support/queue-harness.ts';
import { testDeployment } from '../../support/test-deployment.ts';

const tokens = { all: newToken(), operator: newToken(), viewer: newToken(), rival: newToken() };
const entries: TokenEntry[] = [
  { name: 'root', sha256: tokens.all.sha256, role: 'operator', orgs: '*' },
  { name: 'ops', sha256: tokens.operator.sha256, role: 'operator', orgs: ['acme'] },
  { name: 'eyes', sha256: tokens.viewer.sha256, role: 'viewer', orgs: ['acme'] },
  { name: 'them', sha256: tokens.rival.sha256, role: 'operator', orgs: ['rival'] },
];
let app: AdminApp;
beforeEach(async () => {
  const deployment = await testDeployment();
  const jobs = loadedJobs(reportDefinition(), reportDefinition('weekly', undefined, 'rival'));
  app = createTestAdmin(entries, {
    ...deployment,
    jobs: () => jobs,
    decisions: createDecisionService(deployment),
  });
});

const call = async (method: string, path: string, as: keyof typeof tokens, body?: unknown) => {
  const response = await app.request(path, {
    method,
    headers: { authorization: `Bearer ${tokens[as].token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer: unknown = await response.json();
  return { status: response.status, body: answer };
};
const acme = { organization: 'acme', reason: 'wrong figures went out' };
const everything = { organization: null, reason: 'an incident' };

it('lets an operator stop and release the deliveries of an organization', async () => {
  const stop = { kind: 'stop', organization: 'acme', by: 'ops', reason: acme.reason };
  expect(await call('POST', '/api/switches/stop', 'operator', acme)).toMatchObject({ status: 200, body: stop });
  // The first reason is kept.
  expect(await call('POST', '/api/switches/stop', 'all', { ...acme, reason: 'later' })).toMatchObject({ body: stop });
  expect(await call('GET', '/api/switches', 'viewer')).toMatchObject({
    status: 200,
    body: { switches: [stop], waiting: [] },
  });
  expect(await call('GET', '/api/switches', 'rival')).toEqual({ status: 200, body: { switches: [], waiting: [] } });
  const released = { released: stop, continued: [], cancelled: [] };
  expect(await call('POST', '/api/switches/stop/release', 'operator', acme)).toMatchObject({ body: released });
  expect(await call('POST', '/api/switches/stop/release', 'operator', acme)).toMatchObject({
    body: { released: null },
  });
  expect(await call('GET', '/api/switches', 'viewer')).toMatchObject({ body: { switches: [] } });
});

it('lets only operators of all organizations hold everything, which every organization can see', async () => {
  const hold = { kind: 'hold', organization: null, by: 'root', reason: everything.reason };
  expect(await call('POST', '/api/switches/hold', 'operator', everything)).toMatchObject({ status: 404 });
  expect(await call('POST', '/api/switches/hold', 'all', everything)).toMatchObject({ status: 200, body: hold });
  expect(await call('GET', '/api/switches', 'rival')).toMatchObject({ body: { switches: [hold] } });
  expect(await call('POST', '/api/switches/hold/release', 'operator', everything)).toMatchObject({ status: 404 });
  expect(await call('POST', '/api/switches/hold/release', 'all', everything)).toMatchObject({
    body: { released: hold },
  });
});

it('rejects viewers, other and unknown organizations, other kinds and a missing reason', async () => {
  const status = async (...args: Parameters<typeof call>) => (await call(...args)).status;
  expect(await status('POST', '/api/switches/stop', 'viewer', acme)).toBe(403);
  expect(await status('POST', '/api/switches/stop', 'rival', acme)).toBe(404);
  expect(await status('POST', '/api/switches/stop', 'all', { ...acme, organization: 'nobody' })).toBe(404);
  expect(await status('POST', '/api/switches/pause', 'all', acme)).toBe(404);
  expect(await status('POST', '/api/switches/stop', 'all', { organization: 'acme' })).toBe(422);
  expect(await call('GET', '/api/switches', 'all')).toMatchObject({ body: { switches: [] } });
});
