import { randomBytes } from 'node:crypto';
import { Queue } from 'bullmq';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { DocketError, type ErrorCode } from '../../../src/base/error.ts';
import { cancel, done, fail, type Outcome, snooze } from '../../../src/base/outcome.ts';
import { requeueOrphans } from '../../../src/queue/jobs/requeue-orphans.ts';
import { retryDelayMs } from '../../../src/queue/jobs/retry-policy.ts';
import { MAX_RUN_ATTEMPTS } from '../../../src/queue/jobs/run-queue.ts';
import { type Execute, type RunWorker, startWorker, type WorkerOptions } from '../../../src/queue/jobs/worker.ts';
import type { RunEvent } from '../../../src/run/run-events.ts';
import type { RunState } from '../../../src/run/run-record.ts';
import type { RunResult } from '../../../src/run/run-result.ts';
import { manualClock } from '../../support/manual-clock.ts';
import {
  anOrder,
  deferred,
  onDemand,
  openQueueHarness,
  type QueueHarness,
  recordingLog,
  reportDefinition,
  waitForRun,
  waitForSettledJob,
} from '../../support/queue-harness.ts';

const aResult = (change: Partial<RunResult> = {}): RunResult => ({
  state: 'done',
  folder: '/tmp/run',
  files: [{ name: 'a.csv', format: 'csv', mediaType: 'text/csv', path: '/tmp/run/a.csv', bytes: 3, sha256: 'ab' }],
  calls: [],
  incomplete: [],
  receipts: [
    { delivery: 'd', target: '0-email', recipient: 'a@acme.example', state: 'sent', detail: null, messageId: null },
  ],
  ...change,
});
const down = () => new DocketError('api.unavailable', 'The service is down.');

