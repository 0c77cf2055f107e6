import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { z } from 'zod';
import { redisSessions } from '../../src/admin/auth/sessions.ts';
import { type BullBoard, type BullBoardPackages, openBullBoard } from '../../src/admin/bull-board.ts';
import { systemClock } from '../../src/base/clock.ts';
import { DocketError } from '../../src/base/error.ts';
import { silentLog } from '../../src/base/log.ts';
import { fail } from '../../src/base/outcome.ts';
import { type RunQueue, runQueue } from '../../src/queue/jobs/run-queue.ts';
import { startWorker } from '../../src/queue/jobs/worker.ts';
import { openRedis } from '../../src/redis/connection.ts';
import { redisKeys } from '../../src/redis/keys.ts';
import { createTestAdmin, NO_AUDIT } from '../support/admin.ts';
import { cookieClient, createToken } from '../support/authenticated-app.ts';
import { createPageAuth } from '../support/page-auth.ts';
import { anOrder, onDemand, openQueueHarness, randomPrefix, reportDefinition } from '../support/queue-harness.ts';

const jobsSchema = z.object({
  queues: z.array(
    z.looseObject({ name: z.string(), readOnlyMode: z.boolean(), jobs: z.array(z.record(z.string(), z.unknown())) }),
  ),
});
const QUEUES = '/queues/api/queues?activeQueue=runs&jobsPerPage=10';

