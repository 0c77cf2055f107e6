import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { jitterMs } from '../../../src/definitions/schedules/slots.ts';
import type { FrozenDefinition } from '../../../src/queue/definitions/definition-store.ts';
import { DEFAULT_CATCH_UP_WINDOW_MS, decideCatchUp } from '../../../src/queue/schedules/catch-up.ts';
import { createDueSlotCache } from '../../../src/queue/schedules/due-slots.ts';
import { type DueSlotPorts, openDueSlots } from '../../../src/queue/schedules/open-due-slots.ts';
import { cursorNames } from '../../../src/queue/schedules/report-schedules.ts';
import { redisScheduleCursors } from '../../../src/queue/schedules/schedule-cursors.ts';
import { redisKeys } from '../../../src/redis/keys.ts';
import { type ManualClock, manualClock } from '../../support/manual-clock.ts';
import { openQueueHarness, type QueueHarness, recordingLog, reportDefinition } from '../../support/queue-harness.ts';

const MINUTE = 60_000;
const HOUR = 3_600_000;
const DAY = 86_400_000;
const at = (text: string) => Date.parse(text);

describe('the catch-up decision', () => {
  const now = at('2026-11-18T12:00:00Z');

  it('opens all slots that are on time, whatever catch_up is', () => {
    for (const catchUp of ['skip', 'latest', 'all'] as const) {
      expect(decideCatchUp([now - MINUTE, now], now, { catchUp, windowMs: DEFAULT_CATCH_UP_WINDOW_MS })).toEqual({
        open: [now - MINUTE, now],
        skipped: [],
      });
    }
  });

  it('opens none, the latest or all of the missed slots, as catch_up says', () => {
    const missed = [now - 3 * HOUR, now - 2 * HOUR, now - HOUR];
    expect(decideCatchUp(missed, now, { catchUp: 'skip', windowMs: DEFAULT_CATCH_UP_WINDOW_MS }).open).toEqual([]);
    expect(decideCatchUp(missed, now, { catchUp: 'latest', windowMs: DEFAULT_CATCH_UP_WINDOW_MS }).open).toEqual([
      now - HOUR,
    ]);
    expect(decideCatchUp(missed, now, { catchUp: 'all', windowMs: DEFAULT_CATCH_UP_WINDOW_MS }).open).toEqual(missed);
    expect(decideCatchUp(missed, now, { catchUp: 'latest', windowMs: DEFAULT_CATCH_UP_WINDOW_MS }).skipped).toEqual([
      { slot: now - 3 * HOUR, why: 'superseded' },
      { slot: now - 2 * HOUR, why: 'superseded' },
    ]);
  });

  it('skips missed slots if the latest slot is on time', () => {
    expect(decideCatchUp([now - HOUR, now], now, { catchUp: 'latest', windowMs: DEFAULT_CATCH_UP_WINDOW_MS })).toEqual({
      open: [now],
      skipped: [{ slot: now - HOUR, why: 'superseded' }],
    });
  });

  it('skips slots that are older than three days', () => {
    const old = now - DEFAULT_CATCH_UP_WINDOW_MS - 1;
    for (const catchUp of ['skip', 'latest', 'all'] as const) {
      expect(decideCatchUp([old], now, { catchUp, windowMs: DEFAULT_CATCH_UP_WINDOW_MS })).toEqual({
        open: [],
        skipped: [{ slot: old, why: 'too_old' }],
      });
    }
  });

  it('opens or skips each slot exactly once', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.integer({ min: 0, max: 10 * DAY }), { maxLength: 60 }),
        fc.constantFrom('skip', 'latest', 'all'),
        (ages, catchUp) => {
          const slots = ages.map((age) => now - age).sort((a, b) => a - b);
          const { open, skipped } = decideCatchUp(slots, now, { catchUp, windowMs: DEFAULT_CATCH_UP_WINDOW_MS });
          expect([...open, ...skipped.map(({ slot }) => slot)].sort((a, b) => a - b)).toEqual(slots);
          expect([...open]).toEqual([...open].sort((a, b) => a - b));
        },
      ),
    );
  });
});