describe('the worker', () => {
  let harness: QueueHarness;
  const workers: RunWorker[] = [];
  beforeEach(async () => {
    harness = await openQueueHarness();
  });
  afterEach(async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.close(0)));
    await harness.close();
  });

  const log = recordingLog();
  const start = (execute: Execute, options: Partial<WorkerOptions> = {}): RunWorker => {
    const worker = startWorker({
      connection: harness.worker,
      prefix: harness.prefix,
      store: harness.runs,
      execute,
      clock: systemClock,
      log,
      concurrency: 4,
      ...options,
    });
    workers.push(worker);
    return worker;
  };
  /** The record once the run has one of these states. */
  const reached = (id: string, ...states: RunState[]) => waitForRun(harness, id, ...states);
  /** The fields of the run's job once BullMQ has settled it. */
  const settled = (id: string) => waitForSettledJob(harness, id);
  /** Wakes a snoozed run. */
  const promoted = async (id: string): Promise<void> => {
    const queue = new Queue('runs', { connection: harness.producer, prefix: `${harness.prefix}:bull` });
    try {
      await expect.poll(() => queue.getJobState(id), { interval: 10 }).toBe('delayed');
      await (await queue.getJob(id))?.promote();
    } finally {
      await queue.close();
    }
  };
  const opened = async (): Promise<string> => (await harness.trigger(onDemand(reportDefinition()))).record.id;

  it('executes a run again at once if its review changed while it began to wait', async () => {
    const id = await opened();
    const review = { seq: 1, phase: 'approval', content: 'ab' } as const;
    const states: RunState[] = ['awaiting_approval', 'done'];
    const known: (number | undefined)[] = [];
    start(
      async () => {
        const state = states.shift();
        return done(
          state === 'done' ? aResult() : aResult({ state: 'awaiting_approval', files: [], receipts: [], review }),
        );
      },
      {
        continueReview: async (order, { seq }) => {
          const record = await harness.runs.get(order.id);
          known.push(seq, record?.review?.seq);
          expect(record).toMatchObject({ state: 'awaiting_approval', error: null, review });
          const event = { what: 'review', by: 'ann', reason: 'Approved', at: 5 } as const;
          return (await harness.runs.reopen(order.id, ['awaiting_approval'], event)) !== undefined;
        },
      },
    );
    await reached(id, 'done');
    expect([states, known]).toEqual([[], [1, 1]]);
  });

  it('finishes a run and records its result', async () => {
    const id = await opened();
    const events: RunEvent[] = [];
    start(
      async (order, { observe, attempt, lastAttempt, signal }) => {
        expect(order).toMatchObject({ id, org: 'acme', report: 'weekly' });
        expect({ attempt, lastAttempt, aborted: signal.aborted }).toEqual({
          attempt: 1,
          lastAttempt: false,
          aborted: false,
        });
        observe({ type: 'planned', calls: 2, sections: 1 });
        observe({ type: 'fetched', call: 'a', done: 1, of: 2, saved: false, tokens: 29, finish: 0 });
        observe({ type: 'fetched', call: 'b', done: 2, of: 2, saved: true, tokens: null, finish: 0 });
        return done(aResult());
      },
      { observe: (_, event) => events.push(event) },
    );
    const record = await reached(id, 'done');
    expect(record).toMatchObject({
      calls: { planned: 2, made: 1, saved: 1 },
      files: [{ name: 'a.csv', bytes: 3, sha256: 'ab' }],
      deliveries: [{ target: '0-email', recipient: 'a@acme.example', state: 'sent', detail: null }],
      error: null,
    });
    expect(record.startedAt).toBeLessThanOrEqual(record.finishedAt ?? 0);
    expect(events.map((event) => event.type)).toEqual(['planned', 'fetched', 'fetched', 'finished']);
    expect(await settled(id)).toMatchObject({ atm: '1' });
  });

  it('reports how long the calls of an attempt waited for tokens, once the attempt is over', async () => {
    const id = await opened();
    const waited = deferred<number>();
    const events: string[] = [];
    start(
      async (_order, { observe }) => {
        observe({ type: 'waiting', call: 'a', until: Date.now() + 60_000, ahead: 1, tokens: 0 });
        // The wait does not end with the attempt: the run snoozes until then.
        return snooze(Date.now() + 60_000, 'no token');
      },
      {
        observe: (_, event) => {
          events.push(event.type);
          if (event.type === 'waited') waited.tell(event.ms);
        },
      },
    );
    expect(await waited.promise).toBeGreaterThan(50_000);
    await reached(id, 'waiting');
    const record = await harness.runs.get(id);
    expect(record?.waitingFor).toEqual({ until: record?.until, why: 'no token' });
    expect(events.filter((type) => type === 'waited')).toHaveLength(1);
  });

  it.each(['partly_delivered', 'held'] as const)('keeps a run as %s', async (state) => {
    const id = await opened();
    start(async () => done(aResult({ state })));
    await reached(id, state);
    expect((await settled(id)).failedReason).toBeUndefined();
  });

  it('records progress while the run is executed', async () => {
    const id = await opened();
    const go = deferred();
    start(async (_, { observe }) => {
      observe({ type: 'planned', calls: 7, sections: 1 });
      observe({ type: 'delivered', target: '0-email', recipient: 'a@acme.example', state: 'sent', detail: '250 OK' });
      await go.promise;
      return done(aResult());
    });
    for (;;) {
      const record = await reached(id, 'running');
      if (record.calls.planned === 7 && record.deliveries.length === 1) break;
    }
    go.tell();
    await reached(id, 'done');
  });

  it('records the end after all events before it', async () => {
    const id = await opened();
    const writing = deferred();
    const go = deferred();
    const written: unknown[] = [];
    const slow: typeof harness.runs = {
      ...harness.runs,
      update: async (run, change) => {
        if (change.state === undefined) {
          writing.tell();
          await go.promise;
        }
        written.push(change.state ?? Object.keys(change));
        await harness.runs.update(run, change);
      },
    };
    start(
      async (_, { observe }) => {
        observe({ type: 'planned', calls: 7, sections: 1 });
        await writing.promise;
        setImmediate(go.tell);
        return done(aResult());
      },
      { store: slow },
    );
    await reached(id, 'done');
    expect(written).toEqual(['running', ['calls', 'tokenWaitMs'], 'done']);
  });

  it('snoozes a run without using an attempt or a worker slot', async () => {
    const id = await opened();
    const attempts: number[] = [];
    start(
      async (_, { attempt }) => {
        attempts.push(attempt);
        return attempts.length < 4 ? snooze(Date.now() - 60_000, 'no token') : done(aResult());
      },
      { concurrency: 1 },
    );
    await reached(id, 'done');
    expect(attempts).toEqual([1, 1, 1, 1]);
    expect(await settled(id)).toMatchObject({ atm: '1', ats: '4' });
  });

  it('delays a snooze whose end has already passed by its clock', async () => {
    const id = await opened();
    start(async () => snooze(0, 'no token'), { clock: manualClock(5_000_000_000_000) });
    expect((await reached(id, 'waiting')).until).toBeGreaterThan(5_000_000_000_000);
  });

  it('records until when a run snoozes, and executes others meanwhile', async () => {
    const sleeper = await opened();
    const until = Date.now() + 3_600_000;
    start(async (order) => (order.id === sleeper ? snooze(until, 'no token') : done(aResult())), { concurrency: 1 });
    expect(await reached(sleeper, 'waiting')).toMatchObject({ until });
    await reached(await opened(), 'done');
  });

  it('retries a transient error, records it meanwhile, and clears it after success', async () => {
    const id = await opened();
    const go = deferred();
    start(
      async (_, { attempt }) => {
        if (attempt === 1) return fail(down());
        await go.promise;
        return done(aResult());
      },
      { backoff: () => 5 },
    );
    const between = await reached(id, 'waiting', 'running');
    if (between.state === 'waiting') expect(between.error).toMatchObject({ code: 'api.unavailable' });
    go.tell();
    expect(await reached(id, 'done')).toMatchObject({ error: null });
  });

  it('fails the run after its last attempt and notifies the owner once', async () => {
    const id = await opened();
    const last: boolean[] = [];
    const reported: string[] = [];
    start(
      async (_, { lastAttempt }) => {
        last.push(lastAttempt);
        throw down();
      },
      { backoff: () => 1, onTerminal: async (order, error) => void reported.push(`${order.id} ${error.code}`) },
    );
    expect(await reached(id, 'failed')).toMatchObject({
      error: { code: 'api.unavailable', message: 'The service is down.' },
    });
    expect(last).toEqual([...Array.from({ length: MAX_RUN_ATTEMPTS - 1 }, () => false), true]);
    expect(await settled(id)).toMatchObject({ failedReason: 'api.unavailable' });
    expect(reported).toEqual([`${id} api.unavailable`]);
  });

  it('does not retry a permanent error', async () => {
    const id = await opened();
    let tries = 0;
    start(async () => {
      tries += 1;
      return fail(new DocketError('api.unauthorized', 'The key is refused.'));
    });
    await reached(id, 'failed');
    await settled(id);
    expect(tries).toBe(1);
  });

  it('fails a run even if its owner cannot be notified', async () => {
    const id = await opened();
    start(async () => fail(new DocketError('render.failed', 'No.')), {
      onTerminal: async () => {
        throw new Error('no mail server');
      },
    });
    await reached(id, 'failed');
    expect(await settled(id)).toMatchObject({ failedReason: 'render.failed' });
  });

  it('keeps no stack trace and no message of an unexpected error in the job', async () => {
    const id = await opened();
    const canary = `secret-${randomBytes(8).toString('hex')}`;
    start(
      async () => {
        throw new TypeError(`cannot read ${canary}`);
      },
      { backoff: () => 1 },
    );
    await reached(id, 'failed');
    const job = await settled(id);
    expect(job).toMatchObject({ failedReason: 'internal.defect', stacktrace: '[]' });
    expect(JSON.stringify(job)).not.toContain(canary);
  });

  it('cancels a run whose execution says so', async () => {
    const id = await opened();
    start(async () => cancel('The owner asked for it.'));
    expect(await reached(id, 'cancelled')).toMatchObject({
      error: { code: 'run.cancelled', message: 'The owner asked for it.' },
    });
    await settled(id);
  });

  it('does not execute an ended run again when its job is added again', async () => {
    const id = await opened();
    let tries = 0;
    start(async () => {
      tries += 1;
      return done(aResult());
    });
    await reached(id, 'done');
    await settled(id);
    const queue = new Queue('runs', { connection: harness.producer, prefix: `${harness.prefix}:bull` });
    await queue.remove(id);
    await queue.add('run', { run: id }, { jobId: id });
    await settled(id);
    await queue.close();
    expect(tries).toBe(1);
  });

  it('refuses jobs that Docket did not add and runs without a record', async () => {
    let tries = 0;
    start(async () => {
      tries += 1;
      return done(aResult());
    });
    const queue = new Queue('runs', { connection: harness.producer, prefix: `${harness.prefix}:bull` });
    await queue.add('run', { run: '../../etc/passwd' }, { jobId: 'forged' });
    await queue.add('run', { run: 'f'.repeat(32) }, { jobId: 'missing', attempts: 5 });
    expect(await settled('forged')).toMatchObject({ failedReason: 'internal.defect', atm: '1' });
    expect(await settled('missing')).toMatchObject({ failedReason: 'run.not_found', atm: '1' });
    await queue.close();
    expect(tries).toBe(0);
  });

  it('extends the deadline of a run by the time for which deliveries were stopped, and does not fail it if that is unreadable', async () => {
    const order = anOrder({ deadlineMs: 300 });
    let [asked, stops] = [0, 0];
    start(
      async () => {
        stops += 1;
        return stops < 4 ? snooze(Date.now() + 400, 'stopped') : done(aResult());
      },
      {
        stoppedMs: async () => {
          asked += 1;
          if (asked === 2) throw new DocketError('switch.unreadable', 'Unreadable.');
          return 3_600_000;
        },
      },
    );
    await harness.runs.open(order);
    await harness.queue.enqueue(order);
    expect(await reached(order.id, 'done', 'failed')).toMatchObject({ state: 'done', starts: 4 });
    expect(asked).toBeGreaterThan(1);
  });

  it('fails a run that snoozes past its deadline', async () => {
    const order = anOrder({ deadlineMs: 300 });
    await harness.runs.open(order);
    await harness.queue.enqueue(order);
    let tries = 0;
    start(async () => {
      tries += 1;
      return snooze(Date.now() + 3_600_000, 'no token');
    });
    expect(await reached(order.id, 'failed')).toMatchObject({ error: { code: 'run.deadline' } });
    expect(tries).toBe(1);
  });

  it('fails a run whose deadline passes during an attempt, and notifies the owner once', async () => {
    const order = anOrder({ deadlineMs: 500 });
    await harness.runs.open(order);
    await harness.queue.enqueue(order);
    const reported: string[] = [];
    start(
      async (_, { signal, observe }) => {
        observe({ type: 'timed', stage: 'plan', ms: 12 });
        await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
        return done(aResult());
      },
      { onTerminal: async (_, error) => void reported.push(error.code) },
    );
    expect(await reached(order.id, 'failed')).toMatchObject({
      error: { code: 'run.deadline' },
      timings: { plan: 12 },
      starts: 1,
      attempts: 1,
    });
    expect(await settled(order.id)).toMatchObject({ failedReason: 'run.deadline', atm: '1' });
    expect(reported).toEqual(['run.deadline']);
  });

  it('counts how often a run was started, and its attempts', async () => {
    const id = await opened();
    let times = 0;
    start(
      async () => {
        times += 1;
        if (times === 1) return snooze(0, 'no token');
        return times === 2 ? fail(down()) : done(aResult());
      },
      { backoff: () => 1 },
    );
    expect(await reached(id, 'done')).toMatchObject({ starts: 3, attempts: 2 });
  });

  it('passes the error of the attempt to the backoff', async () => {
    const id = await opened();
    const failures: unknown[] = [];
    start(
      async (_, { attempt }) =>
        attempt === 1 ? fail(new DocketError('api.throttled', 'Wait.', { retryAfterMs: 7 })) : done(aResult()),
      {
        backoff: (failed, failure) => {
          failures.push([failed, failure?.code, failure?.retryAfterMs]);
          return 1;
        },
      },
    );
    await reached(id, 'done');
    expect(failures).toEqual([[1, 'api.throttled', 7]]);
  });

  it('stops a run whose lock was lost, and no longer changes its record', async () => {
    const id = await opened();
    const started = deferred();
    const stopped = deferred<unknown>();
    start(
      async (_, { signal }) => {
        started.tell();
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        stopped.tell(signal.reason);
        return done(aResult());
      },
      { lock: { durationMs: 200, stalledIntervalMs: 3_600_000 } },
    );
    await started.promise;
    await harness.producer.set(`${harness.prefix}:bull:runs:${id}:lock`, 'another worker');
    expect(await stopped.promise).toMatchObject({ code: 'run.cancelled' });
    await Promise.all(workers.splice(0).map((worker) => worker.close(1_000)));
    expect(await harness.runs.get(id)).toMatchObject({ state: 'running' });
    expect(await harness.producer.lrange(`${harness.prefix}:bull:runs:active`, 0, -1)).toEqual([id]);
  });

  it('confirms and renews the lock of a run on request, and never again once another worker has it', async () => {
    const id = await opened();
    const lock = `${harness.prefix}:bull:runs:${id}:lock`;
    const seen: unknown[] = [];
    const requested = deferred();
    start(
      async (_, { confirmLock }) => {
        await harness.producer.pexpire(lock, 60_000);
        seen.push(await confirmLock?.(), (await harness.producer.pttl(lock)) > 60_000);
        await harness.producer.set(lock, 'another worker');
        seen.push(await confirmLock?.());
        await harness.producer.del(lock);
        seen.push(await confirmLock?.());
        requested.tell();
        return done(aResult());
      },
      { lock: { durationMs: 120_000, stalledIntervalMs: 3_600_000 } },
    );
    await requested.promise;
    await Promise.all(workers.splice(0).map((worker) => worker.close(1_000)));
    expect(seen).toEqual([120_000, true, 0, 0]);
    expect(await harness.runs.get(id)).toMatchObject({ state: 'running' });
  });

  it('lets runs end within the grace period when it stops', async () => {
    const id = await opened();
    const started = deferred();
    const go = deferred();
    const worker = start(async (_, { signal }) => {
      started.tell();
      await go.promise;
      expect(signal.aborted).toBe(false);
      return done(aResult());
    });
    await started.promise;
    const closed = worker.close(60_000);
    go.tell();
    await closed;
    expect(await harness.runs.get(id)).toMatchObject({ state: 'done' });
    expect(await settled(id)).toMatchObject({ atm: '1' });
  });

  it('puts unfinished runs back when it stops, without using an attempt, and another worker continues', async () => {
    const id = await opened();
    const started = deferred();
    const worker = start(async (_, { signal }): Promise<Outcome<RunResult>> => {
      started.tell();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      throw signal.reason;
    });
    await started.promise;
    await worker.close(0);
    expect(await harness.runs.get(id)).toMatchObject({ state: 'queued' });
    const attempts: number[] = [];
    start(async (_, { attempt }) => {
      attempts.push(attempt);
      return done(aResult());
    });
    await reached(id, 'done');
    expect(attempts).toEqual([1]);
  });

  it('does not wait for an unresponsive run when it stops', async () => {
    await opened();
    const started = deferred();
    const worker = start(() => {
      started.tell();
      return new Promise(() => {});
    });
    await started.promise;
    await worker.close(0);
    expect(worker.active()).toBe(1);
  });

  it('executes runs on demand first, then scheduled ones, then backfills', async () => {
    const ran: string[] = [];
    for (const priority of ['backfill', 'scheduled', 'on_demand'] as const) {
      await harness.trigger({ ...onDemand(reportDefinition(priority)), priority });
    }
    start(
      async (order) => {
        ran.push(order.report);
        return done(aResult());
      },
      { concurrency: 1 },
    );
    await reached((await harness.runs.list({ report: 'backfill', limit: 1 }))[0]?.id ?? '', 'done');
    expect(ran).toEqual(['on_demand', 'scheduled', 'backfill']);
  });

  it('gets a run back from the reconciler after Redis lost its job', async () => {
    const id = await opened();
    const started = deferred();
    const worker = start(async () => {
      started.tell();
      return snooze(Date.now() + 3_600_000, 'no token');
    });
    await started.promise;
    await reached(id, 'waiting');
    await worker.close(1_000);
    const keys = await harness.producer.keys(`${harness.prefix}:bull:*`);
    await harness.producer.del(...keys);
    const clock = manualClock(Date.now() + 60_000);
    expect(await requeueOrphans({ runs: harness.runs, queue: harness.queue, clock, log })).toBe(1);
    expect(await harness.runs.get(id)).toMatchObject({ state: 'queued', until: null });
    start(async () => done(aResult()));
    await reached(id, 'done');
  });

  it('gets a run back from the reconciler if its job ended without an update of its record', async () => {
    const id = await opened();
    let tries = 0;
    const forgetful: typeof harness.runs = {
      ...harness.runs,
      update: async (run, change) => {
        if (tries > 0) throw new Error('Redis was full');
        await harness.runs.update(run, change);
      },
    };
    const worker = start(
      async () => {
        tries += 1;
        return fail(new DocketError('render.failed', 'No.'));
      },
      { store: forgetful, backoff: () => 1 },
    );
    await settled(id);
    await worker.close(1_000);
    expect(await harness.runs.get(id)).toMatchObject({ state: 'running' });
    const clock = manualClock(Date.now() + 60_000);
    expect(await requeueOrphans({ runs: harness.runs, queue: harness.queue, clock, log })).toBe(1);
    start(async () => done(aResult()));
    await reached(id, 'done');
  });

  it.each([
    ['archive.unwritable', {}],
    ['archive.unreachable', {}],
    ['disk.unavailable', {}],
    ['render.failed', { retryable: true, transient: true }],
  ] as const)(
    'snoozes a run without using an attempt for each %s from its storage or machine',
    async (code, detail) => {
      const id = await opened();
      const tries: number[] = [];
      const reported: string[] = [];
      start(
        async (_, { attempt, lastAttempt }) => {
          tries.push(attempt);
          expect(lastAttempt).toBe(false);
          const cause = Object.assign(new Error('no room'), { code: 'ENOSPC' });
          if (tries.length < 3)
            return fail(new DocketError(code, 'No room.', { where: '/srv/archive', cause, ...detail }));
          return done(aResult());
        },
        { onTerminal: async (_, error) => void reported.push(error.code) },
      );
      const snoozed = await reached(id, 'waiting');
      expect(snoozed).toMatchObject({ error: { code, where: '/srv/archive' }, until: expect.any(Number) });
      for (let wake = 1; wake <= 2; wake += 1) {
        await expect.poll(() => tries.length, { interval: 10 }).toBe(wake);
        await promoted(id);
      }
      expect(await reached(id, 'done')).toMatchObject({ attempts: 1, error: null });
      expect(tries).toEqual([1, 1, 1]);
      expect(reported).toEqual([]);
    },
  );

  it('uses attempts when the archive denies access, and notifies the owner in the end', async () => {
    const id = await opened();
    const tries: number[] = [];
    const reported: string[] = [];
    const refused = Object.assign(new Error('permission denied'), { code: 'EACCES' });
    start(
      async (_, { attempt }) => {
        tries.push(attempt);
        return fail(new DocketError('archive.unwritable', 'Permission denied.', { cause: refused }));
      },
      { backoff: () => 1, onTerminal: async (_, error) => void reported.push(error.code) },
    );
    await settled(id);
    expect(await reached(id, 'failed')).toMatchObject({ error: { code: 'archive.unwritable' } });
    expect(tries).toEqual(Array.from({ length: MAX_RUN_ATTEMPTS }, (_, index) => index + 1));
    expect(reported).toEqual(['archive.unwritable']);
  });

  it('fails a run whose record cannot be read', async () => {
    const order = anOrder();
    await harness.runs.open(order);
    await harness.producer.hset(`${harness.prefix}:record:${order.id}`, 'files', '"not a list"');
    await harness.queue.enqueue(order);
    start(async () => done(aResult()));
    expect(await settled(order.id)).toMatchObject({ failedReason: 'run.unreadable' });
    expect(await harness.producer.hget(`${harness.prefix}:record:${order.id}`, 'state')).toBe('failed');
  });
});

