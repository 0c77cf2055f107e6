import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { progressSchema } from '../../../src/admin/api/runs/run-events.ts';
import { runSchema } from '../../../src/admin/api/schemas.ts';
import { createStreamLimiter, type StreamLimiter } from '../../../src/admin/api/stream-limiter.ts';
import { newToken, type TokenEntry } from '../../../src/admin/auth/tokens.ts';
import { type AdminServer, listenAdmin } from '../../../src/admin/server.ts';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import { silentLog } from '../../../src/base/log.ts';
import { done } from '../../../src/base/outcome.ts';
import { type Execute, type RunWorker, startWorker } from '../../../src/queue/jobs/worker.ts';
import { redisLiveProgress } from '../../../src/queue/runs/live-progress.ts';
import { createTestAdmin } from '../../support/admin.ts';
import { advanceUntil, manualClock } from '../../support/manual-clock.ts';
import {
  deferred,
  onDemand,
  openQueueHarness,
  type QueueHarness,
  reportDefinition,
} from '../../support/queue-harness.ts';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const tokens = { viewer: newToken(), rival: newToken() };
const entries: TokenEntry[] = [
  { name: 'eyes', sha256: tokens.viewer.sha256, role: 'viewer', orgs: ['acme'], expires: '2026-11-21' },
  { name: 'them', sha256: tokens.rival.sha256, role: 'operator', orgs: ['rival'] },
];
const as = (who: keyof typeof tokens) => ({ authorization: `Bearer ${tokens[who].token}` });

interface Told {
  readonly event?: string;
  readonly id?: string;
  readonly data?: string;
  readonly comment?: string;
}

/** The events of a stream, as an `EventSource` reads them. */
async function* report(response: Response): AsyncGenerator<Told, void, void> {
  const decoder = new TextDecoder();
  let text = '';
  if (response.body === null) throw new Error('no stream');
  for await (const piece of response.body) {
    text += decoder.decode(piece, { stream: true });
    for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
      const fields = text
        .slice(0, end)
        .split('\n')
        .map((line) => [
          line.startsWith(':') ? 'comment' : line.slice(0, line.indexOf(':')),
          line.replace(/^\w*: ?/, ''),
        ]);
      text = text.slice(end + 2);
      yield Object.fromEntries(fields);
    }
  }
}
const next = async (stream: AsyncGenerator<Told, void, void>, event: string): Promise<Told> => {
  for (;;) {
    const { value, done: over } = await stream.next();
    if (over || value === undefined) throw new Error(`it ended before ${event}`);
    if (value.event === event) return value;
  }
};

