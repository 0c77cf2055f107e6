import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newToken, type TokenEntry } from '../../../src/admin/auth/tokens.ts';
import type { AdminApp } from '../../../src/admin/hono-env.ts';
import type { AuditEntry } from '../../../src/services/audit-log.ts';
import { createTestAdmin, NO_AUDIT } from '../../support/admin.ts';
import { type DecisionHarness, decisionHarness } from '../../support/decision-harness.ts';
import { openQueueHarness, type QueueHarness, recordingLog } from '../../support/queue-harness.ts';

const tokens = { operator: newToken(), viewer: newToken(), rival: newToken() };
const entries: TokenEntry[] = [
  { name: 'ops', sha256: tokens.operator.sha256, role: 'operator', orgs: ['acme'] },
  { name: 'eyes', sha256: tokens.viewer.sha256, role: 'viewer', orgs: ['acme'] },
  { name: 'them', sha256: tokens.rival.sha256, role: 'operator', orgs: ['rival'] },
];

describe('the deliveries API', () => {
  const log = recordingLog();
  const audited: AuditEntry[] = [];
  let harness: QueueHarness;
  let desk: DecisionHarness;
  let app: AdminApp;
  beforeAll(async () => {
    harness = await openQueueHarness();
    const audit = { ...NO_AUDIT, record: async (entry: AuditEntry) => void audited.push(entry) };
    desk = decisionHarness(harness, { log, audit });
    app = createTestAdmin(entries, { runs: harness.runs, decisions: desk.decisions }, { log });
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
  const decision = { as: 'sent', reason: 'she has it' };

  it('lists the deliveries that the token may see, by state', async () => {
    const { deliveries } = await desk.ended('partly_delivered', ['sent', 'unknown']);
    const [, unknown = ''] = deliveries;
    const own = await call('GET', '/api/deliveries?state=unknown', 'viewer');
    expect(own).toMatchObject({
      status: 200,
      body: { deliveries: [{ id: unknown, state: 'unknown', decisions: [] }] },
    });
    expect(await call('GET', '/api/deliveries?state=unknown', 'rival')).toMatchObject({ body: { deliveries: [] } });
    expect(await call('GET', '/api/deliveries?org=acme', 'rival')).toMatchObject({ status: 404 });
    expect(await call('GET', `/api/deliveries/${unknown}`, 'viewer')).toMatchObject({
      status: 200,
      body: { id: unknown },
    });
    expect(await call('GET', '/api/deliveries?state=lost', 'viewer')).toMatchObject({ status: 422 });
  });

  it('lets an operator decide, records the token’s name and the reason, and logs the decision', async () => {
    const { id: run, deliveries } = await desk.ended('partly_delivered', ['sent', 'unknown', 'unknown']);
    const [, first = '', second = ''] = deliveries;
    expect(await call('POST', `/api/deliveries/${first}/resolve`, 'operator', decision)).toMatchObject({
      status: 200,
      body: { id: first, state: 'sent', decisions: [{ to: 'sent', by: 'ops', reason: 'she has it' }] },
    });
    expect(log.lines).toContainEqual(
      expect.objectContaining({ message: 'Delivery resolved', delivery: first, who: 'ops' }),
    );
    const again = { as: 'resend', reason: 'not there' };
    expect(await call('POST', `/api/deliveries/${second}/resolve`, 'operator', again)).toMatchObject({
      status: 200,
      body: { state: 'pending', epoch: 2 },
    });
    expect(await call('GET', `/api/runs/${run}`, 'viewer')).toMatchObject({
      body: { state: 'queued', reopened: [{ what: 'resend', by: 'ops', reason: 'not there' }] },
    });
    expect(await call('POST', `/api/deliveries/${first}/resolve`, 'operator', decision)).toMatchObject({
      status: 409,
      body: { code: 'delivery.conflict', got: 'sent' },
    });
  });

  it('decides about several deliveries of a run together, and audits each', async () => {
    const { id: run, deliveries } = await desk.ended('partly_delivered', ['sent', 'unknown', 'unknown', 'unknown']);
    const path = `/api/runs/${run.slice(0, 16)}/deliveries/resolve`;
    const body = { ...decision, deliveries: deliveries.slice(1, 3) };
    expect(await call('POST', path, 'rival', body)).toMatchObject({ status: 404 });
    expect(await call('POST', path, 'viewer', body)).toMatchObject({ status: 403 });
    for (const bad of [
      { ...body, deliveries: [] },
      { ...body, deliveries: 'some' },
      { ...body, deliveries: ['1'] },
      decision,
    ]) {
      expect(await call('POST', path, 'operator', bad)).toMatchObject({ status: 422 });
    }
    expect(await call('POST', path, 'operator', body)).toMatchObject({
      status: 200,
      body: {
        run: { id: run, state: 'partly_delivered' },
        deliveries: [
          { id: deliveries[1], state: 'sent' },
          { id: deliveries[2], state: 'sent' },
        ],
      },
    });
    expect(await call('POST', path, 'operator', body)).toMatchObject({
      status: 409,
      body: { code: 'delivery.conflict' },
    });
    expect(await call('POST', path, 'operator', { ...decision, deliveries: 'all' })).toMatchObject({
      status: 200,
      body: { run: { id: run, state: 'queued' }, deliveries: [{ id: deliveries[3] }] },
    });
    for (const delivery of deliveries.slice(1)) {
      expect(audited).toContainEqual(expect.objectContaining({ event: 'delivery.resolved', delivery, who: 'ops' }));
    }
  });

  it('answers 404 to another organization, and does not let a viewer decide', async () => {
    const { id: run, deliveries } = await desk.ended('partly_delivered', ['sent', 'unknown']);
    const path = `/api/deliveries/${deliveries[1]}`;
    expect(await call('GET', path, 'rival')).toMatchObject({ status: 404 });
    expect(await call('POST', `${path}/resolve`, 'rival', decision)).toMatchObject({ status: 404 });
    expect(await call('POST', `/api/deliveries/${'f'.repeat(32)}/resolve`, 'operator', decision)).toMatchObject({
      status: 404,
    });
    expect(await call('POST', `${path}/resolve`, 'viewer', decision)).toMatchObject({ status: 403 });
    for (const what of ['retry', 'release', 'cancel']) {
      expect(await call('POST', `/api/runs/${run}/${what}`, 'rival', { reason: 'r' })).toMatchObject({ status: 404 });
      expect(await call('POST', `/api/runs/${run}/${what}`, 'viewer', { reason: 'r' })).toMatchObject({ status: 403 });
    }
    expect((await desk.decisions.find(deliveries[1] ?? ''))?.state).toBe('unknown');
  });

  it.each([{}, { as: 'sent' }, { as: 'sent', reason: ' ' }, { as: 'lost', reason: 'r' }, { ...decision, more: 1 }])(
    'refuses %j',
    async (body) => {
      const { deliveries } = await desk.ended('partly_delivered', ['unknown']);
      expect(await call('POST', `/api/deliveries/${deliveries[0]}/resolve`, 'operator', body)).toMatchObject({
        status: 422,
      });
    },
  );

  it('releases a held pack and retries a failed run, once', async () => {
    const held = await desk.ended('held');
    const failed = await desk.ended('failed', ['sent', 'pending']);
    for (const [what, { id }] of [
      ['release', held],
      ['retry', failed],
    ] as const) {
      const path = `/api/runs/${id}/${what}`;
      expect(await call('POST', path, 'operator', { reason: 'the board knows' })).toMatchObject({
        status: 202,
        body: { id, state: 'queued', reopened: [{ what, by: 'ops', reason: 'the board knows' }] },
      });
      expect(await call('POST', path, 'operator', { reason: 'again' })).toMatchObject({ status: 409 });
    }
  });

  it('cancels a run that has not ended, and says who cancelled it', async () => {
    const { id } = await desk.ended('queued');
    const path = `/api/runs/${id}/cancel`;
    const cancelled = { state: 'cancelled', cancel: { by: 'ops', reason: 'wrong recipients' } };
    for (let n = 0; n < 2; n += 1) {
      expect(await call('POST', path, 'operator', { reason: 'wrong recipients' })).toMatchObject({
        status: 202,
        body: { id, ...cancelled, error: { code: 'run.cancelled' } },
      });
    }
    const { id: done } = await desk.ended('done');
    expect(await call('POST', `/api/runs/${done}/cancel`, 'operator', { reason: 'r' })).toMatchObject({ status: 409 });
  });
});
