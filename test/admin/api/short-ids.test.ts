import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newToken, type TokenEntry } from '../../../src/admin/auth/tokens.ts';
import type { AdminApp } from '../../../src/admin/hono-env.ts';
import { redisLiveProgress } from '../../../src/queue/runs/live-progress.ts';
import { createTestAdmin, NO_PACKS } from '../../support/admin.ts';
import { type DecisionHarness, decisionHarness } from '../../support/decision-harness.ts';
import { loadedJobs } from '../../support/loaded-jobs.ts';
import { anOrder, openQueueHarness, type QueueHarness, reportDefinition } from '../../support/queue-harness.ts';

const tokens = { ops: newToken(), rival: newToken() };
const entries: TokenEntry[] = [
  { name: 'ops', sha256: tokens.ops.sha256, role: 'operator', orgs: ['acme'] },
  { name: 'them', sha256: tokens.rival.sha256, role: 'operator', orgs: ['rival'] },
];

describe('short ids over the API', () => {
  let harness: QueueHarness;
  let desk: DecisionHarness;
  let app: AdminApp;
  let ended: Awaited<ReturnType<DecisionHarness['ended']>>;
  /** Two runs of acme and one of rival with the same first digits. */
  const alike = ['abcdef01a', 'abcdef01b', 'abcdef01c'].map((start) => start.padEnd(32, '0'));
  beforeAll(async () => {
    harness = await openQueueHarness();
    desk = decisionHarness(harness);
    const jobs = loadedJobs(reportDefinition());
    app = createTestAdmin(entries, {
      jobs: () => jobs,
      runs: harness.runs,
      trigger: harness.trigger,
      decisions: desk.decisions,
      live: redisLiveProgress(harness.producer, harness),
      archivedFiles: {
        ...NO_PACKS,
        files: async () => [{ name: 'a.csv', kind: 'file', type: 'text/csv', bytes: 1, sha256: null }],
      },
    });
    ended = await desk.ended('partly_delivered', ['refused']);
    for (const [index, id] of alike.entries()) {
      await harness.runs.open(anOrder({ id, org: index === 2 ? 'rival' : 'acme' }));
    }
  });
  afterAll(() => harness.close());

  const ask = async (path: string, as: keyof typeof tokens = 'ops', body?: unknown) => {
    const response = await app.request(path, {
      headers: { authorization: `Bearer ${tokens[as].token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const json = /json/.test(response.headers.get('content-type') ?? '') ? JSON.parse(text) : text;
    return { status: response.status, json, location: response.headers.get('location') };
  };
  const short = () => ended.id.slice(0, 8);

  it('name a run, its events, its files and its deliveries', async () => {
    expect(await ask(`/api/runs/${short()}`)).toMatchObject({ status: 200, json: { id: ended.id } });
    expect(await ask(`/api/runs/${short()}/files`)).toMatchObject({
      status: 200,
      json: { files: [{ href: `/api/runs/${ended.id}/files/a.csv` }] },
    });
    const events = await ask(`/api/runs/${short()}/events`);
    expect(events.json).toContain(ended.id);
    const { json } = await ask(`/api/deliveries?run=${short()}`);
    expect(json.deliveries).toMatchObject([{ id: ended.deliveries[0] }]);
    expect(await ask(`/api/deliveries/${short()}`)).toMatchObject({ status: 200, json: { id: ended.deliveries[0] } });
  });

  it('are accepted for decisions, and the response has the full id', async () => {
    const other = await desk.ended('partly_delivered', ['unknown']);
    const resolved = await ask(`/api/deliveries/${other.deliveries[0]?.slice(0, 20)}/resolve`, 'ops', {
      as: 'resend',
      reason: 'asked',
    });
    expect(resolved).toMatchObject({ status: 200, json: { id: other.deliveries[0], state: 'pending' } });
    const retried = await ask(`/api/runs/${short()}/retry`, 'ops', { reason: 'again' });
    expect(retried).toMatchObject({ status: 202, location: `/api/runs/${ended.id}`, json: { id: ended.id } });
  });

  it('that match several runs give 409 with the visible candidates', async () => {
    const { status, json } = await ask('/api/runs/abcdef01');
    expect({ status, code: json.code }).toEqual({ status: 409, code: 'run.ambiguous' });
    expect(json.got).toContain(alike[0]);
    expect(json.got).toContain(alike[1]);
    expect(json.got).not.toContain(alike[2]);
    expect(await ask('/api/runs/abcdef01', 'rival')).toMatchObject({ status: 200, json: { id: alike[2] } });
  });

  it('of another organization give the same 404 as unknown ones', async () => {
    const strange = await ask(`/api/runs/${alike[2]?.slice(0, 9)}`);
    const none = await ask('/api/runs/ffffffff0');
    expect(strange.status).toBe(404);
    expect({ ...strange.json, detail: '' }).toEqual({ ...none.json, detail: '' });
    const delivery = await ask(`/api/deliveries/${ended.deliveries[0]?.slice(0, 20)}`, 'rival');
    expect(delivery).toMatchObject({ status: 404, json: { code: 'request.not_found' } });
    const acted = await ask(`/api/runs/${short()}/cancel`, 'rival', { reason: 'x' });
    expect(acted).toMatchObject({ status: 404, json: { code: 'request.not_found' } });
  });

  it('that are too short give 422 with the required length', async () => {
    const { status, json } = await ask('/api/runs/abcdef0');
    expect({ status, code: json.code }).toEqual({ status: 422, code: 'usage.invalid' });
    expect(json.expected).toContain('8');
    expect((await ask('/api/deliveries/abc')).status).toBe(422);
    expect((await ask('/api/runs/none')).status).toBe(404);
  });
});
