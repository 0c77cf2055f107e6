import { expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { requeuer } from '../../src/queue/reconciler.ts';
import { manualClock } from '../support/manual-clock.ts';
import { aBench, anOrder } from '../support/queue-bench.ts';

async function runsInQueue() {
  const bench = await aBench();
  onTestFinished(() => bench.close());
  const start = Date.now() - 3_600_000;
  return {
    ...bench,
    clock: manualClock(Date.now()),
    log: silentLog,
    /** A run that has not ended, opened so many ms after the first. */
    open: async (ms: number, queued: boolean): Promise<string> => {
      const order = anOrder({ createdAt: start + ms });
      await bench.runs.open(order);
      if (queued) await bench.queue.add(order);
      return order.id;
    },
  };
}

test('runs without a job are found behind more runs with one than a look goes through', async () => {
  const own = await runsInQueue();
  for (let index = 0; index < 5; index += 1) await own.open(index, true);
  // More of one instant than a look goes through, too.
  const lost = [await own.open(5, false)];
  for (let index = 0; index < 4; index += 1) lost.push(await own.open(6, false));
  const look = requeuer({ ...own, batchSize: 3 });
  expect(await own.queue.lost(lost)).toEqual(lost);
  const found = [await look(), await look(), await look(), await look()];
  expect(found).toEqual([0, 1, 3, 1]);
  expect(await own.queue.lost(lost)).toEqual([]);
  // Then from the oldest on again.
  const oldest = await own.open(-1, false);
  expect(await look()).toBe(1);
  expect(await own.queue.lost([oldest])).toEqual([]);
});

test('a look that failed goes through the same runs again', async () => {
  const own = await runsInQueue();
  for (let index = 0; index < 3; index += 1) await own.open(index, false);
  let away = true;
  const lost: typeof own.queue.lost = async (ids) => {
    if (away) throw new Error('away');
    return own.queue.lost(ids);
  };
  const look = requeuer({ ...own, queue: { ...own.queue, lost }, batchSize: 2 });
  await expect(look()).rejects.toThrow('away');
  away = false;
  expect([await look(), await look()]).toEqual([2, 1]);
});
