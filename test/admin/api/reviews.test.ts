import { beforeEach, expect, test } from 'vitest';
import { newToken, type TokenEntry } from '../../../src/admin/auth/tokens.ts';
import type { AdminApp } from '../../../src/admin/hono-env.ts';
import type { AuditEntry } from '../../../src/services/audit-log.ts';
import type { EarlierDelivery } from '../../../src/services/runs/already-delivered.ts';
import { createTestAdmin, NO_AUDIT } from '../../support/admin.ts';
import { fake } from '../../support/fake.ts';
import { definitionOf } from '../../support/reports.ts';
import { awaitingRun, REVIEW_INPUTS, type ReviewHarness, reviewHarness } from '../../support/review-harness.ts';

const RUN = awaitingRun();
const tokens = { mia: newToken(), anna: newToken(), ben: newToken(), rival: newToken() };
const entries: TokenEntry[] = [
  { name: 'mia', sha256: tokens.mia.sha256, role: 'viewer', orgs: ['acme'] },
  { name: 'anna', sha256: tokens.anna.sha256, role: 'operator', orgs: ['acme'] },
  { name: 'ben', sha256: tokens.ben.sha256, role: 'viewer', orgs: ['acme'] },
  { name: 'rival', sha256: tokens.rival.sha256, role: 'operator', orgs: ['rival'] },
];

let harness: ReviewHarness;
let app: AdminApp;
let content: string;
let delivered: EarlierDelivery | undefined;
let audited: AuditEntry[];
beforeEach(async () => {
  delivered = undefined;
  const definition = definitionOf([{ id: 'onboarding', metrics: ['profiles.created'] }]);
  harness = reviewHarness({
    definition: { ...definition, deliveries: [{ email: { to: ['board@acme.example'] } }] as never },
    findDelivered: async () => delivered,
    audit: { ...NO_AUDIT, record: async (entry) => void audited.push(entry) },
  });
  audited = [];
  content = await harness.reviewed(RUN);
  const { records, service } = harness;
  app = createTestAdmin(entries, {
    reviewService: service,
    runs: fake({
      get: async (id) => records.get(id),
      list: async () => [...records.values()],
      listAndCount: async () => ({ runs: [], total: 0 }),
      findIdsByPrefix: async () => [],
    }),
  });
});

