import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { done } from '../../../src/base/outcome.ts';
import { startWorker } from '../../../src/queue/jobs/worker.ts';
import { openDueSlots } from '../../../src/queue/schedules/open-due-slots.ts';
import { redisScheduleCursors } from '../../../src/queue/schedules/schedule-cursors.ts';
import { expectedAt } from '../../../src/run/lateness.ts';
import type { RunOrder } from '../../../src/run/run-record.ts';
import { cases } from '../../support/fuzz.ts';
import { manualClock } from '../../support/manual-clock.ts';
import {
  anOrder,
  openQueueHarness,
  type QueueHarness,
  recordingLog,
  reportDefinition,
} from '../../support/queue-harness.ts';
import { waitFor } from '../../support/wait-for.ts';

const RESULT = { state: 'done', folder: '', files: [], calls: [], incomplete: [], receipts: [] } as const;
const MINUTE = 60_000;

let harness: QueueHarness;
beforeEach(async () => {
  harness = await openQueueHarness();
});
afterEach(() => harness.close());

const add = async (change: Partial<RunOrder>): Promise<RunOrder> => {
  const order = anOrder(change);
  await harness.runs.open(order);
  await harness.queue.enqueue(order);
  return order;
};
const line = () => harness.producer.zrange(`${harness.prefix}:bull:runs:prioritized`, 0, '-1');

test('a worker takes the runs whose readers expect them first, even if they were opened later', async () => {
  const all = [
    await add({ report: 'c' }),
    await add({ report: 'b', lateAfterMs: 60 * MINUTE }),
    await add({ report: 'd', lateAfterMs: 30 * MINUTE, slot: '2026-11-16T07:10:00.000Z' }),
    await add({ report: 'a' }),
    await add({ report: 'e', lateAfterMs: MINUTE }),
    await add({ report: 'earlier', slot: '2026-11-16T06:00:00.000Z' }),
  ];
  const taken: string[] = [];
  const worker = startWorker({
    ...{ connection: harness.worker, prefix: harness.prefix, store: harness.runs, clock: systemClock },
    ...{ log: recordingLog(), concurrency: 1 },
    execute: async ({ report }) => {
      taken.push(report);
      return done(RESULT);
    },
  });
  await waitFor('all runs to be taken', async () => taken.length === all.length || undefined);
  await worker.close(0);
  expect(taken).toEqual(['e', 'd', 'b', 'earlier', 'a', 'c']);
});

/** Deletes this test's keys only: other test files use the same Redis. */
async function forgetRuns(): Promise<void> {
  const keys = await harness.producer.keys(`${harness.prefix}*`);
  if (keys.length > 0) await harness.producer.del(...keys);
}

/** The organization and priority round of each queued run, sorted. */
async function turnsOf(added: ReadonlyMap<string, RunOrder>): Promise<readonly string[]> {
  const scores = await harness.producer.zrange(`${harness.prefix}:bull:runs:prioritized`, 0, '-1', 'WITHSCORES');
  const places = scores.flatMap((id, index) =>
    index % 2 === 0 ? `${added.get(id)?.org} ${Math.floor(Number(scores[index + 1]) / 2 ** 32)}` : [],
  );
  return places.sort();
}

test('the runs of an organization start in the order in which readers expect them, without changing its turns', async () => {
  const runs = fc.array(
    fc.record({
      org: fc.constantFrom('acme', 'beta', 'gamma'),
      minutes: fc.option(fc.integer({ min: 1, max: 1440 }), { nil: undefined }),
      trigger: fc.constantFrom('schedule', 'schedule', 'schedule', 'on_demand'),
    }),
    { maxLength: 25 },
  );
  await fc.assert(
    fc.asyncProperty(runs, async (given) => {
      await forgetRuns();
      const added = new Map<string, RunOrder>();
      for (const [index, { org, minutes, trigger }] of given.entries()) {
        const order = await add({
          ...{ id: randomBytes(16).toString('hex'), org, report: `r${String(index).padStart(2, '0')}` },
          ...(minutes === undefined ? {} : { lateAfterMs: minutes * MINUTE }),
          ...(trigger === 'schedule' ? {} : { trigger: 'on_demand', priority: 'on_demand' }),
        });
        added.set(order.id, order);
      }
      const served = (await line()).map((id) => added.get(id)!);
      for (const org of ['acme', 'beta', 'gamma']) {
        const own = served.filter((order) => order.org === org && order.trigger === 'schedule');
        const sorted = [...own].sort((a, b) => expectedAt(a) - expectedAt(b) || (a.report < b.report ? -1 : 1));
        expect(own.map(({ report }) => report)).toEqual(sorted.map(({ report }) => report));
      }
      const places = await turnsOf(added);
      // The same runs without that order.
      await forgetRuns();
      for (const { id, org, priority } of added.values()) {
        const order = anOrder({ id, org, priority, trigger: 'on_demand' });
        await harness.runs.open(order);
        await harness.queue.enqueue(order);
      }
      expect(places).toEqual(await turnsOf(added));
    }),
    cases(25),
  );
});

test('slots of one round are enqueued in the order in which readers expect them, then by name', async () => {
  const clock = manualClock(Date.parse('2026-11-16T06:30:00Z'));
  const at = { cron: '0 8 * * MON' };
  const reports = [
    reportDefinition('z', at),
    reportDefinition('urgent', { ...at, late_after: '15m' }),
    reportDefinition('a', at),
    reportDefinition('soon', { ...at, late_after: '1h' }),
  ];
  const order: string[] = [];
  const ports = {
    cursors: redisScheduleCursors(harness.producer, harness),
    trigger: async (request: Parameters<typeof harness.trigger>[0]) => {
      const opened = await harness.trigger(request);
      order.push(request.definition.report);
      return opened;
    },
    ...{ runs: harness.runs, clock, log: recordingLog() },
  };
  await openDueSlots(reports, ports);
  clock.set(Date.parse('2026-11-16T07:00:00Z'));
  expect(await openDueSlots(reports, ports)).toMatchObject({ opened: 4, failed: 0 });
  expect(order).toEqual(['urgent', 'soon', 'a', 'z']);
});

test('a slot that cannot be opened does not stop the slots after it', async () => {
  const clock = manualClock(Date.parse('2026-11-16T06:30:00Z'));
  const reports = Array.from({ length: 60 }, (_, n) => reportDefinition(`r${n}`, { cron: '0 8 * * MON' }));
  const ports = {
    cursors: redisScheduleCursors(harness.producer, harness),
    trigger: async (request: Parameters<typeof harness.trigger>[0]) => {
      if (request.definition.report === 'r1') throw new Error('broken');
      return harness.trigger(request);
    },
    ...{ runs: harness.runs, clock, log: recordingLog() },
  };
  await openDueSlots(reports, ports);
  clock.set(Date.parse('2026-11-16T07:00:00Z'));
  expect(await openDueSlots(reports, ports)).toMatchObject({ opened: 59, failed: 1 });
});
