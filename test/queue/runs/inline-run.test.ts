import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { DocketError } from '../../../src/base/error.ts';
import { silentLog } from '../../../src/base/log.ts';
import { cancel, done, fail } from '../../../src/base/outcome.ts';
import { reportFileSchema } from '../../../src/compose/built-in-kinds.ts';
import type { DeliveryRow } from '../../../src/deliver/ledger/ledger.ts';
import { definitionStore } from '../../../src/queue/definitions/definition-store.ts';
import { requeueOrphans } from '../../../src/queue/jobs/requeue-orphans.ts';
import { cancelRun } from '../../../src/queue/runs/cancel-run.ts';
import { type InlineLeases, redisInlineLeases } from '../../../src/queue/runs/inline-leases.ts';
import { failAbandoned, type InlineWork, recordInlineRun } from '../../../src/queue/runs/inline-run.ts';
import { redisLiveProgress } from '../../../src/queue/runs/live-progress.ts';
import type { PendingNotice } from '../../../src/queue/runs/notice-outbox.ts';
import type { RunOrder } from '../../../src/run/run-record.ts';
import type { RunResult } from '../../../src/run/run-result.ts';
import { fake } from '../../support/fake.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { anOrder, openQueueHarness, type QueueHarness, reportDefinition } from '../../support/queue-harness.ts';

const RESULT: RunResult = { state: 'done', folder: '/out', files: [], calls: [], incomplete: [], receipts: [] };
const WHO = { by: 'ada', reason: 'the wrong week' };

