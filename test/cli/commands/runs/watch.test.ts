import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../../src/base/clock.ts';
import { silentLog } from '../../../../src/base/log.ts';
import { done } from '../../../../src/base/outcome.ts';
import { type LocalRedis, localRedis } from '../../../../src/demo/local-redis.ts';
import { type Execute, type RunWorker, startWorker } from '../../../../src/queue/jobs/worker.ts';
import { DEFAULT_KEY_PREFIX } from '../../../../src/redis/keys.ts';
import {
  deferred,
  onDemand,
  openQueueHarness,
  type QueueHarness,
  reportDefinition,
} from '../../../support/queue-harness.ts';
import { runCommand } from '../../../support/run-command.ts';

const result = (state: 'done' | 'held') =>
  done({ state, folder: '', files: [], calls: [], incomplete: [], receipts: [] } as const);

describe('docket runs watch', () => {
  let redis: LocalRedis;
  let harness: QueueHarness;
  let env: Record<string, string>;
  const workers: RunWorker[] = [];
  beforeAll(async () => {
    redis = await localRedis({ PATH: process.env.PATH });
    harness = await openQueueHarness(systemClock, DEFAULT_KEY_PREFIX, silentLog, redis.url);
    env = { REDIS_URL: redis.url };
  });
  afterEach(async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.close(0)));
  });
  afterAll(async () => {
    await harness.close();
    await redis.close();
  });

  const start = (execute: Execute): void => {
    const { worker: connection, prefix, runs: store } = harness;
    workers.push(
      startWorker({ connection, prefix, store, execute, clock: systemClock, log: silentLog, concurrency: 1 }),
    );
  };
  const opened = async (): Promise<string> => (await harness.trigger(onDemand(reportDefinition()))).record.id;

  test('prints the progress on stderr and the final record on stdout', async () => {
    const id = await opened();
    const go = deferred();
    start(async (_, { observe }) => {
      observe({ type: 'begun', stage: 'fetch' });
      observe({ type: 'planned', calls: 9, sections: 1 });
      observe({ type: 'fetched', call: 'a', done: 4, of: 9, saved: false, tokens: 17, finish: Date.now() });
      await go.promise;
      return result('done');
    });
    const { code, stdout, stderr } = await runCommand(['runs', 'watch', id, '--json'], {
      env,
      onStderr: (text) => {
        if (text.includes('4/9')) go.tell();
      },
    });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ id, state: 'done', calls: { planned: 9, made: 1 } });
    const lines = stderr.split('\n').map((line) => line.replace(/\s+/g, ' '));
    expect(lines).toEqual(
      expect.arrayContaining([
        'acme/weekly plan 9 calls',
        expect.stringContaining('acme/weekly call 4/9, 17 tokens left'),
        expect.stringMatching(/^acme\/weekly finished done, 1 /),
      ]),
    );
  });

  test('exits with 3 for a held run, and with 1 for a cancelled run', async () => {
    const held = await opened();
    start(async () => result('held'));
    const watched = await runCommand(['runs', 'watch', held], { env });
    expect(watched.code).toBe(3);
    const cancelled = await opened();
    await harness.runs.update(cancelled, { state: 'cancelled' });
    expect((await runCommand(['runs', 'watch', cancelled], { env })).code).toBe(1);
  });

  test('stops watching after --timeout, while the run continues', async () => {
    const id = await opened();
    const { code, stdout } = await runCommand(['runs', 'watch', id, '--timeout', '1s', '--json'], { env });
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'run.unfinished', got: 'a run in state queued' } });
    expect(await harness.runs.get(id)).toMatchObject({ state: 'queued', cancel: null });
    await harness.runs.update(id, { state: 'cancelled' });
  });

  test('fails for an unknown run; --wait fails without --queue', async () => {
    const { code, stderr } = await runCommand(['runs', 'watch', 'f'.repeat(32)], { env });
    expect(code).toBe(2);
    expect(stderr).toContain('[run.not_found]');
    const waited = await runCommand(['run', 'acme/weekly', '--wait'], { env });
    expect(waited.code).toBe(2);
    expect(waited.stderr).toContain('[usage.invalid]');
  });
});
