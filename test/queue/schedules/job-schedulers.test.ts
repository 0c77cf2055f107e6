import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { DocketError } from '../../../src/base/error.ts';
import { startPeriodicTasks } from '../../../src/base/periodic.ts';
import { jobSchedulers, startTickWorker } from '../../../src/queue/schedules/job-schedulers.ts';
import { openDueSlots } from '../../../src/queue/schedules/open-due-slots.ts';
import { redisScheduleCursors } from '../../../src/queue/schedules/schedule-cursors.ts';
import { manualClock } from '../../support/manual-clock.ts';
import {
  deferred,
  openQueueHarness,
  type QueueHarness,
  recordingLog,
  reportDefinition,
} from '../../support/queue-harness.ts';

const MINUTE = 60_000;

describe('schedules', () => {
  let harness: QueueHarness;
  let log: ReturnType<typeof recordingLog>;
  const closers: (() => unknown)[] = [];
  beforeEach(async () => {
    harness = await openQueueHarness();
    log = recordingLog();
  });
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
    await harness.close();
  });
  const open = (clock = systemClock) => {
    const all = jobSchedulers(harness.producer, { prefix: harness.prefix, clock, log });
    closers.push(() => all.close());
    return all;
  };
  const repeat = () => `${harness.prefix}:bull:ticks:repeat`;
  /** The next tick of each timetable, ascending. */
  const ticks = async () =>
    (await harness.producer.zrangebyscore(repeat(), '-inf', '+inf', 'WITHSCORES'))
      .filter((_, index) => index % 2 === 1)
      .map((at) => new Date(Number(at)).toISOString().slice(4));
  const names = () => harness.producer.zrangebyscore(repeat(), '-inf', '+inf');
  const yearly = (report: string, cron = '0 0 1 1 *') => reportDefinition(report, { cron, timezone: 'UTC' });

  it('register each timetable once, in its own time zone', async () => {
    const reports = [
      yearly('a'),
      yearly('b'),
      reportDefinition('zoned', { cron: '0 8 1 1 *' }),
      reportDefinition('manual'),
    ];
    expect(await open().sync(reports)).toEqual({ registered: 2, removed: 0, repaired: 0 });
    expect(await ticks()).toEqual(['-01-01T00:00:00.000Z', '-01-01T07:00:00.000Z']);
  });

  it('keep their names of 0.2.0, whatever prepare and late_after are', async () => {
    const known = { schedules: [{ cron: '0 0 1 1 *', timezone: 'UTC', catch_up: 'latest', catch_up_window: 259_200 }] };
    const { settings } = yearly('a');
    const pattern = JSON.stringify({ ...known, timezone: settings.timezone });
    const name = createHash('sha256')
      .update(JSON.stringify([3, pattern]))
      .digest('hex')
      .slice(0, 32);
    const late = reportDefinition('late', { cron: '0 0 1 1 *', timezone: 'UTC', late_after: '30m', prepare: '2h' });
    await open().sync([yearly('a'), late]);
    expect(await names()).toEqual([name]);
  });

  it('tick at the earliest slot of all schedules of a report', async () => {
    const clock = manualClock(Date.now());
    const both = reportDefinition('both', [
      { cron: '0 0 1 1 *', timezone: 'UTC' },
      { cron: '0 8 1 1 *', timezone: 'Pacific/Kiritimati' },
    ]);
    await open(clock).sync([both]);
    expect(await ticks()).toEqual(['-12-31T18:00:00.000Z']);
  });

  it('are not touched while nothing changes, registered again after a change, and removed with their report', async () => {
    const all = open();
    await all.sync([yearly('a'), yearly('b', '0 0 1 3 *')]);
    const [name] = await names();
    const before = await harness.producer.hgetall(`${repeat()}:${name}`);
    expect(before).toHaveProperty('pattern');
    expect(await all.sync([yearly('a'), yearly('b', '0 0 1 3 *')])).toEqual({ registered: 0, removed: 0, repaired: 0 });
    expect(await harness.producer.hgetall(`${repeat()}:${name}`)).toEqual(before);
    expect(await all.sync([yearly('a', '0 0 1 2 *')])).toEqual({ registered: 1, removed: 2, repaired: 0 });
    expect(await ticks()).toEqual(['-02-01T00:00:00.000Z']);
    expect(await open().sync([])).toEqual({ registered: 0, removed: 1, repaired: 0 });
    expect(await names()).toEqual([]);
  });

  it('need two small reads while neither the reports nor BullMQ’s schedules change', async () => {
    const all = open();
    const reports = [yearly('a'), yearly('b', '0 0 1 3 *')];
    await all.sync(reports);
    const sent = vi.spyOn(harness.producer, 'sendCommand');
    await all.sync(reports);
    expect(sent.mock.calls.map(([{ name }]) => name).sort()).toEqual(['zcard', 'zcount']);
  });

  it('are registered again and counted after they were lost or stopped ticking', async () => {
    const repairs: number[] = [];
    const all = jobSchedulers(harness.producer, {
      prefix: harness.prefix,
      clock: systemClock,
      log,
      observe: (repaired) => repairs.push(repaired),
    });
    closers.push(() => all.close());
    const reports = [yearly('lost'), yearly('stuck', '0 0 1 3 *')];
    await all.sync(reports);
    const [lost = '', stuck = ''] = await names();
    const before = await ticks();
    await harness.producer.zrem(repeat(), lost);
    await harness.producer.zadd(repeat(), Date.now() - 3 * MINUTE, stuck);
    expect(await all.sync(reports)).toEqual({ registered: 0, removed: 0, repaired: 2 });
    expect(await ticks()).toEqual(before);
    expect(repairs).toEqual([2]);
    expect(log.lines).toMatchObject([{ level: 'warn', count: 2 }]);
  });

  it('wake the process once for each tick', async () => {
    const all = open();
    const ticked = deferred();
    const listener = startTickWorker(harness.worker, {
      prefix: harness.prefix,
      log,
      onTick: async () => ticked.tell(),
    });
    closers.push(() => listener.close());
    await listener.ready();
    await all.sync([yearly('a')]);
    // Makes the delayed tick due now.
    const [id] = await harness.producer.zrangebyscore(`${harness.prefix}:bull:ticks:delayed`, '-inf', '+inf');
    await harness.producer.zadd(`${harness.prefix}:bull:ticks:delayed`, 1, id ?? '');
    await harness.producer.zadd(`${harness.prefix}:bull:ticks:marker`, 0, '0');
    await ticked.promise;
  });

  it('lose no slot when they are registered again after an outage', async () => {
    // Everything stops before the slot. Ten minutes after it, five processes start at once, some with a changed file.
    const clock = manualClock(Date.parse('2026-11-16T00:59:00Z'));
    const cursors = redisScheduleCursors(harness.producer, harness);
    const report = reportDefinition('nightly', { cron: '0 1 * * *', timezone: 'UTC' });
    await open(clock).sync([report]);
    await openDueSlots([report], { cursors, trigger: harness.trigger, runs: harness.runs, clock, log });
    const [name = ''] = await names();
    await harness.producer.zadd(repeat(), Date.parse('2026-11-16T01:00:00Z'), name);
    clock.set(Date.parse('2026-11-16T01:10:00Z'));
    const changed = reportDefinition('nightly', { cron: '0 1 * * 0-6', timezone: 'UTC' });
    const processes = await Promise.all(Array.from({ length: 5 }, () => openQueueHarness(clock, harness.prefix)));
    await Promise.all(
      processes.map(async (one, n) => {
        const all = jobSchedulers(one.producer, { prefix: one.prefix, clock, log });
        const version = n % 2 === 0 ? report : changed;
        await all.sync([version]);
        await openDueSlots([version], {
          cursors: redisScheduleCursors(one.producer, one),
          trigger: one.trigger,
          runs: one.runs,
          clock,
          log,
        });
        await all.close();
      }),
    );
    expect((await harness.runs.list({ limit: 10 })).map((record) => record.slot)).toEqual(['2026-11-16T01:00:00.000Z']);
    for (const one of processes) await one.close();
  });
});

describe('the periodic tasks', () => {
  it('run at once and every minute, continue after a failure, and stop when closed', async () => {
    const clock = manualClock(0);
    const log = recordingLog();
    const looks: string[] = [];
    const reconciler = startPeriodicTasks({
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

  it('warn of a transient failure, and log an error when it lasts', async () => {
    const clock = manualClock(0);
    const log = recordingLog();
    const outcomes = [false, false, true, false];
    const tasks = startPeriodicTasks({
      clock,
      log,
      steps: [
        async () => {
          if (outcomes.shift() === false)
            throw new DocketError('redis.unreachable', 'Redis is away.', { retryable: true });
        },
      ],
    });
    for (let round = 0; round < 3; round += 1) {
      await clock.slept();
      clock.advance(MINUTE);
    }
    await clock.slept();
    await tasks.close();
    expect(log.lines.map((line) => line.level)).toEqual(['warn', 'error', 'warn']);
  });
});
