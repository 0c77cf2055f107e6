import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { type TaskThread, type TaskThreadOptions, taskThread } from '../../src/base/task-thread.ts';
import { folderFor } from '../support/delivery-case.ts';
import { type ManualClock, manualClock } from '../support/manual-clock.ts';

const entry = new URL('../support/hostile-tasks.mjs', import.meta.url);
let clock: ManualClock;
let thread: TaskThread<string, string>;
const open = (more: Partial<TaskThreadOptions> = {}) =>
  taskThread<string, string>({ entry, memoryMb: 64, clock, ...more });
beforeEach(() => {
  clock = manualClock(0);
  thread = open();
});
afterEach(() => thread.close());

const done = (task: string) => ({ kind: 'done', answer: `${task} done` });

test('a task thread runs tasks, and continues after one that throws', async () => {
  expect(await thread.run('a', 'one', 1_000)).toEqual(done('one'));
  await expect(thread.run('a', 'throw', 1_000)).rejects.toThrow('thrown');
  expect(await thread.run('a', 'two', 1_000)).toEqual(done('two'));
});

test('a task thread stops a task that exceeds its deadline, and runs the next one in a new thread', async () => {
  const endless = thread.run('a', 'endless', 1_000);
  const next = thread.run('a', 'next', 1_000);
  await clock.slept(1_000);
  clock.advance(1_000);
  expect(await endless).toEqual({ kind: 'exceeded', limit: 'time' });
  expect(await next).toEqual(done('next'));
});

test.each(['memory', 'stack'])('a task thread stops a task that exceeds the limit of the %s', async (task) => {
  expect(await thread.run('a', task, 1_000)).toEqual({ kind: 'exceeded', limit: 'memory' });
  expect(await thread.run('a', 'next', 1_000)).toEqual(done('next'));
});

test('a task thread lets owners take turns, however many tasks of one owner wait', async () => {
  const order: string[] = [];
  const run = (owner: string, task: string) => thread.run(owner, task, 1_000).then(() => order.push(task));
  await Promise.all([run('a', 'a1'), run('a', 'a2'), run('a', 'a3'), run('a', 'a4'), run('b', 'b1'), run('b', 'b2')]);
  expect(order).toEqual(['a1', 'a2', 'b1', 'a3', 'b2', 'a4']);
});

test('a task thread refuses tasks beyond the number that may wait, per owner and in total', async () => {
  const small = open({ clock: systemClock, maxWaiting: { owner: 2, all: 3 } });
  const tasks = [
    ...['a1', 'a2', 'a3', 'a4'].map((task) => small.run('a', task, 60_000)),
    ...['b1', 'b2'].map((task) => small.run('b', task, 60_000)),
  ];
  const kinds = (await Promise.all(tasks)).map(({ kind }) => kind);
  await small.close();
  // The first task is running and does not count as waiting.
  expect(kinds).toEqual(['done', 'done', 'done', 'queue_full', 'done', 'queue_full']);
});

test('a task thread rejects unfinished tasks when it is closed', async () => {
  const rejected = [thread.run('a', 'endless', 1_000), thread.run('a', 'next', 1_000)].map((task) =>
    expect(task).rejects.toThrow(),
  );
  await clock.slept(1_000);
  await thread.close();
  await Promise.all(rejected);
  await expect(thread.run('a', 'later', 1_000)).rejects.toThrow();
});

test('a task thread rejects tasks if its thread cannot start', async () => {
  const missing = open({ entry: new URL('../support/there-is-none.mjs', import.meta.url) });
  await expect(missing.run('a', 'one', 1_000)).rejects.toThrow();
  await missing.close();
});

test('a task thread rejects tasks as busy if its thread never becomes ready', async () => {
  const silent = open({ entry: new URL('../support/silent-thread.mjs', import.meta.url) });
  const rejected = ['one', 'two'].map((task) =>
    expect(silent.run('a', task, 1_000)).rejects.toMatchObject({ code: 'definition.busy' }),
  );
  for (const one of rejected) {
    await clock.slept(15_000);
    clock.advance(15_000);
    await one;
  }
  const last = expect(silent.run('a', 'three', 1_000)).rejects.toThrow('ended');
  await clock.slept(15_000);
  await silent.close();
  await last;
});

test('a task thread keeps a thread that starts slowly for later tasks', async () => {
  const gate = join(await folderFor(onTestFinished), 'open');
  const slow = open({ entry: new URL('../support/slow-thread.mjs', import.meta.url), data: gate });
  const early = expect(slow.run('a', 'early', 1_000)).rejects.toMatchObject({ code: 'definition.busy' });
  await clock.slept(15_000);
  clock.advance(15_000);
  await early;
  const late = slow.run('a', 'late', 1_000);
  await writeFile(gate, '');
  expect(await late).toEqual(done('late'));
  await slow.close();
});

test('a task thread answers waiting callers within the response timeout, while a running task keeps its own deadline', async () => {
  const prompt = open({ responseTimeoutMs: 1_900 });
  const [worked, waits] = ['endless', 'next'].map((task) => prompt.run('a', task, 5_000));
  await clock.slept(5_000);
  clock.advance(1_900);
  expect(await Promise.all([worked, waits])).toEqual([{ kind: 'timeout' }, { kind: 'timeout' }]);
  const behind = prompt.run('a', 'behind', 5_000);
  clock.advance(1_900);
  expect(await behind).toEqual({ kind: 'timeout' });
  const last = prompt.run('a', 'last', 5_000);
  clock.advance(1_200);
  expect(await last).toEqual(done('last'));
  await prompt.close();
});
