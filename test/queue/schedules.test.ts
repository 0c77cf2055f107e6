import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { redisCursors } from '../../src/queue/cursors.ts';
import { openDue } from '../../src/queue/due.ts';
import { startReconciler } from '../../src/queue/reconciler.ts';
import { schedules, startTicks } from '../../src/queue/schedules.ts';
import { manualClock } from '../support/manual-clock.ts';
import { aBench, aReport, type Bench, linesLog, signalled } from '../support/queue-bench.ts';

const MINUTE = 60_000;

describe('schedules', () => {
  let bench: Bench;
  let log: ReturnType<typeof linesLog>;
  const closers: (() => unknown)[] = [];
  beforeEach(async () => {
    bench = await aBench();
    log = linesLog();
  });
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
    await bench.close();
  });
  const open = (clock = systemClock) => {
    const all = schedules(bench.producer, { prefix: bench.prefix, clock, log });
    closers.push(() => all.close());
    return all;
  };
  const ticks = () => bench.producer.zrangebyscore(`${bench.prefix}:bull:ticks:repeat`, '-inf', '+inf');
  const nextOf = async (name: string) => Number(await bench.producer.zscore(`${bench.prefix}:bull:ticks:repeat`, name));
  const yearly = (report: string, cron = '0 0 1 1 *') => aReport(report, { cron, timezone: 'UTC' });

  it('register what is scheduled, in its own zone', async () => {
    const all = open();
    const zoned = aReport('zoned', { cron: '0 8 1 1 *' });
    expect(await all.sync([yearly('a'), zoned, aReport('manual')])).toEqual({ registered: 2, removed: 0, repaired: 0 });
    expect(await ticks()).toEqual(['acme/a', 'acme/zoned']);
    expect(new Date(await nextOf('acme/zoned')).toISOString()).toMatch(/-01-01T07:00:00.000Z$/);
  });

  it('are left alone while nothing changes, registered anew when they do, and removed when they go', async () => {
    const all = open();
    await all.sync([yearly('a'), yearly('b')]);
    const before = await bench.producer.hgetall(`${bench.prefix}:bull:ticks:repeat:acme/a`);
    expect(await all.sync([yearly('a'), yearly('b')])).toEqual({ registered: 0, removed: 0, repaired: 0 });
    expect(await bench.producer.hgetall(`${bench.prefix}:bull:ticks:repeat:acme/a`)).toEqual(before);
    expect(await all.sync([yearly('a', '0 0 1 2 *')])).toEqual({ registered: 1, removed: 1, repaired: 0 });
    expect(await ticks()).toEqual(['acme/a']);
    expect(new Date(await nextOf('acme/a')).getUTCMonth()).toBe(1);
    expect(await open().sync([])).toEqual({ registered: 0, removed: 1, repaired: 0 });
    expect(await ticks()).toEqual([]);
  });

  it('that were lost or have stopped ticking are registered again', async () => {
    const all = open();
    await all.sync([yearly('lost'), yearly('stuck')]);
    await bench.producer.zrem(`${bench.prefix}:bull:ticks:repeat`, 'acme/lost');
    await bench.producer.zadd(`${bench.prefix}:bull:ticks:repeat`, Date.now() - 3 * MINUTE, 'acme/stuck');
    expect(await all.sync([yearly('lost'), yearly('stuck')])).toEqual({ registered: 0, removed: 0, repaired: 2 });
    expect(await nextOf('acme/lost')).toBeGreaterThan(Date.now());
    expect(await nextOf('acme/stuck')).toBeGreaterThan(Date.now());
    expect(log.lines).toMatchObject([{ level: 'warn', count: 2 }]);
  });

  it('wake us, once for each tick', async () => {
    const all = open();
    const ticked = signalled<string>();
    const listener = startTicks(bench.worker, {
      prefix: bench.prefix,
      log,
      onTick: async (report) => ticked.tell(report),
    });
    closers.push(() => listener.close());
    await listener.ready();
    await all.sync([yearly('a')]);
    // The tick that BullMQ keeps for its time is made due now.
    const [id] = await bench.producer.zrangebyscore(`${bench.prefix}:bull:ticks:delayed`, '-inf', '+inf');
    await bench.producer.zadd(`${bench.prefix}:bull:ticks:delayed`, 1, id ?? '');
    await bench.producer.zadd(`${bench.prefix}:bull:ticks:marker`, 0, '0');
    expect(await ticked.promise).toBe('acme/a');
  });

  it('that are registered anew after an outage lose no slot', async () => {
    // Everything stops before the slot; ten minutes after it five processes boot at once, with a changed file.
    const clock = manualClock(Date.parse('2026-11-16T00:59:00Z'));
    const cursors = redisCursors(bench.producer, bench);
    const report = aReport('nightly', { cron: '0 1 * * *', timezone: 'UTC' });
    await open(clock).sync([report]);
    await openDue([report], { cursors, trigger: bench.trigger, clock, log });
    await bench.producer.zadd(`${bench.prefix}:bull:ticks:repeat`, Date.parse('2026-11-16T01:00:00Z'), 'acme/nightly');
    clock.set(Date.parse('2026-11-16T01:10:00Z'));
    const changed = aReport('nightly', { cron: '0 1 * * 0-6', timezone: 'UTC' });
    const processes = await Promise.all(Array.from({ length: 5 }, () => aBench(clock, bench.prefix)));
    await Promise.all(
      processes.map(async (one, n) => {
        const all = schedules(one.producer, { prefix: one.prefix, clock, log });
        const version = n % 2 === 0 ? report : changed;
        await all.sync([version]);
        await openDue([version], { cursors: redisCursors(one.producer, one), trigger: one.trigger, clock, log });
        await all.close();
      }),
    );
    expect((await bench.runs.list({ limit: 10 })).map((record) => record.slot)).toEqual(['2026-11-16T01:00:00.000Z']);
    for (const one of processes) await one.close();
  });
});

describe('the reconciler', () => {
  it('looks at once and every minute, goes on after a failure, and stops when it is closed', async () => {
    const clock = manualClock(0);
    const log = linesLog();
    const looks: string[] = [];
    const reconciler = startReconciler({
      clock,
      log,
      steps: [
        async () => {
          looks.push(`first at ${clock.now()}`);
          throw new Error('Redis is away');
        },
        async () => looks.push(`second at ${clock.now()}`),
      ],
    });
    await clock.slept();
    clock.advance(60_000);
    await clock.slept();
    await reconciler.close();
    clock.advance(60_000);
    expect(looks).toEqual(['first at 0', 'second at 0', 'first at 60000', 'second at 60000']);
    expect(log.lines.map((line) => line.level)).toEqual(['error', 'error']);
  });
});
