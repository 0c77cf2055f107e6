import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { newToken, type TokenEntry } from '../../../src/admin/auth/tokens.ts';
import type { AdminApp } from '../../../src/admin/hono-env.ts';
import { type Pauses, redisPauses } from '../../../src/queue/schedules/pauses.ts';
import { redisAuditLog } from '../../../src/services/audit-log.ts';
import { createTestAdmin } from '../../support/admin.ts';
import { loadedJobs } from '../../support/loaded-jobs.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { openQueueHarness, type QueueHarness, recordingLog, reportDefinition } from '../../support/queue-harness.ts';

const NOW = Date.parse('2026-11-16T07:00:00Z');
const tokens = { operator: newToken(), viewer: newToken(), rival: newToken() };
const entries: TokenEntry[] = [
  { name: 'ops', sha256: tokens.operator.sha256, role: 'operator', orgs: ['acme'] },
  { name: 'eyes', sha256: tokens.viewer.sha256, role: 'viewer', orgs: ['acme'] },
  { name: 'them', sha256: tokens.rival.sha256, role: 'operator', orgs: ['rival'] },
];
const log = recordingLog();
const clock = manualClock(NOW);
let harness: QueueHarness;
let pauses: Pauses;
let app: AdminApp;
beforeAll(async () => {
  harness = await openQueueHarness();
  pauses = redisPauses(harness.producer, harness);
  const jobs = loadedJobs(reportDefinition(), reportDefinition('weekly', undefined, 'rival'));
  const audit = redisAuditLog(harness.producer, { prefix: harness.prefix, clock, log });
  app = createTestAdmin(entries, { jobs: () => jobs, pauses, audit }, { clock, log });
});
afterEach(async () => {
  for (const of of await pauses.list()) await pauses.lift(of, 'test', 'over');
});
afterAll(() => harness.close());

const call = async (method: string, path: string, as: keyof typeof tokens, body?: unknown) => {
  const response = await app.request(path, {
    method,
    headers: { authorization: `Bearer ${tokens[as].token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer: unknown = await response.json();
  return { status: response.status, body: answer };
};
const because = { reason: 'figures are being checked' };

it('lets an operator pause and resume an organization and a report, and lists the pauses with name and reason', async () => {
  const org = {
    organization: 'acme',
    report: null,
    who: 'ops',
    why: because.reason,
    since: '2026-11-16T07:00:00.000Z',
  };
  const report = { ...org, report: 'weekly' };
  expect(await call('POST', '/api/organizations/acme/pause', 'operator', because)).toMatchObject({
    status: 200,
    body: org,
  });
  expect(await call('POST', '/api/reports/acme/weekly/pause', 'operator', because)).toMatchObject({
    status: 200,
    body: report,
  });
  // The first reason is kept.
  expect(await call('POST', '/api/reports/acme/weekly/pause', 'operator', { reason: 'other' })).toMatchObject({
    status: 200,
    body: report,
  });
  expect(await call('GET', '/api/pauses', 'viewer')).toMatchObject({ status: 200, body: { pauses: [org, report] } });
  expect(await call('GET', '/api/pauses', 'rival')).toEqual({ status: 200, body: { pauses: [] } });

  expect(await call('POST', '/api/organizations/acme/resume', 'operator', { reason: 'checked' })).toMatchObject({
    status: 200,
    body: { lifted: [org] },
  });
  expect(await call('POST', '/api/organizations/acme/resume', 'operator', { reason: 'checked' })).toMatchObject({
    body: { lifted: [] },
  });
  expect(await call('POST', '/api/reports/acme/weekly/resume', 'operator', { reason: 'checked' })).toMatchObject({
    body: { lifted: [report] },
  });
  expect(await pauses.history(1)).toMatchObject([{ what: 'resume', report: 'weekly', who: 'ops', why: 'checked' }]);
  for (const message of ['Scheduled runs paused', 'Scheduled runs resumed']) {
    expect(log.lines).toContainEqual(expect.objectContaining({ message, org: 'acme', report: 'weekly', who: 'ops' }));
    // A request that changes nothing is not logged: one line for the organization, one for the report.
    expect(log.lines.filter((line) => line.message === message)).toHaveLength(2);
  }
});

it('answers 404 for another organization or an unknown report, and does not let a viewer pause', async () => {
  for (const what of ['pause', 'resume']) {
    for (const path of ['organizations/acme', 'reports/acme/weekly']) {
      expect(await call('POST', `/api/${path}/${what}`, 'rival', because)).toMatchObject({ status: 404 });
      expect(await call('POST', `/api/${path}/${what}`, 'viewer', because)).toMatchObject({ status: 403 });
      expect(await call('POST', `/api/${path}/${what}`, 'operator', {})).toMatchObject({ status: 422 });
      expect(await call('GET', `/api/${path}/${what}`, 'operator')).toMatchObject({ status: 405 });
    }
  }
  expect(await call('POST', '/api/organizations/nobody/pause', 'operator', because)).toMatchObject({ status: 404 });
  expect(await call('POST', '/api/reports/acme/gone/pause', 'operator', because)).toMatchObject({ status: 404 });
  expect(await pauses.list()).toEqual([]);
});

it('lifts the pause of a report that no longer exists', async () => {
  await pauses.put({ org: 'acme', report: 'gone', who: 'ben', why: 'w', since: NOW, key: null, run: null });
  expect(await call('POST', '/api/reports/acme/gone/resume', 'operator', because)).toMatchObject({
    status: 200,
    body: { lifted: [{ report: 'gone' }] },
  });
});