const ask = async (as: keyof typeof tokens, method: string, path: string, body?: object) => {
  const response = await app.request(`/api/runs/${RUN.id}${path}`, {
    method,
    headers: { authorization: `Bearer ${tokens[as].token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
};
const approval = (of = content) => ({ content: of, reason: 'checked' });

test('a viewer whom the report names approves, and the audit log names the content', async () => {
  expect(await ask('mia', 'GET', '/review')).toMatchObject({
    status: 200,
    body: { phase: 'approval', content, refusal: null, reviewers: ['Mia Lro', 'cfo@acme.example'] },
  });
  expect(await ask('mia', 'POST', '/approve', approval(content.slice(0, 12)))).toMatchObject({
    status: 200,
    body: { phase: 'ready', approvals: [{ name: 'Mia Lro', reason: 'checked' }] },
  });
  expect(audited).toMatchObject([
    { event: 'run.approved', who: 'mia', run: RUN.id, why: `content ${content.slice(0, 16)}: checked` },
  ]);
});

test('approving a period that was delivered meanwhile is a conflict, unless the approver sets `again`', async () => {
  delivered = { run: 'f'.repeat(32), period: RUN.period, at: 5, sent: { email: 2 }, uncertain: 0 };
  expect((await ask('mia', 'GET', '/review')).body.already_delivered).toContain('2 people');
  expect(await ask('mia', 'POST', '/approve', approval())).toMatchObject({
    status: 409,
    body: { code: 'already_delivered', delivered: { run: 'f'.repeat(32), people: 2 } },
  });
  expect(await ask('mia', 'POST', '/approve', { ...approval(), again: true })).toMatchObject({
    status: 200,
    body: { phase: 'ready', already_delivered: null },
  });
  expect(audited).toMatchObject([{ event: 'run.approved', why: expect.stringContaining('delivered again') }]);
});

test('nobody can approve or reject unless the report names them, whatever their role', async () => {
  for (const as of ['anna', 'ben'] as const) {
    const refused = { status: 403, body: { code: 'review.not_allowed' } };
    expect(await ask(as, 'POST', '/approve', approval())).toMatchObject(refused);
    expect(await ask(as, 'POST', '/reject', approval())).toMatchObject(refused);
  }
  expect(audited).toEqual([]);
  expect((await harness.reviews.events(RUN)).map(({ type }) => type)).toEqual(['figures']);
});

test('a comment needs the role operator, and changes the content', async () => {
  const text = 'Up.';
  expect(await ask('mia', 'PUT', '/comments/onboarding', { text })).toMatchObject({
    status: 403,
    body: { code: 'auth.forbidden' },
  });
  const written = await ask('anna', 'PUT', '/comments/onboarding', { text });
  expect(written).toMatchObject({
    status: 200,
    body: { review: { comments: [{ section: 'onboarding', text, author: 'anna', version: 1 }] }, warnings: [] },
  });
  expect(await ask('mia', 'POST', '/approve', approval())).toMatchObject({
    status: 409,
    body: { code: 'review.content_changed' },
  });
  expect(await ask('anna', 'DELETE', '/comments/onboarding')).toMatchObject({ status: 200 });
  expect(await ask('anna', 'PUT', '/comments/_', { text: ' ' })).toMatchObject({
    status: 422,
    body: { code: 'review.comment_invalid' },
  });
  expect(audited.map(({ event, why }) => [event, why])).toEqual([
    ['run.commented', 'on section onboarding'],
    ['run.commented', 'on section onboarding, withdrawn'],
  ]);
});

test('a rejection with refetch fetches the figures again', async () => {
  const rejected = await ask('mia', 'POST', '/reject', { ...approval(), refetch: true });
  expect(rejected).toMatchObject({ status: 200, body: { phase: 'figures' } });
  expect(harness.requeued).toEqual([RUN.id]);
  expect(audited).toMatchObject([{ event: 'run.rejected' }]);
});

test('an approver names a deputy, who then approves; the audit log records both', async () => {
  content = await harness.reviewed(RUN, {
    ...REVIEW_INPUTS,
    people: { ...REVIEW_INPUTS.people, dora: { name: 'Dora', tokens: ['ben'], accounts: [] } },
  });
  const request = { to: 'dora', until: '2026-11-30', reason: 'on leave' };
  expect(await ask('anna', 'POST', '/delegate', request)).toMatchObject({ status: 403 });
  expect(await ask('mia', 'POST', '/delegate', { ...request, until: 'friday' })).toMatchObject({ status: 422 });
  expect(await ask('mia', 'POST', '/delegate', request)).toMatchObject({
    status: 200,
    body: {
      reviewers: ['Mia Lro', 'cfo@acme.example', 'Dora for Mia Lro'],
      delegations: [{ from: 'Mia Lro', to: 'Dora', by: 'Mia Lro', reason: 'on leave' }],
    },
  });
  expect(await ask('ben', 'POST', '/approve', approval())).toMatchObject({
    status: 200,
    body: { phase: 'ready', approvals: [{ name: 'Dora', for: 'Mia Lro' }] },
  });
  expect(audited.map(({ event, why }) => [event, why?.split(': ')[1]])).toEqual([
    ['run.delegated', 'on leave'],
    ['run.approved', 'checked'],
  ]);
});

test('another organization gets 404 for every request about the review', async () => {
  for (const [method, path, body] of [
    ['GET', '/review'],
    ['GET', '/review/preview'],
    ['GET', '/review/files/a.csv'],
    ['PUT', '/comments/_', { text: 'x' }],
    ['POST', '/approve', approval()],
    ['POST', '/reject', approval()],
    ['POST', '/delegate', { to: 'dora', reason: 'on leave' }],
  ] as const) {
    expect(await ask('rival', method, path, body)).toMatchObject({ status: 404, body: { code: 'request.not_found' } });
  }
  expect(audited).toEqual([]);
});