describe('GET /api/runs/{id}/events', () => {
  let harness: QueueHarness;
  let streams: StreamLimiter;
  let server: AdminServer | undefined;
  const workers: RunWorker[] = [];
  beforeEach(async () => {
    harness = await openQueueHarness();
    streams = createStreamLimiter({ most: 5, each: 2 });
  });
  afterEach(async () => {
    streams.close();
    await server?.close();
    server = undefined;
    await Promise.all(workers.splice(0).map((worker) => worker.close(0)));
    await harness.close();
  });

  const anApp = (clock: Clock) =>
    createTestAdmin(
      entries,
      { runs: harness.runs, live: redisLiveProgress(harness.producer, harness) },
      { clock, streams },
    );
  /** Serves the route over a socket, and polls for changes as often as it can. */
  const listen = async (): Promise<AdminServer> => {
    const eager: Clock = {
      now: () => NOW,
      sleep: (ms, signal) => systemClock.sleep(ms > 1_000 ? ms : 5, signal),
    };
    server = await listenAdmin(anApp(eager), { host: '127.0.0.1', port: 0, log: silentLog });
    return server;
  };
  const start = (execute: Execute): void => {
    const { worker: connection, prefix, runs: store } = harness;
    workers.push(
      startWorker({ connection, prefix, store, execute, clock: systemClock, log: silentLog, concurrency: 1 }),
    );
  };
  const opened = async (org = 'acme'): Promise<string> =>
    (await harness.trigger(onDemand(reportDefinition('weekly', undefined, org)))).record.id;

  it('streams the run, its progress and its end over a socket', async () => {
    const { url } = await listen();
    const id = await opened();
    const response = await fetch(`${url}/api/runs/${id}/events`, { headers: as('viewer') });
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    const stream = report(response);
    expect((await stream.next()).value).toEqual({ retry: '3000' });
    expect(runSchema.parse(JSON.parse((await next(stream, 'run')).data ?? ''))).toMatchObject({ id, state: 'queued' });
    expect((await next(stream, 'progress')).data).toBe('null');
    const go = deferred();
    start(async (_, { observe }) => {
      observe({ type: 'begun', stage: 'fetch' });
      observe({ type: 'planned', calls: 3, sections: 1 });
      observe({ type: 'fetched', call: 'a', done: 1, of: 3, saved: false, tokens: 9, finish: NOW });
      await go.promise;
      return done({ state: 'done', folder: '', files: [], calls: [], incomplete: [], receipts: [] });
    });
    const progress = progressSchema.parse(JSON.parse((await next(stream, 'progress')).data ?? ''));
    expect(progress).toMatchObject({
      stage: 'fetch',
      calls: { done: 1, of: 3 },
      tokens: 9,
      ahead: null,
      expected_finish: '2026-11-21T12:00:00.000Z',
    });
    go.tell();
    const end = await next(stream, 'end');
    expect(JSON.parse(end.data ?? '')).toEqual({ state: 'done' });
    expect((await stream.next()).done).toBe(true);

    const again = await fetch(`${url}/api/runs/${id}/events`, {
      headers: { ...as('viewer'), 'last-event-id': end.id ?? '' },
    });
    expect(again.status).toBe(204);
    // A client that missed the end gets it, and an event that says that nothing follows.
    const late = report(await fetch(`${url}/api/runs/${id}/events`, { headers: as('viewer') }));
    expect(runSchema.parse(JSON.parse((await next(late, 'run')).data ?? '')).state).toBe('done');
    await next(late, 'end');
  });

  it('sends a returning client only what is new', async () => {
    const app = anApp(manualClock(NOW));
    const id = await opened();
    const first = report(await app.request(`/api/runs/${id}/events`, { headers: as('viewer') }));
    await next(first, 'run');
    const { id: known = '' } = await next(first, 'progress');
    await first.return();
    await harness.runs.update(id, { state: 'failed', finishedAt: NOW });
    const back = report(
      await app.request(`/api/runs/${id}/events`, { headers: { ...as('viewer'), 'last-event-id': known } }),
    );
    const events: (string | undefined)[] = [];
    for await (const { event } of back) events.push(event);
    expect(events).toEqual([undefined, 'run', 'end']);
  });

  it('sends a comment while nothing happens, and ends when the token expires', async () => {
    const clock = manualClock(NOW);
    const app = anApp(clock);
    const id = await opened();
    const stream = report(await app.request(`/api/runs/${id}/events`, { headers: as('viewer') }));
    await next(stream, 'progress');
    const quiet = stream.next();
    expect((await advanceUntil(clock, quiet, 1_000)).value).toEqual({ comment: 'nothing new' });
    expect(clock.now() - NOW).toBeGreaterThanOrEqual(15_000);
    const ended = stream.next();
    clock.set(Date.parse('2026-11-22T00:00:00Z'));
    expect((await ended).done).toBe(true);
  });

  it('ends when the token loses the organization of the run', async () => {
    const clock = manualClock(NOW);
    const mine = [...entries];
    const ports = { runs: harness.runs, live: redisLiveProgress(harness.producer, harness) };
    const app = createTestAdmin(mine, ports, { clock, streams });
    const stream = report(await app.request(`/api/runs/${await opened()}/events`, { headers: as('viewer') }));
    await next(stream, 'progress');
    mine.splice(0, 1, { name: 'eyes', sha256: tokens.viewer.sha256, role: 'viewer', orgs: ['elsewhere'] });
    const last = stream.next();
    expect((await advanceUntil(clock, last, 1_000)).done).toBe(true);
  });

  it('answers 404 to other organizations and 401 without a token', async () => {
    const app = anApp(manualClock(NOW));
    const id = await opened();
    const rivals = await opened('rival');
    const status = async (path: string, headers: Record<string, string>, method = 'GET') =>
      (await app.request(`/api/runs/${path}/events`, { method, headers })).status;
    expect(await status(rivals, as('viewer'))).toBe(404);
    expect(await status('f'.repeat(32), as('viewer'))).toBe(404);
    expect(await status('nonsense', as('viewer'))).toBe(404);
    expect(await status(id, as('rival'))).toBe(404);
    expect(await status(id, {})).toBe(401);
    expect(await status(id, as('viewer'), 'POST')).toBe(405);
    expect(await status(id, as('viewer'), 'HEAD')).toBe(200);
    // None of these requests uses up a stream.
    expect([streams.open('eyes'), streams.open('eyes')].every((place) => place !== undefined)).toBe(true);
  });

  it('limits the streams of a token, and allows another one once one is closed', async () => {
    const { url } = await listen();
    const id = await opened();
    const leave = new AbortController();
    const open = (signal?: AbortSignal) =>
      fetch(`${url}/api/runs/${id}/events`, { headers: as('viewer'), ...(signal === undefined ? {} : { signal }) });
    await open(leave.signal);
    await open();
    const refused = await open();
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe('15');
    expect(await refused.json()).toMatchObject({ code: 'request.too_many_streams' });
    leave.abort();
    for (;;) {
      const response = await open();
      if (response.status === 200) break;
      await response.body?.cancel();
    }
  });

  it('ends its streams when the process stops, without delaying the stop', async () => {
    const { url, close } = await listen();
    const id = await opened();
    const stream = report(await fetch(`${url}/api/runs/${id}/events`, { headers: as('viewer') }));
    await next(stream, 'progress');
    streams.close();
    expect((await stream.next()).done).toBe(true);
    await close();
    server = undefined;
    expect(streams.open('eyes')).toBeUndefined();
  });
});

describe('the streams of a process', () => {
  it('are limited per token and in total, and ending one twice counts once', () => {
    const streams = createStreamLimiter({ most: 3, each: 2 });
    const [first, second] = [streams.open('a'), streams.open('a')];
    expect(streams.open('a')).toBeUndefined();
    expect(streams.open('b')).toBeDefined();
    expect(streams.open('c')).toBeUndefined();
    first?.end();
    first?.end();
    expect(first?.signal.aborted).toBe(true);
    expect(streams.open('c')).toBeDefined();
    expect(streams.open('d')).toBeUndefined();
    streams.close();
    expect(second?.signal.aborted).toBe(true);
  });
});
