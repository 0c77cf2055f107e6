import { expect, test } from 'vitest';
import { DocketError } from '../../src/base/error.ts';
import { cancel, done, fail, type Outcome, snooze } from '../../src/base/outcome.ts';
import { mapOutcomes } from '../../src/fetch/fetch-dataset.ts';

const ITEMS = ['a', 'b', 'c', 'd', 'e'];

/** The work of each item ends when the test calls `end`. */
function workshop() {
  const started: string[] = [];
  const stopped: string[] = [];
  const ends = new Map<string, (outcome: Outcome<string>) => void>();
  const work = (item: string, stop: AbortSignal) => {
    started.push(item);
    stop.addEventListener('abort', () => stopped.push(item));
    return new Promise<Outcome<string>>((resolve) => ends.set(item, resolve));
  };
  const end = async (item: string, outcome: Outcome<string> = done(item.toUpperCase())) => {
    ends.get(item)?.(outcome);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { started, stopped, work, end };
}

test('at most `width` items are processed at once, and the results keep their order', async () => {
  const { started, work, end } = workshop();
  const outcome = mapOutcomes(ITEMS, 2, work);
  expect(started).toEqual(['a', 'b']);
  await end('b');
  expect(started).toEqual(['a', 'b', 'c']);
  for (const item of ['c', 'd', 'e', 'a']) await end(item);
  expect(await outcome).toEqual(done(['A', 'B', 'C', 'D', 'E']));
});

test('a failure aborts the other items, starts no new ones, and waits for those in progress', async () => {
  const { started, stopped, work, end } = workshop();
  const error = new DocketError('api.unavailable', 'Down.');
  let over = false;
  const outcome = mapOutcomes(ITEMS, 2, work).finally(() => {
    over = true;
  });
  await end('a', fail(error));
  expect(stopped).toContain('b');
  expect(over).toBe(false);
  await end('b', cancel('stopped'));
  expect(await outcome).toEqual(fail(error));
  expect(started).toEqual(['a', 'b']);
});

test('a snooze starts no new items but lets those in progress finish; the earliest snooze wins', async () => {
  const { started, stopped, work, end } = workshop();
  const outcome = mapOutcomes(ITEMS, 3, work);
  await end('a', snooze(2_000, 'later'));
  await end('b', snooze(1_000, 'sooner'));
  await end('c');
  expect(await outcome).toEqual(snooze(1_000, 'sooner'));
  expect(started).toEqual(['a', 'b', 'c']);
  expect(stopped).toEqual([]);
});

test('an exception is rethrown after the other items have ended', async () => {
  const { started, work, end } = workshop();
  const outcome = mapOutcomes(ITEMS, 2, (item, stop) =>
    item === 'a' ? Promise.reject(new TypeError('a defect')) : work(item, stop),
  );
  const rejected = expect(outcome).rejects.toThrow('a defect');
  await end('b', cancel('stopped'));
  await rejected;
  expect(started).toEqual(['b']);
});

test('an empty list of items is done at once', async () => {
  expect(await mapOutcomes([], 4, async () => done('never'))).toEqual(done([]));
});
