import { expect, onTestFinished, test } from 'vitest';
import { neededIn } from '../../src/compose/archive.ts';
import { RUN_STATES } from '../../src/run/record.ts';
import { aBench, anOrder } from '../support/queue-bench.ts';

test('the files of a run that goes on, or is held, are needed; those of one that is over or forgotten are not', async () => {
  const { runs, close } = await aBench();
  onTestFinished(close);
  const needed: string[] = [];
  for (const state of RUN_STATES) {
    const order = anOrder();
    await runs.open(order);
    await runs.update(order.id, { state });
    if (await neededIn(runs)(order.id)) needed.push(state);
  }
  expect(needed.sort()).toEqual(['held', 'queued', 'running', 'waiting']);
  expect(await neededIn(runs)('f'.repeat(32))).toBe(false);
});