describe('due slots', () => {
  let harness: QueueHarness;
  let clock: ManualClock;
  let log: ReturnType<typeof recordingLog>;
  beforeEach(async () => {
    clock = manualClock(at('2026-11-16T06:30:00Z'));
    log = recordingLog();
    harness = await openQueueHarness(clock);
  });
  afterEach(() => harness.close());

  const ports = (): DueSlotPorts => ({
    cursors: redisScheduleCursors(harness.producer, harness),
    trigger: harness.trigger,
    runs: harness.runs,
    clock,
    log,
  });
  const look = (...reports: FrozenDefinition[]) => openDueSlots(reports, ports());
  const made = async (filter: { readonly report?: string } = {}) =>
    (await harness.runs.list({ ...filter, limit: 1_000 })).filter(({ state }) => state !== 'skipped');
  const slots = async () => (await made()).map((record) => record.slot).sort();
  /** Mondays at 08:00 in Zurich: 07:00Z in winter. */
  const weekly = reportDefinition('weekly', { cron: '0 8 * * MON' });
  const hourly = (catch_up: 'skip' | 'latest' | 'all') =>
    reportDefinition(`hourly-${catch_up}`, { cron: '0 * * * *', timezone: 'UTC', catch_up });

  it('start with the first look: earlier slots are not caught up', async () => {
    clock.set(at('2026-11-16T07:00:01Z'));
    expect(await look(weekly)).toEqual({ opened: 0, skipped: 0, failed: 0 });
    clock.set(at('2026-11-23T07:00:00Z'));
    expect(await look(weekly)).toMatchObject({ opened: 1 });
    expect(await slots()).toEqual(['2026-11-23T07:00:00.000Z']);
  });

  it('are opened once, at their instant and not before', async () => {
    await look(weekly);
    clock.set(at('2026-11-16T06:59:59.999Z'));
    expect(await look(weekly)).toMatchObject({ opened: 0 });
    clock.advance(1);
    expect(await look(weekly)).toMatchObject({ opened: 1 });
    for (const ms of [0, 1, MINUTE]) {
      clock.advance(ms);
      expect(await look(weekly)).toMatchObject({ opened: 0 });
    }
    const [record] = await harness.runs.list({ limit: 2 });
    expect(record).toMatchObject({
      slot: '2026-11-16T07:00:00.000Z',
      trigger: 'schedule',
      priority: 'scheduled',
      period: { from: '2026-11-09', to: '2026-11-15' },
    });
  });

  it('missed in an outage are caught up as catch_up says; the others are counted and logged', async () => {
    const reports = [hourly('skip'), hourly('latest'), hourly('all')];
    await look(...reports);
    clock.set(at('2026-11-16T10:30:00Z'));
    expect(await look(...reports)).toEqual({ opened: 5, skipped: 4 + 3, failed: 0 });
    const of = async (report: string) => (await made({ report })).map((record) => record.slot.slice(11, 16)).sort();
    expect(await of('hourly-skip')).toEqual([]);
    expect(await of('hourly-latest')).toEqual(['10:00']);
    expect(await of('hourly-all')).toEqual(['07:00', '08:00', '09:00', '10:00']);
    expect(
      log.lines
        .filter(({ message }) => message.startsWith('Slots were skipped'))
        .map(({ count }) => count)
        .sort(),
    ).toEqual([3, 4]);
    expect(await harness.producer.hgetall(`${harness.prefix}:skipped`)).toEqual({
      'acme/hourly-skip': '4',
      'acme/hourly-latest': '3',
    });
    expect(await look(...reports)).toEqual({ opened: 0, skipped: 0, failed: 0 });
  });

  it('missed in an outage of ten days are caught up for the last three days', async () => {
    const daily = reportDefinition('daily', { cron: '0 0 * * *', timezone: 'UTC', catch_up: 'all' });
    clock.set(at('2026-11-01T12:00:00Z'));
    await look(daily);
    clock.set(at('2026-11-11T12:00:00Z'));
    expect(await look(daily)).toEqual({ opened: 3, skipped: 7, failed: 0 });
    expect(await slots()).toEqual(['2026-11-09', '2026-11-10', '2026-11-11'].map((day) => `${day}T00:00:00.000Z`));
  });

  it('are opened once, and skipped ones counted once, by processes that look at the same time', async () => {
    const others = [await openQueueHarness(clock, harness.prefix), await openQueueHarness(clock, harness.prefix)];
    const reports = Array.from({ length: 20 }, (_, n) =>
      reportDefinition(`r${n}`, { cron: '0 * * * *', timezone: 'UTC', catch_up: 'latest' }),
    );
    await look(...reports);
    clock.set(at('2026-11-16T09:30:00Z'));
    const ends = await Promise.all(
      [harness, ...others].map((one) =>
        openDueSlots(reports, {
          cursors: redisScheduleCursors(one.producer, one),
          trigger: one.trigger,
          runs: one.runs,
          clock,
          log,
        }),
      ),
    );
    expect(ends.reduce((sum, end) => sum + end.opened, 0)).toBe(20);
    expect(ends.reduce((sum, end) => sum + end.skipped, 0)).toBe(40);
    expect(await made()).toHaveLength(20);
    for (const other of others) await other.close();
  });

  it('are not opened again when the clock goes back an hour', async () => {
    await look(hourly('all'));
    clock.set(at('2026-11-16T08:00:00Z'));
    await look(hourly('all'));
    clock.advance(-HOUR);
    expect(await look(hourly('all'))).toMatchObject({ opened: 0 });
    clock.advance(HOUR + 1);
    expect(await look(hourly('all'))).toMatchObject({ opened: 0 });
    expect(await slots()).toEqual(['2026-11-16T07:00:00.000Z', '2026-11-16T08:00:00.000Z']);
  });

  it('before a change of their schedule are not opened', async () => {
    await look(reportDefinition('moved', { cron: '0 23 * * *', timezone: 'UTC' }));
    for (let n = 0; n < 6; n += 1) {
      clock.advance(10 * MINUTE);
      await look(reportDefinition('moved', { cron: '0 23 * * *', timezone: 'UTC' }));
    }
    expect(clock.now()).toBe(at('2026-11-16T07:30:00Z'));
    expect(await look(reportDefinition('moved', { cron: '0 7 * * *', timezone: 'UTC' }))).toMatchObject({ opened: 0 });
  });

  it('before a change of their schedule are not opened, even if nothing ran when it was changed', async () => {
    await look(reportDefinition('edited', { cron: '0 23 * * *', timezone: 'UTC', catch_up: 'all' }));
    clock.set(at('2026-11-16T10:30:00Z'));
    const edited = reportDefinition('edited', { cron: '0 7 * * *', timezone: 'UTC', catch_up: 'all' });
    expect(await look(edited)).toMatchObject({ opened: 0 });
    clock.set(at('2026-11-17T07:00:00Z'));
    expect(await look(edited)).toMatchObject({ opened: 1 });
  });

  it('open again after a clock was far ahead, and none opens twice', async () => {
    await look(weekly);
    clock.set(at('2026-12-16T12:00:00Z'));
    await look(weekly);
    const before = await slots();
    clock.set(at('2026-11-16T06:40:00Z'));
    expect(await look(weekly)).toMatchObject({ opened: 0 });
    expect(log.lines).toContainEqual(expect.objectContaining({ level: 'warn', count: 1 }));
    clock.set(at('2026-11-16T07:00:00Z'));
    expect(await look(weekly)).toMatchObject({ opened: 1 });
    expect(await slots()).toEqual(['2026-11-16T07:00:00.000Z', ...before]);
  });

  it('that a process with a clock far ahead has skipped are opened by a process that looks when they come due', async () => {
    const daily = reportDefinition('daily', { cron: '0 7 * * *', timezone: 'UTC', catch_up: 'latest' });
    const memory = createDueSlotCache();
    const remembering = () => openDueSlots([daily], ports(), memory);
    await remembering();
    clock.set(at('2026-11-16T06:59:00Z'));
    await remembering();
    clock.set(at('2026-11-19T06:59:00Z'));
    expect(await look(daily)).toMatchObject({ opened: 1, skipped: 2 });
    clock.set(at('2026-11-16T07:00:00Z'));
    await remembering();
    clock.advance(MINUTE);
    await remembering();
    expect(await slots()).toEqual(['2026-11-16T07:00:00.000Z', '2026-11-18T07:00:00.000Z']);
  });

  it('that cannot be opened stay due and do not stop the others', async () => {
    const [broken, sound] = [
      reportDefinition('broken', { cron: '0 7 * * *', timezone: 'UTC' }),
      reportDefinition('sound', { cron: '0 7 * * *', timezone: 'UTC' }),
    ];
    await look(broken, sound);
    clock.set(at('2026-11-16T07:00:00Z'));
    const cursors = redisScheduleCursors(harness.producer, harness);
    const failing = (request: Parameters<typeof harness.trigger>[0]) =>
      request.definition.report === 'broken' ? Promise.reject(new Error('no')) : harness.trigger(request);
    expect(await openDueSlots([broken, sound], { cursors, trigger: failing, runs: harness.runs, clock, log })).toEqual({
      opened: 1,
      skipped: 0,
      failed: 1,
      stuck: at('2026-11-16T07:00:00Z'),
    });
    expect(log.lines).toContainEqual(expect.objectContaining({ level: 'error', report: 'broken' }));
    clock.advance(MINUTE);
    expect(await look(broken, sound)).toEqual({ opened: 1, skipped: 0, failed: 0 });
  });

  it('whose cursor cannot be read start again with an error in the log, and delay no other schedule', async () => {
    const [broken, sound] = [
      reportDefinition('broken', { cron: '0 7 * * *', timezone: 'UTC' }),
      reportDefinition('sound', { cron: '0 7 * * *', timezone: 'UTC' }),
    ];
    await look(broken, sound);
    for (const cursor of cursorNames(broken)) await harness.producer.hset(`${harness.prefix}:cursors`, cursor, 'odd');
    clock.set(at('2026-11-16T07:00:00Z'));
    expect(await look(broken, sound)).toEqual({ opened: 1, skipped: 0, failed: 0 });
    expect(log.lines).toContainEqual(
      expect.objectContaining({ level: 'error', org: broken.definition.org, report: 'broken' }),
    );
    clock.set(at('2026-11-17T07:00:00Z'));
    expect(await look(broken, sound)).toEqual({ opened: 2, skipped: 0, failed: 0 });
  });

  it('are not looked for in reports without a schedule', async () => {
    expect(await look(reportDefinition('manual'))).toEqual({ opened: 0, skipped: 0, failed: 0 });
    expect(await harness.producer.exists(`${harness.prefix}:cursors`)).toBe(0);
  });

  it('are caught up as far back as catch_up_window says', async () => {
    const spec = { cron: '0 * * * *', timezone: 'UTC', catch_up: 'all' } as const;
    const short = reportDefinition('short', { ...spec, catch_up_window: '1h' });
    const long = reportDefinition('long', { ...spec, catch_up_window: '4d' });
    await look(short, long);
    clock.advance(4 * DAY);
    expect(await look(short, long)).toEqual({ opened: 1 + 96, skipped: 95, failed: 0 });
  });

  it('start later by the jitter of their schedule, and at once when overdue', async () => {
    const spread = reportDefinition('spread', { cron: '0 * * * *', timezone: 'UTC', jitter: '1h', catch_up: 'all' });
    await look(spread);
    clock.set(at('2026-11-16T07:00:00Z'));
    await look(spread);
    const [record] = await made();
    const delayOf = async (id = '') =>
      Number(await harness.producer.hget(`${harness.prefix}:bull:runs:${id}`, 'delay'));
    const delay = jitterMs('acme', 'spread', clock.now(), { jitter: 3600 });
    expect(record).toMatchObject({ slot: '2026-11-16T07:00:00.000Z', state: 'queued' });
    expect(await delayOf(record?.id)).toBe(delay);
    expect(delay).toBeGreaterThan(0);
    clock.set(at('2026-11-16T10:00:00Z'));
    await look(spread);
    const missed = (await made()).find(({ slot }) => slot.includes('T08'));
    expect(await delayOf(missed?.id)).toBe(0);
  });

  it('that are skipped are recorded once each, with the reason', async () => {
    const reports = [hourly('skip'), hourly('latest')];
    await look(...reports);
    clock.set(at('2026-11-16T09:30:00Z'));
    await Promise.all([look(...reports), look(...reports)]);
    const reported = (await harness.runs.list({ limit: 10 })).map(({ report, slot, state, error, finishedAt }) => [
      `${report} ${slot.slice(11, 16)} ${state}`,
      error?.got,
      finishedAt,
    ]);
    expect(reported.sort()).toEqual([
      ['hourly-latest 07:00 skipped', 'superseded', clock.now()],
      ['hourly-latest 08:00 skipped', 'superseded', clock.now()],
      ['hourly-latest 09:00 queued', undefined, null],
      ['hourly-skip 07:00 skipped', 'catch_up', clock.now()],
      ['hourly-skip 08:00 skipped', 'catch_up', clock.now()],
      ['hourly-skip 09:00 skipped', 'catch_up', clock.now()],
    ]);
    expect(await harness.runs.unfinished(clock.now() + 1, 10)).toHaveLength(1);
    expect(await harness.producer.hgetall(`${harness.prefix}:skipped`)).toEqual({
      'acme/hourly-skip': '3',
      'acme/hourly-latest': '2',
    });
  });

  it('skipped by the thousand leave a hundred records, of which the oldest describes the others', async () => {
    const often = reportDefinition('often', { cron: '* * * * *', timezone: 'UTC', catch_up: 'skip' });
    await look(often);
    clock.advance(2 * DAY);
    const { opened, skipped } = await look(often);
    // Slots of the last five minutes are on time.
    expect([opened, skipped]).toEqual([6, 2 * 24 * 60 - 6]);
    const records = (await harness.runs.list({ limit: 1_000 })).filter(({ state }) => state === 'skipped');
    expect(records).toHaveLength(100);
    const [oldest, ...others] = records.sort((a, b) => a.slot.localeCompare(b.slot));
    expect(oldest?.error?.message).toContain(`${skipped - 100} before it, from 2026-11-16T06:31:00.000Z to`);
    for (const { error } of others) expect(error?.message).not.toContain('before it');
    expect(await harness.producer.hget(`${harness.prefix}:skipped`, 'acme/often')).toBe(String(skipped));
  });

  it('of several schedules at the same instant are one slot, and each schedule has its own catch_up', async () => {
    const both = reportDefinition('both', [
      { cron: '0 * * * *', timezone: 'UTC', catch_up: 'skip' },
      { cron: '0 8,9 * * *', timezone: 'UTC', catch_up: 'all' },
    ]);
    await look(both);
    clock.set(at('2026-11-16T10:30:00Z'));
    expect(await look(both)).toEqual({ opened: 2, skipped: 2, failed: 0 });
    expect(await slots()).toEqual(['2026-11-16T08:00:00.000Z', '2026-11-16T09:00:00.000Z']);
    expect(await harness.producer.hlen(`${harness.prefix}:cursors`)).toBe(2);
  });

  it('of a paused report are skipped once they are too old', async () => {
    const daily = reportDefinition('daily', { cron: '0 0 * * *', timezone: 'UTC', catch_up: 'all' });
    await look(daily);
    const paused = () =>
      openDueSlots([daily], { ...ports(), paused: async () => new Map([['acme/daily', 'holidays']]) });
    clock.set(at('2026-11-18T12:00:00Z'));
    expect(await paused()).toEqual({ opened: 0, skipped: 0, failed: 0 });
    clock.set(at('2026-11-21T12:00:00Z'));
    expect(await paused()).toEqual({ opened: 0, skipped: 2, failed: 0 });
    expect(await paused()).toEqual({ opened: 0, skipped: 0, failed: 0 });
    expect(await look(daily)).toEqual({ opened: 3, skipped: 0, failed: 0 });
    const skipped = (await harness.runs.list({ limit: 10 })).filter(({ state }) => state === 'skipped');
    expect(skipped.map(({ slot, error }) => [slot.slice(0, 10), error?.got]).sort()).toEqual([
      ['2026-11-17', 'paused'],
      ['2026-11-18', 'paused'],
    ]);
  });

  it('need reads only when one may be due, in a process that remembers its last look', async () => {
    const memory = createDueSlotCache();
    let reads = 0;
    const { cursors, ...others } = ports();
    const counting = {
      ...others,
      cursors: {
        ...cursors,
        read: (names: readonly string[]) => {
          reads += 1;
          return cursors.read(names);
        },
      },
    };
    const remembering = () => openDueSlots([weekly], counting, memory);
    await remembering();
    await remembering();
    expect(reads).toBe(2);
    for (let n = 0; n < 20; n += 1) {
      clock.advance(MINUTE);
      await remembering();
    }
    // It still reads now and then, because Redis may have been rolled back.
    expect(reads).toBe(6);
    clock.set(at('2026-11-16T07:00:00Z'));
    expect(await remembering()).toMatchObject({ opened: 1 });
    clock.advance(-HOUR);
    await remembering();
    expect(reads).toBeGreaterThan(3);
    clock.set(at('2026-11-23T07:00:00Z'));
    expect(await remembering()).toMatchObject({ opened: 1 });
  });

  it('are not lost when Redis loses or rolls back its cursors', async () => {
    const memory = createDueSlotCache();
    const remembering = () => openDueSlots([weekly], ports(), memory);
    await remembering();
    await remembering();
    const { producer, prefix } = harness;
    const forget = async () => {
      const keys = await producer.keys(`${prefix}*`);
      if (keys.length > 0) await producer.del(...keys);
    };
    await forget();
    clock.set(at('2026-11-16T07:00:00Z'));
    expect(await remembering()).toMatchObject({ opened: 1 });
    clock.advance(MINUTE);
    await remembering();
    // Redis has lost its last writes: the run and the new position of the cursor.
    const { cursors } = redisKeys(prefix);
    const names = await producer.hkeys(cursors);
    await forget();
    for (const name of names) await producer.hset(cursors, name, at('2026-11-16T06:59:30Z'));
    clock.advance(5 * MINUTE);
    expect(await remembering()).toMatchObject({ opened: 1 });
  });
});
