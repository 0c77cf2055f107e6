import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { redisRunStore } from '../../src/queue/run-store.ts';
import { aBench, anOrder, type Bench } from '../support/queue-bench.ts';

describe('the record of runs', () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await aBench();
  });
  afterAll(() => bench.close());

  it('opens a slot once and gives the second comer the first record', async () => {
    const order = anOrder();
    const first = await bench.runs.open(order);
    const second = await bench.runs.open({ ...order, createdAt: order.createdAt + 1 });
    expect(first.opened).toBe(true);
    expect(first.record).toMatchObject({ ...order, state: 'queued', startedAt: null, error: null, files: [] });
    expect(second).toEqual({ opened: false, record: first.record });
    expect(await bench.runs.get(order.id)).toEqual(first.record);
  });

  it('knows nothing of a run that was never opened', async () => {
    expect(await bench.runs.get('0'.repeat(32))).toBeUndefined();
    await expect(bench.runs.update('0'.repeat(32), { state: 'running' })).rejects.toMatchObject({
      code: 'run.not_found',
    });
  });

  it('changes what is named and leaves the rest', async () => {
    const order = anOrder();
    await bench.runs.open(order);
    await bench.runs.update(order.id, { state: 'running', startedAt: 5, calls: { planned: 3, made: 1, saved: 0 } });
    await bench.runs.update(order.id, {
      state: 'failed',
      finishedAt: 9,
      error: { code: 'api.timeout', message: 'Too late.', next: 'Wait.' },
    });
    expect(await bench.runs.get(order.id)).toEqual({
      ...order,
      state: 'failed',
      startedAt: 5,
      finishedAt: 9,
      until: null,
      starts: 0,
      attempts: 0,
      calls: { planned: 3, made: 1, saved: 0 },
      timings: {},
      tokenWaitMs: 0,
      files: [],
      deliveries: [],
      error: { code: 'api.timeout', message: 'Too late.', next: 'Wait.' },
      reopened: [],
      cancel: null,
    });
  });

  it.each(['done', 'partly_delivered', 'held', 'cancelled', 'failed'] as const)(
    'never brings back a run that is %s',
    async (state) => {
      const order = anOrder();
      await bench.runs.open(order);
      await bench.runs.update(order.id, { state, finishedAt: 1 });
      await bench.runs.update(order.id, { state: 'running', finishedAt: null });
      expect(await bench.runs.get(order.id)).toMatchObject({ state, finishedAt: 1 });
    },
  );

  it('lists newest first, by organization and by report', async () => {
    const own = await aBench();
    const orders = [1, 2, 3, 4, 5].map((n) =>
      anOrder({
        createdAt: Date.now() - 10_000 + n,
        org: n % 2 === 0 ? 'even' : 'odd',
        report: n < 3 ? 'low' : 'high',
        slot: `trigger:${n}`,
      }),
    );
    for (const order of orders) await own.runs.open(order);
    const slots = async (filter: { org?: string; report?: string }, limit = 10) =>
      (await own.runs.list({ ...filter, limit })).map((record) => record.slot.slice('trigger:'.length));
    expect(await slots({})).toEqual(['5', '4', '3', '2', '1']);
    expect(await slots({}, 2)).toEqual(['5', '4']);
    expect(await slots({ org: 'odd' })).toEqual(['5', '3', '1']);
    expect(await slots({ org: 'odd', report: 'high' })).toEqual(['5', '3']);
    expect(await slots({ report: 'low' })).toEqual(['2', '1']);
    expect(await slots({ org: 'nobody' })).toEqual([]);
    await own.close();
  });

  it('forgets runs after their time, also in its listings', async () => {
    const own = await aBench();
    const days = (n: number) => Date.now() - n * 86_400_000;
    await own.runs.open(anOrder({ createdAt: days(32), slot: 'trigger:old' }));
    await own.runs.open(anOrder({ createdAt: days(1), slot: 'trigger:new' }));
    expect((await own.runs.list({ limit: 10 })).map((record) => record.slot)).toEqual(['trigger:new']);
    await own.close();
  });

  it('does not let a client whose clock is ahead throw away the runs of others', async () => {
    const own = await aBench();
    await own.runs.open(anOrder({ slot: 'trigger:now' }));
    await own.runs.open(anOrder({ createdAt: Date.now() + 365 * 86_400_000, slot: 'trigger:ahead' }));
    expect((await own.runs.list({ limit: 10 })).map((record) => record.slot)).toEqual(['trigger:ahead', 'trigger:now']);
    await own.close();
  });

  it('keeps every key bounded in time', async () => {
    const own = await aBench();
    const order = anOrder();
    await own.runs.open(order);
    await own.runs.update(order.id, { state: 'running' });
    const keys = (await own.producer.keys(`${own.prefix}*`)).filter((key) => !key.includes(':bull:'));
    expect(keys.length).toBeGreaterThan(3);
    for (const key of keys) expect(await own.producer.pttl(key), key).toBeGreaterThan(29 * 86_400_000);
    await own.close();
  });

  it('tells which runs have not ended', async () => {
    const own = await aBench();
    const [first, second] = [anOrder({ createdAt: 1_000 }), anOrder({ createdAt: 2_000 })];
    for (const order of [second, first]) await own.runs.open({ ...order, createdAt: Date.now() - order.createdAt });
    expect((await own.runs.unfinished(Date.now(), 10)).map((run) => run.id)).toEqual([second.id, first.id]);
    expect((await own.runs.unfinished(Date.now() - 1_500, 10)).map((run) => run.id)).toEqual([second.id]);
    await own.runs.update(second.id, { state: 'done' });
    expect((await own.runs.unfinished(Date.now(), 10)).map((run) => run.id)).toEqual([first.id]);
    await own.close();
  });

  it('refuses to forget runs whose slots can still be caught up', () => {
    expect(() => redisRunStore(bench.producer, { prefix: bench.prefix, keepDays: 3 })).toThrow(/forgotten/);
  });
});
