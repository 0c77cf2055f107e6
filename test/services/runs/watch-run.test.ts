import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import { DocketError } from '../../../src/base/error.ts';
import { done, snooze } from '../../../src/base/outcome.ts';
import { type Execute, type RunWorker, startWorker } from '../../../src/queue/jobs/worker.ts';
import { type LiveProgressStore, redisLiveProgress } from '../../../src/queue/runs/live-progress.ts';
import { redisKeys } from '../../../src/redis/keys.ts';
import type { RunSnapshot } from '../../../src/run/live-progress.ts';
import { watchRun } from '../../../src/services/runs/watch-run.ts';
import { fake } from '../../support/fake.ts';
import { manualClock } from '../../support/manual-clock.ts';
import {
  deferred,
  onDemand,
  openQueueHarness,
  type QueueHarness,
  recordingLog,
  reportDefinition,
} from '../../support/queue-harness.ts';

const RESULT = { state: 'done', folder: '', files: [], calls: [], incomplete: [], receipts: [] } as const;
const fetched = (n: number, of: number) =>
  ({ type: 'fetched', call: `c${n}`, done: n, of, saved: false, tokens: 30 - n, finish: 5 }) as const;

describe('watching a run', () => {
  let harness: QueueHarness;
  let live: LiveProgressStore;
  const workers: RunWorker[] = [];
  const controllers: AbortController[] = [];
  beforeEach(async () => {
    harness = await openQueueHarness();
    live = redisLiveProgress(harness.producer, harness);
  });
  afterEach(async () => {
    for (const controller of controllers.splice(0)) controller.abort();
    await Promise.all(workers.splice(0).map((worker) => worker.close(0)));
    await harness.close();
  });

  const start = (execute: Execute, clock: Clock = systemClock): void => {
    const { worker: connection, prefix, runs: store } = harness;
    const log = recordingLog();
    workers.push(startWorker({ connection, prefix, store, execute, clock, log, concurrency: 1, backoff: () => 1 }));
  };
  const opened = async (): Promise<string> => (await harness.trigger(onDemand(reportDefinition()))).record.id;
  const eager: Clock = { now: () => Date.now(), sleep: (_, signal) => systemClock.sleep(5, signal) };
  const watch = (id: string, clock: Clock = eager) => {
    const controller = new AbortController();
    controllers.push(controller);
    return watchRun(id, controller.signal, { live, clock });
  };
  const until = async (
    news: AsyncGenerator<RunSnapshot, void, void>,
    wanted: (news: RunSnapshot) => boolean,
  ): Promise<RunSnapshot> => {
    for (;;) {
      const { value } = await news.next();
      if (value === undefined) throw new Error('it ended before');
      if (wanted(value)) return value;
    }
  };

  it('returns the run at once, then the progress of its worker, and ends with the run', async () => {
    const id = await opened();
    const news = watch(id);
    expect((await news.next()).value).toMatchObject({ record: { id, state: 'queued' }, live: null });
    const go = deferred();
    start(async (_, { observe }) => {
      observe({ type: 'begun', stage: 'plan' });
      observe({ type: 'planned', calls: 2, sections: 1 });
      observe({ type: 'begun', stage: 'fetch' });
      observe(fetched(1, 2));
      observe({ type: 'waiting', call: 'c2', until: 9, ahead: 3, tokens: 0 });
      await go.promise;
      observe({ type: 'granted', call: 'c2' });
      observe(fetched(2, 2));
      observe({ type: 'begun', stage: 'deliver' });
      return done(RESULT);
    });
    const reported = await until(news, ({ live: said }) => said !== null);
    expect(reported.live).toMatchObject({ stage: 'fetch', done: 1, of: 2, tokens: 0, ahead: 3, finish: 9 });
    go.tell();
    const last = await until(news, ({ record }) => record.state === 'done');
    expect(last).toMatchObject({ record: { calls: { made: 2 } }, live: null });
    expect(await news.next()).toEqual({ value: undefined, done: true });
    expect(await harness.producer.exists(redisKeys(harness.prefix).live(id))).toBe(0);
  });

  it('continues through retries and snoozes', async () => {
    const id = await opened();
    const news = watch(id);
    let letSleep = () => {};
    const mayFallAsleep = new Promise<void>((resolve) => {
      letSleep = resolve;
    });
    start(async (_, { attempt, observe }) => {
      observe(fetched(1, 2));
      if (attempt === 1) throw new DocketError('api.unavailable', 'Not now.');
      await mayFallAsleep;
      return attempt === 2 ? snooze(Date.now() + 60_000, 'no token') : done(RESULT);
    });
    await until(news, ({ record }) => record.state === 'running' && record.attempts === 2);
    letSleep();
    const snoozed = await until(news, ({ record }) => record.state === 'waiting' && record.attempts === 2);
    expect(snoozed.live).toBeNull();
    await harness.runs.update(id, { state: 'failed' });
    await until(news, ({ record }) => record.state === 'failed');
    expect((await news.next()).done).toBe(true);
  });

  it('reads Redis at most once a second, and returns nothing twice', async () => {
    const id = await opened();
    const clock = manualClock(0);
    let reads = 0;
    const counted = {
      get: (run: string) => {
        reads += 1;
        return live.get(run);
      },
    };
    const controller = new AbortController();
    const news = watchRun(id, controller.signal, { live: fake(counted), clock });
    await news.next();
    const next = news.next();
    for (let second = 1; second <= 5; second += 1) {
      await clock.slept();
      expect(reads).toBe(second);
      clock.advance(999);
      clock.advance(1);
    }
    await clock.slept();
    controller.abort();
    expect(await next).toEqual({ value: undefined, done: true });
  });

  it('shows a dead worker’s progress for at most a minute, and none when no worker executes the run', async () => {
    const id = await opened();
    const said = { stage: 'fetch', done: 3, of: 9, tokens: 1, ahead: null, finish: null, at: 5 } as const;
    await live.put(id, said);
    expect(await live.get(id)).toMatchObject({ live: said });
    const ttl = await harness.producer.pttl(redisKeys(harness.prefix).live(id));
    expect(ttl).toBeGreaterThan(0);
    expect(ttl).toBeLessThanOrEqual(60_000);
    // By its record, no worker executes the run.
    expect((await watch(id).next()).value).toMatchObject({ record: { state: 'queued' }, live: null });
  });

  it('ignores progress that it cannot read, such as that of a newer worker', async () => {
    const id = await opened();
    await harness.runs.update(id, { state: 'running' });
    for (const text of ['{"stage":"dance"}', 'no json']) {
      await harness.producer.set(redisKeys(harness.prefix).live(id), text);
      expect(await live.get(id)).toMatchObject({ record: { state: 'running' }, live: null });
    }
  });

  it('fails for an unknown run, and survives a short outage of Redis but not a long one', async () => {
    await expect(watch('f'.repeat(32)).next()).rejects.toMatchObject({ code: 'run.not_found' });
    const id = await opened();
    let away = false;
    let now = 0;
    const unsteady = {
      get: (run: string) => (away ? Promise.reject(new DocketError('redis.unreachable', 'Away.')) : live.get(run)),
    };
    const clock: Clock = {
      now: () => now,
      sleep: async (ms) => {
        now += ms;
        if (now === 30_000) away = false;
      },
    };
    const news = watchRun(id, new AbortController().signal, { live: fake(unsteady), clock });
    await news.next();
    away = true;
    await harness.runs.update(id, { state: 'running' });
    expect((await news.next()).value).toMatchObject({ record: { state: 'running' } });
    expect(now).toBe(30_000);
    away = true;
    await expect(news.next()).rejects.toMatchObject({ code: 'redis.unreachable' });
    expect(now).toBe(90_000);
    await expect(
      watchRun(id, new AbortController().signal, { live: fake(unsteady), clock }).next(),
    ).rejects.toMatchObject({
      code: 'redis.unreachable',
    });
  });
});
