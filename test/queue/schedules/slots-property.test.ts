import fc from 'fast-check';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { silentLog } from '../../../src/base/log.ts';
import { slotsBetween } from '../../../src/definitions/schedules/slots.ts';
import type { FrozenDefinition } from '../../../src/queue/definitions/definition-store.ts';
import type { RedisRunStore } from '../../../src/queue/runs/run-store.ts';
import { createDueSlotCache, type DueSlotCache } from '../../../src/queue/schedules/due-slots.ts';
import { openDueSlots } from '../../../src/queue/schedules/open-due-slots.ts';
import { redisScheduleCursors } from '../../../src/queue/schedules/schedule-cursors.ts';
import { runId } from '../../../src/run/run-order.ts';
import type { TriggerRequest } from '../../../src/services/runs/trigger-run.ts';
import { fake } from '../../support/fake.ts';
import { cases } from '../../support/fuzz.ts';
import { manualClock } from '../../support/manual-clock.ts';
import {
  openQueueHarness,
  type QueueHarness,
  reportDefinition,
  type ScheduleSpec,
} from '../../support/queue-harness.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Around the end of summer time in Berlin, and its beginning on Lord Howe Island. */
const START = Date.parse('2026-10-01T00:00:00Z');

const schedule: fc.Arbitrary<ScheduleSpec> = fc
  .record({
    cron: fc.constantFrom(
      '*/20 * * * *',
      '0 * * * *',
      '30 2 * * *',
      '15 1,2 * * *',
      '0 */6 * * *',
      '5 4 * * SUN',
      '@daily',
    ),
    timezone: fc.constantFrom('UTC', 'Europe/Berlin', 'Australia/Lord_Howe', 'America/New_York'),
    catch_up: fc.constantFrom('skip' as const, 'latest' as const, 'all' as const),
    catch_up_window: fc.constantFrom('10m', '6h', '1d', '3d'),
    shift: fc.constantFrom(undefined, 'next_business_day' as const, 'previous_business_day' as const),
  })
  .map(({ shift, ...rest }) => (shift === undefined ? rest : { ...rest, shift }));

/** A look: by which scheduler, how long after the previous one, and how many others look at the same time. */
const look = fc.record({
  by: fc.nat(2),
  after: fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: 1, max: 10 * MINUTE }) },
    { weight: 3, arbitrary: fc.integer({ min: 1, max: 8 * HOUR }) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 5 * DAY }) },
  ),
  others: fc.nat(2),
});

/** The expected outcome of every slot, decided by the first look whose clock has reached it. Does not use cursors. */
function specified(report: FrozenDefinition, clocks: readonly number[], start: number) {
  const { definition, settings } = report;
  const opened = new Set<number>();
  const skipped = new Set<number>();
  for (const spec of definition.schedule) {
    const all = slotsBetween(spec, spec.timezone ?? settings.timezone, settings.calendar, start, Math.max(...clocks));
    const seenBy = new Map<number, number[]>();
    for (const slot of all) {
      const first = clocks.findIndex((clock) => clock >= slot);
      seenBy.set(first, [...(seenBy.get(first) ?? []), slot]);
    }
    for (const [index, slots] of seenBy) {
      const now = clocks[index] ?? 0;
      const newest = slots.at(-1);
      for (const slot of slots) {
        const age = now - slot;
        const onTime = age <= 5 * MINUTE;
        const inWindow = age <= spec.catch_up_window * 1000;
        const madeUp = spec.catch_up === 'all' || (spec.catch_up === 'latest' && slot === newest);
        (onTime || (inWindow && madeUp) ? opened : skipped).add(slot);
      }
    }
  }
  for (const slot of opened) skipped.delete(slot);
  const ascending = (slots: ReadonlySet<number>) => [...slots].sort((a, b) => a - b);
  return { opened: ascending(opened), skipped: ascending(skipped) };
}

let harness: QueueHarness;
beforeEach(async () => {
  harness = await openQueueHarness(manualClock(START));
});
afterEach(() => harness.close());

it('opens each slot that the specification opens once, and records each other slot as skipped once', async () => {
  let count = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(schedule, { minLength: 1, maxLength: 3 }),
      fc.boolean(),
      fc.integer({ min: 0, max: 30 * DAY }),
      fc.array(fc.integer({ min: -2 * MINUTE, max: 2 * MINUTE }), { minLength: 3, maxLength: 3 }),
      fc.array(look, { minLength: 1, maxLength: 10 }),
      async (schedules, holidays, from, skews, looks) => {
        count += 1;
        const made = reportDefinition(`p${count}`, schedules);
        const calendar = {
          holidays: holidays ? ['2026-10-07', '2026-11-02'] : [],
          working_days: [],
          weekend: ['SAT' as const, 'SUN' as const],
        };
        const report: FrozenDefinition = { ...made, settings: { ...made.settings, calendar } };
        const opened: number[] = [];
        const skipped: number[] = [];
        /** Three processes, each with its own clock and memory. */
        const schedulers = skews.map((skew) => ({ skew, memory: createDueSlotCache() }));
        let real = START + from;
        const runs = fake<RedisRunStore>({
          skip: async (...args) => {
            const first = await harness.runs.skip(...args);
            if (first) skipped.push(Date.parse(args[0].slot));
            return first;
          },
        });
        const trigger = async (request: TriggerRequest) => {
          const run = await harness.trigger(request);
          if (run.opened && 'scheduled' in request.slot) opened.push(request.slot.scheduled);
          return run;
        };
        const lookAs = (memory: DueSlotCache, now: number) =>
          openDueSlots(
            [report],
            {
              cursors: redisScheduleCursors(harness.producer, harness),
              trigger,
              runs,
              clock: manualClock(now),
              log: silentLog,
            },
            memory,
          );
        // The first look sets the position of the schedules. It uses the slowest clock, so that no clock is before it.
        const start = real - 2 * MINUTE;
        await lookAs(createDueSlotCache(), start);
        const clocks: number[] = [];
        for (const { by, after, others } of looks) {
          real += after;
          const now = real + (schedulers[by]?.skew ?? 0);
          clocks.push(now);
          const together = [
            schedulers[by]?.memory ?? createDueSlotCache(),
            ...Array.from({ length: others }, () => createDueSlotCache()),
          ];
          await Promise.all(together.map((memory) => lookAs(memory, now)));
        }
        const wanted = specified(report, clocks, start);
        expect(opened.sort((a, b) => a - b)).toEqual(wanted.opened);
        // Of very many skipped slots, a hundred have a record. The oldest one has the count of all.
        const { org, report: id } = report.definition;
        const counted = Number((await harness.producer.hget(`${harness.prefix}:skipped`, `${org}/${id}`)) ?? 0);
        expect(counted).toBe(wanted.skipped.length);
        expect(new Set(skipped).size).toBe(skipped.length);
        for (const slot of skipped) expect(wanted.skipped).toContain(slot);
        if (wanted.skipped.length <= 100) expect(skipped.sort((a, b) => a - b)).toEqual(wanted.skipped);
        for (const slot of opened) {
          const record = await harness.runs.get(runId(org, id, new Date(slot).toISOString()));
          expect(record?.state).toBe('queued');
        }
      },
    ),
    cases(60),
  );
});
