import { expect, onTestFinished, test } from 'vitest';
import { createNeededCheck } from '../../src/compose/archive.ts';
import { RUN_STATES } from '../../src/run/run-record.ts';
import { anOrder, openQueueHarness } from '../support/queue-harness.ts';

test('the files of a run that goes on, or is held, are needed; those of one that is over or forgotten are not', async () => {
  const { runs, close } = await openQueueHarness();
  onTestFinished(close);
  const needed: string[] = [];
  for (const state of RUN_STATES) {
    const order = anOrder();
    await runs.open(order);
    await runs.update(order.id, { state });
    if (await createNeededCheck(runs)(order.id)) needed.push(state);
  }
  expect(needed.sort()).toEqual(['held', 'queued', 'running', 'waiting']);
  expect(await createNeededCheck(runs)('f'.repeat(32))).toBe(false);
});