describe('a run that a command executes itself', () => {
  let harness: QueueHarness;
  beforeAll(async () => {
    harness = await openQueueHarness();
  });
  afterAll(() => harness.close());

  const report = reportDefinition();
  const order = (): RunOrder => anOrder({ trigger: 'cli', slot: 'trigger:1', digest: report.definition.digest });
  const leases = (leaseMs?: number) =>
    redisInlineLeases(harness.producer, { prefix: harness.prefix, ...(leaseMs === undefined ? {} : { leaseMs }) });
  const make = (of: RunOrder, work: InlineWork, given: InlineLeases = leases(), clock = systemClock) => {
    const { prefix, producer, runs } = harness;
    const definitions = definitionStore(producer, { prefix, keepDays: 30, reportSchema: reportFileSchema });
    const ports = {
      runs,
      definitions,
      leases: given,
      live: redisLiveProgress(producer, { prefix }),
      clock,
      log: silentLog,
    };
    const context = { signal: new AbortController().signal, observe: () => {} };
    return recordInlineRun(of, report, ports, context, work);
  };
  const ending = async (rows: readonly DeliveryRow[] = []) => {
    const owed: PendingNotice[] = [];
    const ended = await failAbandoned({
      runs: harness.runs,
      leases: leases(),
      noticeOutbox: fake({ enqueue: async (notice) => void owed.push(notice) }),
      rowsAtEnd: async () => rows,
      clock: systemClock,
      log: silentLog,
    });
    return { ended, owed: owed.map(({ run }) => run) };
  };
  const runs = () => harness.runs;
  const queue = () => harness.queue;
  const inMinutes = (minutes: number) => manualClock(Date.now() + minutes * 60_000);
  const requeue = (clock = inMinutes(10)) => requeueOrphans({ runs: runs(), queue: queue(), clock, log: silentLog });

  it('is recorded while it runs and after it ended, and is never enqueued', async () => {
    const of = order();
    let meanwhile: unknown;
    await make(of, async () => {
      meanwhile = await runs().get(of.id);
      expect(await requeue()).toBe(0);
      return done(RESULT);
    });
    expect(meanwhile).toMatchObject({ state: 'running', starts: 1 });
    expect(await runs().get(of.id)).toMatchObject({ state: 'done', trigger: 'cli' });
    expect(await queue().findOrphaned([of.id])).toEqual([of.id]);
    expect(await leases(0).expired(10)).toEqual([]);
    const store = definitionStore(harness.producer, {
      prefix: harness.prefix,
      keepDays: 30,
      reportSchema: reportFileSchema,
    });
    expect(await store.get(of.digest)).toEqual(report);
  });

  it('is recorded as failed or cancelled, depending on its work', async () => {
    const states = new Map<string, InlineWork>([
      ['failed', async () => fail(new DocketError('api.unreachable', 'Nobody answers.'))],
      ['cancelled', async () => cancel('Stopped by SIGINT.')],
      ['failed ', () => Promise.reject(new Error('unforeseen'))],
    ]);
    for (const [state, work] of states) {
      const of = order();
      await make(of, work);
      expect((await runs().get(of.id))?.state).toBe(state.trim());
    }
  });

  it('is cancelled on request, and its work gets the signal', async () => {
    const of = order();
    let began = () => {};
    const begun = new Promise<void>((resolve) => {
      began = resolve;
    });
    const made = make(of, ({ signal }) => {
      began();
      return new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve(cancel(String(signal.reason))));
      });
    });
    await begun;
    const ports = { runs: runs(), queue: queue(), clock: systemClock, log: silentLog };
    await cancelRun(of.id, WHO, ports);
    expect(await made).toMatchObject({ kind: 'cancel' });
    expect(await runs().get(of.id)).toMatchObject({ state: 'cancelled', error: { code: 'run.cancelled' } });
  });

  it('stops once another process has given it up', async () => {
    const of = order();
    const own = leases();
    // The lease is gone when the run first wants to renew it.
    const clock = { ...systemClock, now: () => Date.now() + elapsed };
    let elapsed = 0;
    const outcome = await make(
      of,
      async ({ signal }) => {
        await own.release(of.id);
        elapsed = 60_000;
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        return cancel(String(signal.reason));
      },
      own,
      clock,
    );
    expect(outcome).toMatchObject({ kind: 'cancel', why: expect.stringContaining('lost its connection to Redis') });
  });

  it('confirms its lease until it is given up', async () => {
    const own = leases();
    const of = order();
    const seen: unknown[] = [];
    await make(
      of,
      async ({ confirmLock }) => {
        seen.push(await confirmLock?.());
        await own.release(of.id);
        seen.push(await confirmLock?.());
        return done(RESULT);
      },
      own,
    );
    expect(seen).toEqual([120_000, 0]);
  });

  it('does not change the record once a person has retried the run', async () => {
    const of = order();
    const own = leases();
    await make(
      of,
      async () => {
        await own.release(of.id);
        await runs().update(of.id, { state: 'failed', finishedAt: 1 });
        await runs().reopen(of.id, ['failed'], { what: 'retry', ...WHO, at: Date.now() });
        return cancel('It was cut off.');
      },
      own,
    );
    expect(await runs().get(of.id)).toMatchObject({ state: 'queued', error: null });
    await runs().update(of.id, { state: 'done', finishedAt: 2 });
  });

  it('fails when its process is gone, owes its owner a notice, and is executed by a worker after a retry', async () => {
    const of = order();
    await leases(0).take(of.id);
    await runs().open(of);
    await runs().update(of.id, { state: 'running' });
    expect(await requeue()).toBe(0);
    const row = { target: '0-email', recipient: 'a@acme.example', state: 'unknown', detail: null } as const;
    expect(
      await ending([{ ...row, id: 'd', run: of.id, org: 'acme', report: 'weekly', epoch: 1, at: 1, decisions: [] }]),
    ).toEqual({ ended: 1, owed: [of.id] });
    expect(await runs().get(of.id)).toMatchObject({
      state: 'failed',
      error: { code: 'run.abandoned' },
      deliveries: [row],
    });
    expect(await ending()).toEqual({ ended: 0, owed: [] });

    await runs().reopen(of.id, ['failed'], { what: 'retry', ...WHO, at: Date.now() });
    // The process that retried it died before enqueuing it. The run now belongs to the workers.
    expect(await requeue()).toBe(1);
    expect(await queue().findOrphaned([of.id])).toEqual([]);
    await queue().remove(of.id);
    await runs().update(of.id, { state: 'failed' });
  });

  it('is cancelled without a notice if its process is gone after a cancellation', async () => {
    const of = order();
    await leases(0).take(of.id);
    await runs().open(of);
    await runs().update(of.id, { state: 'running' });
    await runs().requestCancel(of.id, { ...WHO, at: Date.now() });
    expect(await ending()).toEqual({ ended: 1, owed: [] });
    expect(await runs().get(of.id)).toMatchObject({ state: 'cancelled', cancel: WHO });
  });

  it('is left alone if it has ended, belongs to the workers, or has renewed its lease', async () => {
    const [ended, theirs, renewed] = [order(), order(), order()];
    for (const of of [ended, theirs, renewed]) {
      await leases(0).take(of.id);
      await runs().open(of);
    }
    await runs().update(ended.id, { state: 'done' });
    await runs().update(theirs.id, { state: 'failed' });
    await runs().reopen(theirs.id, ['failed'], { what: 'retry', ...WHO, at: Date.now() });
    expect(await leases().renew(renewed.id)).toBe(true);
    expect(await leases().renew('f'.repeat(32))).toBe(false);
    expect(await ending()).toEqual({ ended: 0, owed: [] });
    expect((await runs().get(theirs.id))?.state).toBe('queued');
    expect((await runs().get(renewed.id))?.state).toBe('queued');
    await runs().update(theirs.id, { state: 'done' });
    await runs().update(renewed.id, { state: 'done' });
    await leases().release(renewed.id);
  });

  it('that cannot be failed does not stop the others', async () => {
    const [broken, other] = [order(), order()];
    for (const of of [broken, other]) {
      await leases(0).take(of.id);
      await runs().open(of);
    }
    const owe = (run: string) => (run === broken.id ? Promise.reject(new Error('full')) : Promise.resolve());
    const ended = await failAbandoned({
      runs: runs(),
      leases: leases(),
      noticeOutbox: fake({ enqueue: ({ run }) => owe(run) }),
      rowsAtEnd: async () => [],
      clock: systemClock,
      log: silentLog,
    });
    expect(ended).toBe(1);
    expect((await runs().get(other.id))?.state).toBe('failed');
    expect((await runs().get(broken.id))?.state).toBe('queued');
    expect((await ending()).owed).toEqual([broken.id]);
  });
});