describe('the backoff', () => {
  const sum = (code: ErrorCode, chance: number): number => {
    let all = 0;
    for (let failed = 1; failed < MAX_RUN_ATTEMPTS; failed += 1) all += retryDelayMs(failed, chance, { code });
    return all;
  };

  it.each(['api.unavailable', 'api.unreachable', 'api.timeout', 'deliver.target_failed', 'internal.defect'] as const)(
    'covers ten minutes of %s with few attempts',
    (code) => {
      expect(sum(code, 0)).toBeGreaterThan(10 * 60_000);
      let [at, tries] = [0, 0];
      while (at < 10 * 60_000) {
        tries += 1;
        at += retryDelayMs(tries, 0, { code });
      }
      expect(tries).toBeLessThanOrEqual(7);
    },
  );

  it('retries soon after redis.unreachable', () => {
    expect(retryDelayMs(1, 1, { code: 'redis.unreachable' })).toBe(5_000);
    expect(retryDelayMs(50, 1, { code: 'redis.unreachable' })).toBe(120_000);
  });

  it('never retries before the moment that the service has named', () => {
    expect(retryDelayMs(1, 0, { code: 'api.throttled', retryAfterMs: 3_600_000 })).toBeGreaterThan(3_600_000);
  });

  it('spreads runs that failed together over half of the delay', () => {
    expect(retryDelayMs(3, 0)).toBe(60_000);
    expect(retryDelayMs(3, 0.5)).toBe(90_000);
    expect(retryDelayMs(3, 1)).toBe(120_000);
  });

  it('doubles from half a minute to a quarter of an hour, and chance shortens it by up to half', () => {
    expect([1, 2, 3, 4].map((failed) => retryDelayMs(failed, 1))).toEqual([30_000, 60_000, 120_000, 240_000]);
    expect([1, 2].map((failed) => retryDelayMs(failed, 0))).toEqual([15_000, 30_000]);
    expect(retryDelayMs(50, 1)).toBe(900_000);
  });
});
