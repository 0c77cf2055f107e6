import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { done } from '../../src/base/outcome.ts';
import { type LocalRedis, localRedis } from '../../src/demo/redis.ts';
import { DEFAULT_PREFIX } from '../../src/queue/keys.ts';
import { type Execute, type RunWorker, startWorker } from '../../src/queue/worker.ts';
import { docket } from '../support/docket.ts';
import { aBench, aReport, type Bench, onDemand, signalled } from '../support/queue-bench.ts';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const result = (state: 'done' | 'held') =>
  done({ state, folder: '', files: [], calls: [], incomplete: [], receipts: [] } as const);

describe('docket runs watch', () => {
  let redis: LocalRedis;
  let bench: Bench;
  let env: Record<string, string>;
  const workers: RunWorker[] = [];
  beforeAll(async () => {
    redis = await localRedis({ PATH: process.env.PATH });
    bench = await aBench(systemClock, DEFAULT_PREFIX, silentLog, redis.url);
    env = { REDIS_URL: redis.url };
  });
  afterEach(async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.close(0)));
  });
  afterAll(async () => {
    await bench.close();
    await redis.close();
  });

  const start = (execute: Execute): void => {
    const { worker: connection, prefix, runs: store } = bench;
    workers.push(
      startWorker({ connection, prefix, store, execute, clock: systemClock, log: silentLog, concurrency: 1 }),
    );
  };
  const opened = async (): Promise<string> => (await bench.trigger(onDemand(aReport()))).record.id;

  test('tells on stderr what a worker is at, and on stdout how it ended', async () => {
    const id = await opened();
    const go = signalled();
    start(async (_, { observe }) => {
      observe({ type: 'begun', stage: 'fetch' });
      observe({ type: 'planned', calls: 9, sections: 1 });
      observe({ type: 'fetched', call: 'a', done: 4, of: 9, saved: false, tokens: 17, finish: Date.now() });
      await go.promise;
      return result('done');
    });
    const child = spawn(process.execPath, [MAIN, 'runs', 'watch', id, '--json'], {
      env: { PATH: process.env.PATH, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const said: string[] = [];
    createInterface({ input: child.stderr }).on('line', (line) => {
      said.push(line);
      if (line.includes('4/9')) go.tell();
    });
    let stdout = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ id, state: 'done', calls: { planned: 9, made: 1 } });
    expect(said.map((line) => line.replace(/\s+/g, ' '))).toEqual(
      expect.arrayContaining([
        'acme/weekly plan 9 calls',
        expect.stringContaining('acme/weekly call 4/9, 17 tokens left'),
        'acme/weekly finished done, 1 calls made, 0 answers kept',
      ]),
    );
  });

  test('ends as the run did: 3 for one that is held, 1 for one that was cancelled', async () => {
    const held = await opened();
    start(async () => result('held'));
    const watched = await docket(['runs', 'watch', held], { env });
    expect(watched.code).toBe(3);
    expect(watched.stdout).toContain(': held, 0 API calls');
    const cancelled = await opened();
    await bench.runs.update(cancelled, { state: 'cancelled' });
    expect((await docket(['runs', 'watch', cancelled], { env })).code).toBe(1);
  });

  test('stops watching when its time is up, and the run goes on', async () => {
    const id = await opened();
    const { code, stdout, stderr } = await docket(['runs', 'watch', id, '--timeout', '1s', '--json'], { env });
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'run.unfinished', got: 'a run in state queued' } });
    expect(stderr).toContain('Its time of 1 s is up.');
    expect(await bench.runs.get(id)).toMatchObject({ state: 'queued', cancel: null });
    await bench.runs.update(id, { state: 'cancelled' });
  });

  test('knows no other runs, and refuses to wait for a run that is made here and now', async () => {
    const { code, stderr } = await docket(['runs', 'watch', 'f'.repeat(32)], { env });
    expect(code).toBe(2);
    expect(stderr).toContain('There is no record of run');
    const waited = await docket(['run', 'acme/weekly', '--wait'], { env });
    expect(waited.code).toBe(2);
    expect(waited.stderr).toContain('--queue as well');
  });
});