describe('Bull Board', () => {
  const ben = createToken('ben', { role: 'viewer' });
  const anna = createToken('anna', { orgs: ['acme'] });
  const prefix = randomPrefix();
  const order = anOrder();
  let redis: Redis;
  let queue: RunQueue;
  let board: BullBoard;
  beforeAll(async () => {
    redis = new Redis(inject('redisUrl'));
    queue = runQueue(redis, { prefix });
    await queue.enqueue(order);
    board = await openBullBoard(redis, { prefix });
  });
  afterAll(async () => {
    await board?.close();
    await queue.close();
    redis.disconnect();
  });

  const openBoard = (shown: BullBoard | undefined) => {
    const entries = [ben.entry, anna.entry];
    const authApp = createPageAuth(entries, { clock: systemClock, log: silentLog });
    const sessions = redisSessions({ redis, prefix, ...authApp, audit: NO_AUDIT, clock: systemClock });
    return createTestAdmin(entries, {}, { auth: { ...authApp, sessions }, board: shown });
  };
  const visit = async (token: string, shown: BullBoard | 'off' = board) => {
    const browser = cookieClient({ app: openBoard(shown === 'off' ? undefined : shown) });
    await browser.send('POST', '/sign-in', { body: { token } });
    const front = await (await browser.send('GET', '/')).text();
    return { ...browser, front, csrf: /name="csrf" value="([^"]+)"/.exec(front)?.[1] ?? '' };
  };

  it('is off by default', async () => {
    const { send, front } = await visit(ben.token, 'off');
    for (const path of ['/queues', '/queues/', QUEUES]) expect((await send('GET', path)).status).toBe(404);
    expect(front).not.toContain('/queues');
  });

  it('shows a viewer of all organizations the queues, but only the run and the organization of each job', async () => {
    const { send, front } = await visit(ben.token);
    expect(front).toContain('<a href="/queues">');
    const { queues } = jobsSchema.parse(await (await send('GET', QUEUES)).json());
    expect(queues.map(({ name, readOnlyMode }) => [name, readOnlyMode])).toEqual([
      ['runs', true],
      ['ticks', true],
    ]);
    const [job] = queues[0]!.jobs;
    expect(job).toMatchObject({
      id: order.id,
      name: order.org,
      data: { run: order.id },
      stacktrace: [],
      externalUrl: { href: `/runs/${order.id}` },
    });
    expect(Object.keys(z.record(z.string(), z.unknown()).parse(job?.data))).toEqual(['run']);
    const one = await send('GET', `/queues/api/queues/runs/${order.id}`);
    expect(one.status).toBe(200);
    expect(await one.text()).toContain(order.id);
  });

  it('shows only the error code of a failed run, neither message nor stack', async () => {
    const harness = await openQueueHarness();
    const shown = await openBullBoard(harness.producer, { prefix: harness.prefix });
    const worker = startWorker({
      connection: harness.worker,
      prefix: harness.prefix,
      store: harness.runs,
      execute: async () => fail(new DocketError('internal.defect', 'the figure 8914', { retryable: false })),
      clock: systemClock,
      log: silentLog,
      concurrency: 1,
    });
    const { record } = await harness.trigger(onDemand(reportDefinition()));
    let text = '';
    // Until the job has ended in the queue.
    while (!text.includes('"finishedOn":')) {
      text = await (await shown.app.request(`/api/queues/runs/${record.id}`)).text();
    }
    expect(JSON.parse(text)).toMatchObject({
      status: 'failed',
      job: { failedReason: 'internal.defect', stacktrace: [], data: { run: record.id }, returnValue: null },
    });
    expect(text).not.toMatch(/8914|run-job|node_modules/);
    await worker.close(0);
    await shown.close();
    await harness.close();
  });

  it('has its own content security policy, without other hosts and inline scripts', async () => {
    const { send } = await visit(ben.token);
    const shown = await send('GET', '/queues');
    expect(shown.status).toBe(200);
    const policy = shown.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self';");
    expect(policy).not.toMatch(/https?:|\*|unsafe-eval/);
    const html = await shown.text();
    expect(html).toContain('<base href="/queues/"');
    const script = /src="(static\/js\/main[^"]+)"/.exec(html)?.[1];
    const file = await send('GET', `/queues/${script}`);
    expect([file.status, file.headers.get('content-type')]).toEqual([200, expect.stringContaining('javascript')]);
    expect((await send('GET', '/queues/')).headers.get('location')).toBe('/queues');
    expect((await send('GET', '/reports')).headers.get('content-security-policy')).not.toContain('unsafe');
  });

  it('serves only its own files', async () => {
    const { send } = await visit(ben.token);
    for (const path of ['..%2f..%2fpackage.json', '%2e%2e/%2e%2e/package.json', '..%5c..%5cpackage.json', 'js']) {
      expect((await send('GET', `/queues/static/${path}`)).status).toBeGreaterThanOrEqual(400);
    }
  });

  it('refuses every request that is not a read, also from a page of Docket', async () => {
    const { send, csrf } = await visit(ben.token);
    const before = await redis.hgetall(`${redisKeys(prefix).bull}:runs:${order.id}`);
    for (const [method, path] of [
      ['POST', '/queues/api/queues/runs/add'],
      ['PUT', '/queues/api/queues/runs/empty'],
      ['PUT', '/queues/api/queues/runs/pause'],
      ['PUT', '/queues/api/queues/pause'],
      ['PUT', `/queues/api/queues/runs/${order.id}/clean`],
      ['PATCH', `/queues/api/queues/runs/${order.id}/update-data`],
      ['DELETE', '/queues'],
      ['OPTIONS', '/queues'],
    ] as const) {
      const answer = await send(method, path, { headers: { 'x-csrf-token': csrf } });
      expect([method, path, answer.status]).toEqual([method, path, 405]);
      expect(answer.headers.get('allow')).toBe('GET, HEAD');
    }
    expect(await redis.hgetall(`${redisKeys(prefix).bull}:runs:${order.id}`)).toEqual(before);
  });

  it('refuses changes even when it is called directly', async () => {
    const answer = await board.app.request(`/api/queues/runs/${order.id}/clean`, { method: 'PUT' });
    expect(answer.status).toBe(405);
    for (const path of ['/api/queues/pause', '/api/queues/runs/empty'])
      await board.app.request(path, { method: 'PUT' });
    expect((await queue.counts()).waiting).toBe(1);
    expect(await redis.hget(`${redisKeys(prefix).bull}:runs:meta`, 'paused')).toBeNull();
  });

  it('is hidden from tokens of single organizations', async () => {
    const { send, front } = await visit(anna.token);
    for (const path of ['/queues', QUEUES, '/queues/static/favicon.ico']) {
      expect((await send('GET', path)).status).toBe(404);
    }
    expect(front).not.toContain('/queues');
  });

  it('redirects to the sign-in without a session, and refuses its API', async () => {
    const { send } = cookieClient({ app: openBoard(board) });
    const page = await send('GET', '/queues/queue/runs');
    expect([page.status, page.headers.get('location')]).toEqual([303, '/sign-in?to=%2Fqueues%2Fqueue%2Fruns']);
    expect((await send('GET', QUEUES)).status).toBe(401);
    expect((await send('GET', '/queues/static/favicon.ico')).status).toBe(303);
  });

  it('answers invalid queries with a client error, and limits the jobs of a page', async () => {
    const { send } = await visit(ben.token);
    for (const query of [
      'activeQueue=%25E0%25A4%25A',
      'jobsPerPage=1000000',
      'activeQueue=runs&jobs%50erPage=1e9',
      'activeQueue=runs&jobsPerPage=-1',
      'activeQueue=runs&status=nothing',
    ]) {
      const { status } = await send('GET', `/queues/api/queues?${query}`);
      expect([query, status >= 400 && status < 500]).toEqual([query, true]);
    }
    expect((await send('GET', '/queues/api/queues/nothing/1')).status).toBe(404);
  });

  it('answers 503 while Redis is unreachable', async () => {
    const away = await openRedis(inject('redisUrl'), 'producer', silentLog);
    const closed = await openBullBoard(away, { prefix });
    const { send } = await visit(ben.token, closed);
    away.disconnect();
    const answer = await send('GET', QUEUES);
    expect([answer.status, await answer.json()]).toEqual([503, expect.objectContaining({ code: 'redis.unreachable' })]);
    await closed.close();
  });

  it('names the command that installs it when its packages are missing', async () => {
    const name = '@bull-board/nowhere';
    await expect(
      openBullBoard(redis, { prefix, load: (): Promise<BullBoardPackages> => import(name) }),
    ).rejects.toMatchObject({
      code: 'config.invalid',
      next: expect.stringContaining('`npm i @bull-board/api@9.10.1 @bull-board/hono@9.10.1 bullmq@6.7.0`'),
    });
  });
});
