import { beforeEach, expect, it } from 'vitest';
import { newToken, type TokenEntry } from '../../../src/admin/auth/tokens.ts';
import type { AdminApp } from '../../../src/admin/hono-env.ts';
import { createArchivedDeliveries } from '../../../src/services/listings/archived-deliveries.ts';
import { createTestAdmin } from '../../support/admin.ts';
import { loadedJobs } from '../../support/loaded-jobs.ts';
import { reportDefinition } from '../../support/queue-harness.ts';
import { testDeployment } from '../../support/test-deployment.ts';

const tokens = { all: newToken(), eyes: newToken(), operator: newToken() };
const entries: TokenEntry[] = [
  { name: 'root', sha256: tokens.all.sha256, role: 'operator', orgs: '*' },
  { name: 'eyes', sha256: tokens.eyes.sha256, role: 'viewer', orgs: '*' },
  { name: 'ops', sha256: tokens.operator.sha256, role: 'operator', orgs: ['acme'] },
];
let app: AdminApp;
let deployment: Awaited<ReturnType<typeof testDeployment>>;
beforeEach(async () => {
  deployment = await testDeployment();
  const jobs = loadedJobs(reportDefinition());
  app = createTestAdmin(entries, {
    ...deployment,
    archivedDeliveries: createArchivedDeliveries(deployment),
    jobs: () => jobs,
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

it('lets operators of all organizations deny and allow addresses; one invalid line rejects the whole list', async () => {
  const ana = { name: 'ana@acme.example', by: 'root', reason: 'left' };
  const list = 'ANA@acme.example\nbeta.example';
  const denied = await call('POST', '/api/denied', 'all', { list, reason: 'left' });
  expect(denied).toMatchObject({ status: 200, body: { denied: [ana, { name: 'beta.example' }] } });
  // The first reason is kept.
  expect(await call('POST', '/api/denied', 'all', { list, reason: 'x' })).toEqual({
    status: 200,
    body: { denied: [] },
  });
  const bad = await call('POST', '/api/denied', 'all', { list: 'bob@acme.example\nbob', reason: 'left' });
  expect(bad).toMatchObject({ status: 422, body: { code: 'usage.invalid', got: expect.stringContaining('line 2') } });
  expect(await call('GET', '/api/denied', 'eyes')).toMatchObject({ body: { denied: [ana, {}] } });
  expect((await call('POST', '/api/denied', 'eyes', { list, reason: 'x' })).status).toBe(403);
  for (const path of ['/api/denied', '/api/denied/remove'])
    expect((await call('POST', path, 'operator', { list, reason: 'x' })).status).toBe(404);
  expect((await call('GET', '/api/denied', 'operator')).status).toBe(404);
  const removed = await call('POST', '/api/denied/remove', 'all', { list: 'ana@ACME.example', reason: 'back' });
  expect(removed).toMatchObject({ status: 200, body: { denied: [ana] } });
  const { entries: audit } = await deployment.audit.list({ orgs: '*', includeGlobal: true, limit: 10 });
  expect(audit.map(({ event, why }) => `${event} ${why}`)).toEqual([
    'recipient.allowed ana@acme.example: back',
    'recipient.denied ana@acme.example, beta.example: left',
  ]);
});

it('answers what an address received and which definitions name it', async () => {
  const row = { run: 'a'.repeat(32), org: 'acme', report: 'weekly', target: '0-email', recipient: 'ana@acme.example' };
  expect(await call('GET', `/api/recipients?of=${row.recipient}`, 'operator')).toEqual({
    status: 200,
    body: { mentions: [], deliveries: [], next: null },
  });
  for (const path of ['/api/recipients', '/api/recipients?of=acme.example', '/api/recipients?of=Ana<ana@acme.example>'])
    expect((await call('GET', path, 'operator')).status, path).toBe(422);
});
