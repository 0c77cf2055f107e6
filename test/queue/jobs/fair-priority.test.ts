import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { done, snooze } from '../../../src/base/outcome.ts';
import { resumedPriority } from '../../../src/queue/jobs/fair-priority.ts';
import { type Execute, type RunWorker, startWorker } from '../../../src/queue/jobs/worker.ts';
import type { RunOrder } from '../../../src/run/run-record.ts';
import { anOrder, deferred, openQueueHarness, type QueueHarness, recordingLog } from '../../support/queue-harness.ts';
import { waitFor } from '../../support/wait-for.ts';

const RESULT = { state: 'done', folder: '', files: [], calls: [], incomplete: [], receipts: [] } as const;

describe('fair turns', () => {
  let harness: QueueHarness;
  const workers: RunWorker[] = [];
  beforeEach(async () => {
    harness = await openQueueHarness();
  });
  afterEach(async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.close(0)));
    await harness.close();
  });

  const add = async (org: string, change: Partial<RunOrder> = {}): Promise<string> => {
    const order = anOrder({ org, ...change });
    await harness.runs.open(order);
    await harness.queue.enqueue(order);
    return order.id;
  };
  const start = (execute: Execute, concurrency: number): void => {
    const { worker: connection, prefix, runs: store } = harness;
    workers.push(
      startWorker({ connection, prefix, store, execute, clock: systemClock, log: recordingLog(), concurrency }),
    );
  };
  /** Run ids in the order in which workers take them. */
  const line = () => harness.producer.zrange(`${harness.prefix}:bull:runs:prioritized`, 0, '-1');

  it('let twenty organizations with two runs each pass a backlog of 2,000 within two rounds', async () => {
    const orgs = new Map<string, string>();
    for (let n = 0; n < 2_000; n += 200) {
      await Promise.all(Array.from({ length: 200 }, async () => orgs.set(await add('big'), 'big')));
    }
    for (const turn of ['first', 'second']) {
      for (let n = 0; n < 20; n += 1) orgs.set(await add(`small-${n}`), turn);
    }
    const order = (await line()).map((id) => orgs.get(id));
    expect(order.slice(0, 42).filter((whose) => whose !== 'big')).toEqual([
      ...Array.from({ length: 20 }, () => 'first'),
      ...Array.from({ length: 20 }, () => 'second'),
    ]);
  });

  it('start at the round being served, so that a late organization gets no advantage', async () => {
    const mine: string[] = [];
    for (let n = 0; n < 10; n += 1) mine.push(await add('early'));
    // Half of them are served.
    await harness.producer.zrem(`${harness.prefix}:bull:runs:prioritized`, ...mine.slice(0, 5));
    const late: string[] = [];
    for (let n = 0; n < 3; n += 1) late.push(await add('late'));
    expect(await line()).toEqual([mine[5], late[0], mine[6], late[1], mine[7], late[2], mine[8], mine[9]]);
  });

  it('start at the round being served, even if resumed runs are ahead of it', async () => {
    const mine: string[] = [];
    for (let n = 0; n < 6; n += 1) mine.push(await add('early'));
    const set = `${harness.prefix}:bull:runs:prioritized`;
    await harness.producer.zrem(set, ...mine.slice(0, 2));
    const woken = mine.slice(2, 4);
    for (const id of woken) await harness.producer.zadd(set, resumedPriority('scheduled') * 2 ** 32, id);
    const late = [await add('late'), await add('late')];
    expect((await line()).slice(2)).toEqual([mine[4], late[0], mine[5], late[1]]);
  });

  it('are counted per priority: on demand first, then scheduled, then backfill', async () => {
    const ids: string[] = [];
    for (const priority of ['backfill', 'scheduled', 'on_demand'] as const) {
      for (let n = 0; n < 3; n += 1) ids.push(await add('acme', { priority }));
    }
    expect(await line()).toEqual([...ids.slice(6), ...ids.slice(3, 6), ...ids.slice(0, 3)]);
  });

  it('keep one organization’s 500 runs on demand from delaying another’s scheduled run', async () => {
    for (let n = 0; n < 500; n += 1) await add('flood', { priority: 'on_demand' });
    const scheduled = await add('other');
    expect((await line()).indexOf(scheduled)).toBeLessThan(20);
  });

  it('start from zero when the queue is empty, and a run that is already queued takes no second turn', async () => {
    const order = anOrder();
    await harness.runs.open(order);
    for (let n = 0; n < 50; n += 1) await harness.queue.enqueue(order);
    const next = await add('other');
    const third = await add('acme');
    expect(await line()).toEqual([order.id, next, third]);
    await harness.producer.del(`${harness.prefix}:bull:runs:prioritized`);
    await harness.producer.hset(`${harness.prefix}:turns`, 'at', Date.now() - 1_000);
    await add('acme');
    const { at, ...turns } = await harness.producer.hgetall(`${harness.prefix}:turns`);
    expect(turns).toEqual({ round: '1', 'acme:scheduled': '2' });
    expect(Number(at)).toBeGreaterThan(0);
  });

  it('let a resumed run continue before runs that have not started', async () => {
    const ran: string[] = [];
    const all = deferred();
    for (let n = 0; n < 60; n += 1) await add('acme', { report: `r${n}` });
    let slept = false;
    start(async ({ report }) => {
      ran.push(report);
      if (report === 'r40' && !slept) {
        slept = true;
        return snooze(Date.now(), 'no token');
      }
      if (ran.length === 61) all.tell();
      return done(RESULT);
    }, 1);
    await all.promise;
    const woke = await harness.producer.hgetall(
      `${harness.prefix}:bull:runs:${(await harness.runs.list({ org: 'acme', report: 'r40', limit: 1 }))[0]?.id}`,
    );
    expect(Number(woke.priority)).toBeLessThan(40);
    expect(ran.filter((report) => report === 'r40')).toHaveLength(2);
  });

  it('let one organization use all slots of a worker only while no other organization waits', async () => {
    const held = deferred();
    const both = deferred();
    const started: string[] = [];
    for (let n = 0; n < 3; n += 1) await add('big', { priority: 'on_demand' });
    await add('small', { priority: 'backfill' });
    start(async ({ org }) => {
      started.push(org);
      if (started.length === 3) both.tell();
      await held.promise;
      return done(RESULT);
    }, 3);
    await both.promise;
    expect(started.toSorted()).toEqual(['big', 'big', 'small']);
    held.tell();
    await waitFor(
      'three runs to be done',
      async () => (await harness.runs.list({ org: 'big', states: ['done'], limit: 5 })).length === 3,
    );
  });

  it('let one organization use all slots of a worker when it is alone', async () => {
    const held = deferred();
    const all = deferred();
    let count = 0;
    for (let n = 0; n < 3; n += 1) await add('big');
    start(async () => {
      count += 1;
      if (count === 3) all.tell();
      await held.promise;
      return done(RESULT);
    }, 3);
    await all.promise;
    held.tell();
  });
});
