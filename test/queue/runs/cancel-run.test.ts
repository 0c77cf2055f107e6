import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { done, snooze } from '../../../src/base/outcome.ts';
import { requeueOrphans } from '../../../src/queue/jobs/requeue-orphans.ts';
import { type Execute, type RunWorker, startWorker } from '../../../src/queue/jobs/worker.ts';
import { cancelRun } from '../../../src/queue/runs/cancel-run.ts';
import type { RunState } from '../../../src/run/run-record.ts';
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
} from '../../support/queue-harness.ts';
import { waitFor } from '../../support/wait-for.ts';

const WHO = { by: 'ada', reason: 'wrong recipients' };
const RESULT = { state: 'done', folder: '', files: [], calls: [], incomplete: [], receipts: [] } as const;

describe('a cancellation', () => {
  let harness: QueueHarness;
  const workers: RunWorker[] = [];
  const log = recordingLog();
  beforeEach(async () => {
    harness = await openQueueHarness();
  });
  afterEach(async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.close(0)));
    await harness.close();
  });

  const start = (execute: Execute, more: { onTerminal?: () => Promise<void> } = {}): RunWorker => {
    const { worker: connection, prefix, runs: store } = harness;
    const worker = startWorker({
      connection,
      prefix,
      store,
      execute,
      clock: systemClock,
      log,
      concurrency: 4,
      ...more,
    });
    workers.push(worker);
    return worker;
  };
  const reached = (id: string, ...states: RunState[]) => waitForRun(harness, id, ...states);
  const opened = async (): Promise<string> => (await harness.trigger(onDemand(reportDefinition()))).record.id;
  const cancel = (id: string, clock = systemClock) => cancelRun(id, WHO, { ...harness, clock, log });
  const jobs = () => harness.queue.counts();

  it('ends a queued run at once and removes its job', async () => {
    const id = await opened();
    expect(await cancel(id)).toMatchObject({
      state: 'cancelled',
      cancel: WHO,
      error: { code: 'run.cancelled', message: 'The run was cancelled by ada: wrong recipients' },
      reopened: [{ what: 'cancel', ...WHO }],
    });
    expect(await jobs()).toEqual({ waiting: 0, active: 0, delayed: 0, failed: 0 });
    expect(await harness.runs.unfinished(Date.now() + 1, 10)).toEqual([]);
  });

  it('ends a snoozed run at once', async () => {
    const id = await opened();
    start(async () => snooze(Date.now() + 3_600_000, 'no token'));
    await reached(id, 'waiting');
    await waitFor('the job to be delayed', async () => (await jobs()).delayed > 0);
    expect(await cancel(id)).toMatchObject({ state: 'cancelled', until: null });
    expect(await jobs()).toMatchObject({ delayed: 0 });
  });

  it('stops an active run before its next step; its deliveries stay listed', async () => {
    const id = await opened();
    const sent = deferred();
    let owners = 0;
    start(
      async (_, { signal, observe }) => {
        observe({ type: 'delivered', target: '0-email', recipient: 'a@acme.example', state: 'sent', detail: '250 OK' });
        sent.tell();
        await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
        throw new Error('unreachable');
      },
      {
        onTerminal: async () => {
          owners += 1;
        },
      },
    );
    await sent.promise;
    expect(await cancel(id)).toMatchObject({
      state: 'cancelled',
      cancel: WHO,
      deliveries: [{ recipient: 'a@acme.example', state: 'sent' }],
    });
    expect(owners).toBe(0);
    expect(await harness.runs.cancelRequested([id])).toEqual([]);
  });

  it('is refused if the run completes meanwhile', async () => {
    const id = await opened();
    const started = deferred();
    start(async (_, { signal }) => {
      started.tell();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return done(RESULT);
    });
    await started.promise;
    await expect(cancel(id)).rejects.toMatchObject({ code: 'run.conflict', got: 'done' });
    expect(await harness.runs.get(id)).toMatchObject({ state: 'done' });
  });

  it('returns after a while if the run does not respond, and takes effect when it would snooze', async () => {
    const id = await opened();
    const started = deferred();
    const go = deferred();
    start(async () => {
      started.tell();
      await go.promise;
      return snooze(Date.now() + 3_600_000, 'no token');
    });
    await started.promise;
    const clock = manualClock(Date.now());
    const answered = cancelRun(id, WHO, {
      ...harness,
      log,
      clock: { ...clock, sleep: async (ms) => clock.advance(ms) },
    });
    expect(await answered).toMatchObject({ state: 'running', cancel: WHO });
    go.tell();
    expect(await reached(id, 'cancelled')).toMatchObject({ cancel: WHO });
  });

  it('that was requested before a worker takes the run prevents its execution', async () => {
    const order = anOrder();
    await harness.runs.open(order);
    await harness.runs.requestCancel(order.id, { ...WHO, at: 1 });
    await harness.queue.enqueue(order);
    let tries = 0;
    start(async (_, { marked }) => {
      await marked;
      tries += 1;
      return done(RESULT);
    });
    await reached(order.id, 'cancelled');
    expect(tries).toBe(0);
  });

  it('of a run that begins to snooze at that moment is completed by the reconciler', async () => {
    const order = anOrder({ createdAt: Date.now() - 60_000 });
    await harness.runs.open(order);
    await harness.runs.update(order.id, { state: 'waiting', until: Date.now() + 3_600_000 });
    await harness.queue.enqueue(order);
    await harness.runs.requestCancel(order.id, { ...WHO, at: 1 });
    await requeueOrphans({ ...harness, clock: systemClock, log });
    expect(await harness.runs.get(order.id)).toMatchObject({ state: 'cancelled', cancel: WHO });
    expect(await jobs()).toMatchObject({ waiting: 0 });
  });

  it('changes nothing the second time, and is refused for an ended or unknown run', async () => {
    const id = await opened();
    const first = await cancel(id);
    expect(await cancelRun(id, { by: 'bob', reason: 'me too' }, { ...harness, clock: systemClock, log })).toEqual(
      first,
    );
    const other = await opened();
    await harness.runs.update(other, { state: 'held' });
    await expect(cancel(other)).rejects.toMatchObject({ code: 'run.conflict', got: 'held' });
    expect(await harness.runs.get(other)).toMatchObject({ state: 'held', cancel: null, reopened: [] });
    await expect(cancel('f'.repeat(32))).rejects.toMatchObject({ code: 'run.not_found' });
  });

  it('is undone by a retry', async () => {
    const id = await opened();
    await cancel(id);
    const again = { what: 'retry', by: 'bob', reason: 'it was right', at: 5 } as const;
    const record = await harness.runs.reopen(id, ['cancelled'], again);
    expect(record).toMatchObject({ state: 'queued', cancel: null, reopened: [{ what: 'cancel' }, again] });
    await harness.queue.requeue(record ?? anOrder());
    start(async () => done(RESULT));
    await reached(id, 'done');
  });
});
