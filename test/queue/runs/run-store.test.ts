import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newestFirst } from '../../../src/queue/runs/run-index.ts';
import { redisRunStore } from '../../../src/queue/runs/run-store.ts';
import { redisKeys } from '../../../src/redis/keys.ts';
import { listRunPage, parseRunCursor, type RunPage } from '../../../src/run/run-page.ts';
import { RUN_STATES, type RunFilter, type RunState } from '../../../src/run/run-record.ts';
import { anOrder, openQueueHarness, type QueueHarness, recordingLog } from '../../support/queue-harness.ts';

describe('the run store', () => {
  let harness: QueueHarness;
  beforeAll(async () => {
    harness = await openQueueHarness();
  });
  afterAll(() => harness.close());

  it('opens a slot once and returns the first record to the second caller', async () => {
    const order = anOrder();
    const first = await harness.runs.open(order);
    const second = await harness.runs.open({ ...order, createdAt: order.createdAt + 1 });
    expect(first.opened).toBe(true);
    expect(first.record).toMatchObject({ ...order, state: 'queued', startedAt: null, error: null, files: [] });
    expect(second).toEqual({ opened: false, record: first.record });
    expect(await harness.runs.get(order.id)).toEqual(first.record);
  });

  it('returns nothing for a run that was never opened, and refuses to update it', async () => {
    expect(await harness.runs.get('0'.repeat(32))).toBeUndefined();
    await expect(harness.runs.update('0'.repeat(32), { state: 'running' })).rejects.toMatchObject({
      code: 'run.not_found',
    });
  });

  it('updates only the given fields', async () => {
    const order = anOrder();
    await harness.runs.open(order);
    await harness.runs.update(order.id, { state: 'running', startedAt: 5, calls: { planned: 3, made: 1, saved: 0 } });
    await harness.runs.update(order.id, {
      state: 'failed',
      finishedAt: 9,
      error: { code: 'api.timeout', message: 'Too late.', next: 'Wait.' },
    });
    expect(await harness.runs.get(order.id)).toEqual({
      ...order,
      state: 'failed',
      startedAt: 5,
      finishedAt: 9,
      until: null,
      starts: 0,
      attempts: 0,
      losses: { all: 0, stuck: 0, far: 0 },
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
    'never reopens a run that is %s by an update',
    async (state) => {
      const order = anOrder();
      await harness.runs.open(order);
      await harness.runs.update(order.id, { state, finishedAt: 1 });
      await harness.runs.update(order.id, { state: 'running', finishedAt: null });
      expect(await harness.runs.get(order.id)).toMatchObject({ state, finishedAt: 1 });
    },
  );

  it('lists newest first, by organization and by report', async () => {
    const own = await openQueueHarness();
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

  it('finds runs by state, organization, report and time, regardless of their earlier states', async () => {
    const own = await openQueueHarness();
    const at = Date.now() - 100_000;
    const orders = Array.from({ length: 12 }, (_, n) =>
      anOrder({ createdAt: at + n, org: n % 2 === 0 ? 'even' : 'odd', report: n < 6 ? 'low' : 'high', slot: `${n}` }),
    );
    for (const order of orders) await own.runs.open(order);
    const to = async (n: number, ...states: RunState[]) => {
      for (const state of states) await own.runs.update(orders[n]?.id ?? '', { state });
    };
    await to(1, 'running', 'waiting', 'failed');
    await to(4, 'running', 'done');
    await to(7, 'running', 'failed');
    await to(8, 'running', 'waiting');
    await to(10, 'held');
    const found = async (filter: Omit<RunFilter, 'limit'>, limit = 20) =>
      (await own.runs.list({ ...filter, limit })).map(({ slot }) => Number(slot));
    expect(await found({ states: ['failed'] })).toEqual([7, 1]);
    expect(await found({ states: ['failed', 'held', 'done'] })).toEqual([10, 7, 4, 1]);
    expect(await found({ states: ['failed'], org: 'odd', report: 'low' })).toEqual([1]);
    expect(await found({ states: ['waiting'], org: 'even' })).toEqual([8]);
    expect(await found({ states: ['queued'], report: 'high' })).toEqual([11, 9, 6]);
    expect(await found({ states: ['running'] })).toEqual([]);
    expect(await found({ states: ['queued'], since: at + 3, until: at + 9 })).toEqual([6, 5, 3]);
    expect(await found({ since: at + 9 })).toEqual([11, 10, 9]);
    expect(await found({ states: [...RUN_STATES] }, 3)).toEqual([11, 10, 9]);
    await own.runs.reopen(orders[7]?.id ?? '', ['failed'], { what: 'retry', by: 'ada', reason: 'r', at: 1 });
    expect(await found({ states: ['failed'] })).toEqual([1]);
    expect(await found({ states: ['queued'], org: 'odd', report: 'high' })).toEqual([11, 9, 7]);
    await own.close();
  });

  it('pages through runs of the same instant, each exactly once', async () => {
    const own = await openQueueHarness();
    const at = Date.now() - 100_000;
    const orders = Array.from({ length: 700 }, (_, n) =>
      anOrder({ createdAt: at + Math.floor(n / 450), org: `org-${n % 3}`, report: 'r' }),
    );
    await Promise.all(orders.map((order) => own.runs.open(order)));
    const expected = orders.toSorted(newestFirst).map(({ id }) => id);
    for (const filter of [{}, { states: ['queued', 'failed'] as const }, { report: 'r' }]) {
      const seen: string[] = [];
      let next: string | null = null;
      do {
        const page: RunPage = await listRunPage(own.runs, {
          ...filter,
          limit: 99,
          ...(next === null ? {} : { after: parseRunCursor(next) }),
        });
        seen.push(...page.runs.map(({ id }) => id));
        next = page.next;
        // Runs opened meanwhile are newer, and do not change the pages.
        await own.runs.open(anOrder({ org: 'org-0', report: 'other' }));
      } while (next !== null);
      expect(seen.filter((id) => expected.includes(id))).toEqual(expected);
    }
    expect(() => parseRunCursor('1')).toThrow(/cursor/);
    await own.close();
  });

  it('leaves unreadable records out of listings and logs them; a direct read fails', async () => {
    const log = recordingLog();
    const store = redisRunStore(harness.producer, { prefix: harness.prefix, keepDays: 90, log });
    const [good, bad] = [anOrder({ org: 'corrupt' }), anOrder({ org: 'corrupt' })];
    for (const order of [good, bad]) await store.open(order);
    await harness.producer.hset(redisKeys(harness.prefix).record(bad.id), 'calls', '{"planned":"many"}');
    expect((await store.list({ org: 'corrupt', limit: 10 })).map(({ id }) => id)).toEqual([good.id]);
    expect(log.lines).toEqual([expect.objectContaining({ run: bad.id, level: 'error' })]);
    await expect(store.get(bad.id)).rejects.toMatchObject({ code: 'run.unreadable' });
  });

  it('records a skipped slot as an ended run', async () => {
    const own = await openQueueHarness();
    const order = anOrder();
    const why = { code: 'run.skipped', message: 'Too old.' } as const;
    expect(await own.runs.skip(order, why)).toBe(true);
    expect(await own.runs.skip(order, why)).toBe(false);
    expect(await own.runs.open(order)).toMatchObject({ opened: false, record: { state: 'skipped', error: why } });
    expect(await own.runs.list({ org: 'acme', states: ['skipped'], limit: 5 })).toHaveLength(1);
    expect(await own.runs.unfinished(Date.now() + 1, 5)).toEqual([]);
    await own.close();
  });

  it('forgets expired runs, also in its listings', async () => {
    const own = await openQueueHarness();
    const { unheld } = redisKeys(own.prefix);
    const days = (n: number) => Date.now() - n * 86_400_000;
    const listed = async () => (await own.runs.list({ limit: 10 })).map((record) => record.slot);
    await own.runs.open(anOrder({ createdAt: days(42), slot: 'trigger:old' }));
    await own.runs.open(anOrder({ createdAt: days(2), slot: 'trigger:held' }));
    expect(await listed(), 'kept: nobody has said that no legal hold is in force').toEqual([
      'trigger:held',
      'trigger:old',
    ]);
    await own.producer.set(unheld, '1');
    await own.runs.open(anOrder({ createdAt: days(1), slot: 'trigger:new' }));
    expect(await listed()).toEqual(['trigger:new', 'trigger:held']);
    await own.close();
  });

  it('keeps the runs of others when the clock of one client is ahead', async () => {
    const own = await openQueueHarness();
    await own.runs.open(anOrder({ slot: 'trigger:now' }));
    await own.runs.open(anOrder({ createdAt: Date.now() + 365 * 86_400_000, slot: 'trigger:ahead' }));
    expect((await own.runs.list({ limit: 10 })).map((record) => record.slot)).toEqual(['trigger:ahead', 'trigger:now']);
    await own.close();
  });

  it('gives every key an expiry', async () => {
    const own = await openQueueHarness();
    const order = anOrder();
    await own.runs.open(order);
    await own.runs.update(order.id, { state: 'running' });
    const keys = (await own.producer.keys(`${own.prefix}*`)).filter((key) => !key.includes(':bull:'));
    expect(keys.length).toBeGreaterThan(3);
    for (const key of keys) expect(await own.producer.pttl(key), key).toBeGreaterThan(29 * 86_400_000);
    await own.close();
  });

  it('lists the runs that have not ended', async () => {
    const own = await openQueueHarness();
    const [first, second] = [anOrder({ createdAt: 1_000 }), anOrder({ createdAt: 2_000 })];
    for (const order of [second, first]) await own.runs.open({ ...order, createdAt: Date.now() - order.createdAt });
    expect((await own.runs.unfinished(Date.now(), 10)).map((run) => run.id)).toEqual([second.id, first.id]);
    expect((await own.runs.unfinished(Date.now() - 1_500, 10)).map((run) => run.id)).toEqual([second.id]);
    await own.runs.update(second.id, { state: 'done' });
    expect((await own.runs.unfinished(Date.now(), 10)).map((run) => run.id)).toEqual([first.id]);
    await own.close();
  });

  it('refuses to keep runs for less time than slots can be caught up', () => {
    expect(() => redisRunStore(harness.producer, { prefix: harness.prefix, keepDays: 31 })).toThrow(
      expect.objectContaining({ code: 'config.invalid', got: '31 days' }),
    );
  });
});
