import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { cursorNames } from '../../../src/queue/schedules/report-schedules.ts';
import { redisScheduleCursors } from '../../../src/queue/schedules/schedule-cursors.ts';
import type { RunRecord, RunState } from '../../../src/run/run-record.ts';
import {
  deferred,
  onDemand,
  openQueueHarness,
  type QueueHarness,
  reportDefinition,
  waitForRun,
} from '../../support/queue-harness.ts';
import { waitFor } from '../../support/wait-for.ts';

type Role = 'hangs' | 'waits' | 'works' | 'opens' | 'devours' | 'blocks' | 'delivers' | 'steps';

describe('worker and scheduler processes', () => {
  let harness: QueueHarness;
  const children: ChildProcess[] = [];
  beforeEach(async () => {
    harness = await openQueueHarness();
  });
  afterEach(async () => {
    for (const child of children.splice(0)) {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
    }
    await harness.close();
  });

  /** Messages are kept until they are read. */
  const start = async (role: Role, execArgv: readonly string[] = [], until = '') => {
    const child = fork(join(inject('children'), 'queue-child.mjs'), [inject('redisUrl'), harness.prefix, role, until], {
      execArgv: [...execArgv],
      // A process that runs out of memory prints a long report that nobody needs here.
      stdio: ['ignore', 'inherit', execArgv.length === 0 ? 'inherit' : 'ignore', 'ipc'],
    });
    children.push(child);
    const heard: unknown[] = [];
    let wake = () => {};
    const ready = deferred();
    const gone = once(child, 'exit').then(() => Promise.reject(new Error('the process ended before it was ready')));
    child.on('message', (message) => {
      if (message === 'ready') return ready.tell();
      heard.push(message);
      wake();
    });
    const next = async (): Promise<unknown> => {
      while (heard.length === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return heard.shift();
    };
    await Promise.race([ready.promise, gone]);
    const end = async (signal: NodeJS.Signals) => {
      child.kill(signal);
      await once(child, 'exit');
    };
    return { child, next, end };
  };
  const reached = (id: string, ...states: RunState[]) => waitForRun(harness, id, ...states);

  it('that are killed during a run leave it to another process, and the run uses no further attempt', async () => {
    const first = await start('hangs');
    const { record } = await harness.trigger(onDemand(reportDefinition()));
    expect(await first.next()).toEqual({ started: record.id, attempt: 1 });
    await first.end('SIGKILL');
    expect(await harness.runs.get(record.id)).toMatchObject({ state: 'running' });
    const second = await start('works');
    expect(await second.next()).toEqual({ started: record.id, attempt: 1 });
    await reached(record.id, 'done');
  });

  it('that are asked to stop put their runs back immediately', async () => {
    const first = await start('hangs');
    const { record } = await harness.trigger(onDemand(reportDefinition()));
    await first.next();
    await first.end('SIGTERM');
    expect(await harness.runs.get(record.id)).toMatchObject({ state: 'queued', calls: { planned: 3 } });
    expect(await harness.producer.llen(`${harness.prefix}:bull:runs:active`)).toBe(0);
    const second = await start('works');
    expect(await second.next()).toEqual({ started: record.id, attempt: 1 });
    await reached(record.id, 'done');
  });

  it('are killed at most twice by a poisonous run; other runs continue', async () => {
    const { record } = await harness.trigger(onDemand(reportDefinition('poison')));
    for (let n = 0; n < 2; n += 1) {
      const victim = await start('hangs');
      expect(await victim.next()).toMatchObject({ started: record.id });
      await victim.end('SIGKILL');
    }
    const survivor = await start('works');
    expect(await survivor.next()).toEqual({ failed: record.id, code: 'run.poison' });
    expect(await harness.runs.get(record.id)).toMatchObject({ state: 'failed', error: { code: 'run.poison' } });
    const other = await harness.trigger(onDemand(reportDefinition('sound')));
    await reached(other.record.id, 'done');
  });

  /** Kills this many workers while the run waits for a token. Each next worker adds to the recorded wait. */
  const killedWaiting = async ({ id }: RunRecord, times: number) => {
    for (let waited = 0, n = 0; n < times; n += 1) {
      const victim = await start('waits');
      expect(await victim.next()).toMatchObject({ started: id });
      const before = waited;
      waited = await waitFor('the run to wait for a token', async () => {
        const now = (await harness.runs.get(id))?.tokenWaitMs ?? 0;
        return now === before ? undefined : now;
      });
      await victim.end('SIGKILL');
    }
  };

  it('that are killed while a run waits for tokens do not make it a poisonous run', async () => {
    const { record } = await harness.trigger(onDemand(reportDefinition()));
    await killedWaiting(record, 4);
    const survivor = await start('works');
    expect(await survivor.next()).toEqual({ started: record.id, attempt: 1 });
    expect(await reached(record.id, 'done')).toMatchObject({ losses: { all: 4, stuck: 1 } });
  });

  it('that are killed again and again fail the run in the end, even if it progresses each time', async () => {
    const { record } = await harness.trigger(onDemand(reportDefinition()));
    await killedWaiting(record, 8);
    const survivor = await start('works');
    expect(await survivor.next()).toEqual({ failed: record.id, code: 'run.poison' });
  });

  it('that run out of memory fail the run after two crashes; other runs continue', async () => {
    const { record } = await harness.trigger(onDemand(reportDefinition('poison')));
    const small = ['--max-old-space-size=48'];
    for (let n = 0; n < 2; n += 1) {
      const victim = await start('devours', small);
      const ended = once(victim.child, 'exit');
      expect(await victim.next()).toMatchObject({ started: record.id });
      expect((await ended)[1]).toBe('SIGABRT');
    }
    const survivor = await start('devours', small);
    expect(await survivor.next()).toEqual({ failed: record.id, code: 'run.poison' });
    const other = await harness.trigger(onDemand(reportDefinition('sound')));
    await reached(other.record.id, 'done');
    // Two processes fill their heaps, which takes long on a busy machine.
  });

  it('that are blocked for longer than their lock do not deliver again what another process has delivered', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'docket-blocked-'));
    const first = await start('blocks', [], join(folder, 'go'));
    const { record } = await harness.trigger(onDemand(reportDefinition()));
    expect(await first.next()).toEqual({ started: record.id, attempt: 1 });
    const second = await start('delivers');
    expect(await second.next()).toEqual({ started: record.id, attempt: 1 });
    await reached(record.id, 'done');
    await second.end('SIGTERM');
    await writeFile(join(folder, 'go'), '');
    // The first process has recovered when it takes the next run.
    const next = await harness.trigger(onDemand(reportDefinition('next')));
    expect(await first.next()).toEqual({ started: next.record.id, attempt: 1 });
    await reached(next.record.id, 'done');
    expect(await harness.producer.lrange(`${harness.prefix}:sent`, 0, -1)).toEqual([
      String(second.child.pid),
      String(first.child.pid),
    ]);
    expect(await harness.runs.get(record.id)).toMatchObject({ state: 'done', starts: 2 });
    await rm(folder, { recursive: true });
  });

  it('that are asked to stop under load leave no run stalled, and others make the remaining calls, each once', async () => {
    const [first] = await Promise.all([start('steps'), start('steps')]);
    const ids: string[] = [];
    for (let n = 0; n < 20; n += 1) ids.push((await harness.trigger(onDemand(reportDefinition(`r${n}`)))).record.id);
    await first.next();
    await first.end('SIGTERM');
    expect(first.child.exitCode).toBe(0);
    for (const id of ids) await reached(id, 'done');
    expect(await harness.producer.get(`${harness.prefix}:calls`)).toBe('60');
    for (const id of ids) {
      // BullMQ learns of the end after the record has it.
      await expect
        .poll(() => harness.producer.hmget(`${harness.prefix}:bull:runs:${id}`, 'stc', 'atm'))
        .toEqual([null, '1']);
    }
  });

  it('that look at the same overdue slots open each slot once', async () => {
    const now = Date.parse('2026-11-16T09:30:00Z');
    const reports = Array.from({ length: 10 }, (_, n) =>
      reportDefinition(`r${n}`, { cron: '0 * * * *', timezone: 'UTC', catch_up: 'all' }),
    );
    await redisScheduleCursors(harness.producer, harness).initialize(reports.flatMap(cursorNames), now - 3 * 3_600_000);
    const both = await Promise.all([start('opens'), start('opens')]);
    for (const { child } of both) child.send({ now, reports });
    const ends = await Promise.all(both.map(({ next }) => next()));
    const opened = ends.map((end) => (end as { opened: number }).opened);
    expect(opened.reduce((sum, n) => sum + n, 0)).toBe(30);
    expect(await harness.runs.list({ limit: 100 })).toHaveLength(30);
    expect(await harness.producer.zcard(`${harness.prefix}:bull:runs:prioritized`)).toBe(30);
  });

  it('that are killed while opening slots leave the rest to others; each slot is opened once and has a job', async () => {
    const now = Date.parse('2026-11-16T09:30:00Z');
    const reports = Array.from({ length: 1_000 }, (_, n) =>
      reportDefinition(`r${n}`, { cron: '0 * * * *', timezone: 'UTC' }),
    );
    await redisScheduleCursors(harness.producer, harness).initialize(reports.flatMap(cursorNames), now - 3_600_000);
    const jobs = () => harness.producer.zcard(`${harness.prefix}:bull:runs:prioritized`);
    const first = await start('opens');
    const second = await start('opens');
    first.child.send({ now, reports });
    while ((await jobs()) < 100) await new Promise((resolve) => setImmediate(resolve));
    await first.end('SIGKILL');
    const { total } = await harness.runs.listAndCount({ limit: 1 }, 2_000);
    second.child.send({ now, reports });
    expect(await second.next()).toEqual({ opened: 1_000 - total, skipped: 0, failed: 0 });
    expect(await jobs()).toBe(1_000);
    expect(await harness.runs.listAndCount({ limit: 1 }, 2_000)).toMatchObject({ total: 1_000 });
  });
});
