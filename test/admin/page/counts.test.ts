import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createAccess } from '../../../src/admin/access/access.ts';
import type { Principal } from '../../../src/admin/auth/tokens.ts';
import { redisProcessRegistry } from '../../../src/queue/process-registry.ts';
import { redisProcessReports } from '../../../src/queue/process-reports.ts';
import { countRunsByState } from '../../../src/queue/runs/run-counts.ts';
import { RETENTION_DAYS } from '../../../src/redis/keys.ts';
import type { RunOrder } from '../../../src/run/run-record.ts';
import { accessPorts, NO_RUNS } from '../../support/admin.ts';
import { createToken } from '../../support/authenticated-app.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { openPage } from '../../support/open-page.ts';
import { done, NOW, OPERATOR, processReports, runOf, runs, sent, VIEWER } from '../../support/page-data.ts';
import { anOrder, openQueueHarness, type QueueHarness } from '../../support/queue-harness.ts';

const DAY_MS = 86_400_000;
const anna = createToken('anna');
const ben = createToken('ben', { role: 'viewer', orgs: ['acme'] });

describe('the numbers of the page', () => {
  let harness: QueueHarness;
  beforeEach(async () => {
    harness = await openQueueHarness(manualClock(NOW));
  });
  afterEach(() => harness.close());

  const accessOf = (principal: Principal) => {
    const { producer: redis, prefix, runs: store, queue } = harness;
    return createAccess(
      accessPorts({
        runs: store,
        clock: manualClock(NOW),
        countRuns: (which) => countRunsByState(redis, prefix, which),
        waitingByPriority: queue.waitingByPriority,
        processes: redisProcessReports(redis, { prefix }).list,
        processRoles: redisProcessRegistry(redis, { prefix, self: 'reader' }).roles,
      }),
      principal,
    );
  };
  const open = async (change: Partial<RunOrder>): Promise<string> => {
    const order = anOrder({ createdAt: NOW, ...change });
    await harness.runs.open(order);
    await harness.queue.enqueue(order);
    return order.id;
  };

  it('count runs by state, organization, report and days, without expired ones', async () => {
    const failed = await open({});
    await harness.runs.update(failed, { state: 'failed' });
    await open({ report: 'daily' });
    await open({ createdAt: NOW - DAY_MS });
    await open({ org: 'globex' });
    await open({ createdAt: NOW - (RETENTION_DAYS + 1) * DAY_MS });
    const all = accessOf(OPERATOR);
    expect(await all.runCounts()).toEqual({ ...NO_RUNS, queued: 3, failed: 1 });
    expect(await accessOf(VIEWER).runCounts()).toEqual({ ...NO_RUNS, queued: 2, failed: 1 });
    expect(await all.runCounts({ org: 'acme', report: 'weekly' })).toEqual({ ...NO_RUNS, queued: 1, failed: 1 });
    expect(await all.runCounts({ since: NOW - DAY_MS, until: NOW })).toEqual({ ...NO_RUNS, queued: 1 });
    expect(await all.runCounts({ match: 'weekly' })).toBeNull();
    await expect(accessOf(VIEWER).runCounts({ org: 'globex' })).rejects.toMatchObject({ code: 'request.not_found' });
  });

  it('show waiting runs by priority to those who see all organizations', async () => {
    for (const priority of ['on_demand', 'scheduled', 'scheduled', 'backfill', 'backfill', 'backfill'] as const)
      await open({ priority });
    await open({ priority: 'backfill', org: 'globex' });
    expect(await accessOf(OPERATOR).waitingByPriority()).toEqual({ on_demand: 1, scheduled: 2, backfill: 4 });
    expect(await accessOf(VIEWER).waitingByPriority()).toBeNull();
  });

  it('list the processes with their versions, also those of 0.2.0, to those who see all organizations', async () => {
    const { producer: redis, prefix } = harness;
    const [report] = processReports;
    if (report === undefined) throw new Error('no sample');
    await redisProcessReports(redis, { prefix }).put(report);
    await redisProcessRegistry(redis, { prefix, self: report.self }).heartbeat(report.roles);
    // 0.2.0 registers without the suffix that says it signs events, and does not report.
    await redis.zadd(`${prefix}:present`, Date.now(), 'scheduler old-1:7:ab', Date.now(), 'worker old-1:7:ab');
    const found = await accessOf(OPERATOR).processes();
    expect(found.reports).toEqual([report]);
    expect(found.silent.map(({ self, roles }) => [self, [...roles].sort()])).toEqual([
      ['old-1:7:ab', ['scheduler', 'worker']],
    ]);
    await expect(accessOf(VIEWER).processes()).rejects.toMatchObject({ code: 'request.not_found' });
  });

  const get = async (path: string, change: Parameters<typeof openPage>[2] = () => ({}), who = anna) => {
    const openedPage = openPage({ redis: harness.producer, prefix: harness.prefix }, [anna.entry, ben.entry], change);
    const answer = await (await openedPage.visit(who.token)).send('GET', path);
    return { status: answer.status, html: await answer.text() };
  };
  const rowsOf = (html: string, id: string): number =>
    new RegExp(`id="${id}"[^>]*>(.*?)</tbody>`, 's').exec(html)?.[1]?.match(/<tr>/g)?.length ?? 0;

  it('are on the tabs of states, which keep the other filters and mark the chosen state', async () => {
    const { html } = await get('/runs?state=failed&org=acme');
    const tabs = /<nav class="tabs".*?<\/nav>/s.exec(html)?.[0] ?? '';
    expect(tabs).toMatch(/href="\/runs\?org=acme">All <small>7</);
    expect(tabs).toMatch(/href="\/runs\?org=acme&amp;state=failed" aria-current="page">Failed <small>1</);
    expect(tabs).not.toContain('state=queued');
    expect(html).toContain('<input type="hidden" name="state" value="failed"/>');
    const uncounted = /<nav class="tabs".*?<\/nav>/s.exec((await get('/runs?match=kpi')).html)?.[0] ?? '';
    expect(uncounted).toContain('state=queued');
    expect(uncounted).not.toContain('<small>');
  });

  it('replace the list of queued runs when it is long', async () => {
    const queued = Array.from({ length: 9 }, (_, index) =>
      runOf(`queued-${index}`, 'queued', { startedAt: null, finishedAt: null }),
    );
    const { html } = await get('/', () => ({
      runs: async ({ states, limit }) => ({
        runs: (states?.[0] === 'queued' ? queued : []).slice(0, limit),
        next: null,
      }),
      runCounts: async () => ({ ...NO_RUNS, queued: 5_000, running: 1 }),
      waitingByPriority: async () => ({ on_demand: 2, scheduled: 0, backfill: 4_998 }),
    }));
    const now = /<div id="active".*?<h2/s.exec(html)?.[0] ?? '';
    expect(now).toContain('<strong>5,000</strong> queued');
    expect(now).toContain('2 on demand, 4,998 backfill');
    expect(now).not.toContain('<progress');
  });

  it('fold the deliveries that arrived, and show the others', async () => {
    const rows = Array.from({ length: 40 }, (_, index) => ({
      ...sent,
      id: `${index}`.padStart(32, 'e'),
      recipient: `person${index}@acme.example`,
      state: index === 7 ? ('refused' as const) : ('sent' as const),
    }));
    const { html } = await get(`/runs/${done.id}`, () => ({
      deliveries: async () => ({ deliveries: rows, next: null }),
    }));
    expect([rowsOf(html, 'delivery-rows'), rowsOf(html, 'arrived-rows')]).toEqual([1, 39]);
    expect(html).toMatch(/<summary>39 deliveries arrived<\/summary>/);
    expect(html).toMatch(/39 recipients/);
  });

  it('explain why a slot did not or will not run', async () => {
    const { html } = await get('/slots');
    const skipped = runs.find(({ state }) => state === 'skipped');
    expect(html).toContain(skipped?.error?.message);
    expect(html).toContain('<code>docket run acme/weekly-kpi --period 2026-11-09..2026-11-15</code>');
    expect(html).toMatch(/by anna: The figures of the new scope/);
  });

  it('mark a process whose definitions differ, and are hidden from other users', async () => {
    const { html } = await get('/processes');
    expect(html.match(/class="state warn">[0-9a-f]{8}</g)).toEqual(['class="state warn">00aa4a1b<']);
    expect(html).toContain('read-only file system');
    const other = await get('/reports', () => ({}), ben);
    expect(other.html).not.toContain('href="/processes"');
  });
});
