import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { type DocketError, toDocketError } from '../../src/base/error.ts';
import { done } from '../../src/base/outcome.ts';
import { redisCircuitBreaker } from '../../src/deliver/circuit/circuit-breaker.ts';
import { redisLastSentFigures } from '../../src/deliver/last-sent-figures.ts';
import { deliveryId, type NewDelivery } from '../../src/deliver/ledger/ledger.ts';
import { redisLedger } from '../../src/deliver/ledger/redis-ledger.ts';
import { type LocalRedis, localRedis } from '../../src/demo/local-redis.ts';
import { redisResponseStore } from '../../src/fetch/cache/redis-response-store.ts';
import { redisBudget } from '../../src/fetch/rate-limit/redis-budget.ts';
import { type RunWorker, startWorker } from '../../src/queue/jobs/worker.ts';
import { redisRunStore } from '../../src/queue/runs/run-store.ts';
import { redisKeys } from '../../src/redis/keys.ts';
import {
  onDemand,
  openQueueHarness,
  type QueueHarness,
  randomPrefix,
  recordingLog,
  reportDefinition,
  waitForSettledJob,
} from '../support/queue-harness.ts';

let server: LocalRedis;
let harness: QueueHarness;
const workers: RunWorker[] = [];
beforeAll(async () => {
  const { REDIS_URL: _, ...env } = process.env;
  server = await localRedis(env);
});
afterAll(() => server.close());
beforeEach(async () => {
  harness = await openQueueHarness(systemClock, randomPrefix(), undefined, server.url);
});
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.close(0);
  await harness.producer.config('SET', 'maxmemory', '0');
  await harness.close();
});

const RUN = '0123456789abcdef0123456789abcdef';
const ROW: NewDelivery = {
  id: deliveryId(RUN, '0-email', 'lead@acme.example'),
  run: RUN,
  org: 'acme',
  report: 'weekly',
  target: '0-email',
  recipient: 'lead@acme.example',
};
const PLACE = { org: 'acme', report: 'weekly', target: '0-email', recipient: null };
const QUESTION = { key: 'abc', id: 'c', org: 'acme', priority: 'on_demand', holdMs: 1_000 } as const;

const budgetOf = () => redisBudget(harness.producer, { prefix: `${harness.prefix}:`, calls: 30, windowMs: 60_000 });
const ledgerOf = () => redisLedger(harness.producer, { prefix: `${harness.prefix}:`, ttlDays: 1 });
const failureOf = (question: Promise<unknown>): Promise<DocketError> =>
  question.then(
    () => {
      throw new Error('it did not fail');
    },
    (thrown: unknown) => toDocketError(thrown),
  );

test('every write to a full Redis gives a retryable error about memory', async () => {
  const { record } = await harness.trigger(onDemand(reportDefinition()));
  const { prefix } = harness;
  await harness.producer.del(`${redisKeys(prefix).bull}:runs:${record.id}`);
  await harness.producer.config('SET', 'maxmemory', '1');
  const writes: Record<string, () => Promise<unknown>> = {
    budget: () => budgetOf().acquire(QUESTION),
    ledger: () => ledgerOf().open(ROW, 1),
    circuit: () =>
      redisCircuitBreaker(harness.producer, { prefix: `${prefix}:`, clock: systemClock }).recordFailure('smtp', 'why'),
    figures: () => redisLastSentFigures(harness.producer, { prefix: `${prefix}:` }).recordStart(PLACE, RUN, 1),
    trigger: () => harness.trigger(onDemand(reportDefinition())),
    enqueue: () => harness.queue.requeue(record),
    record: () => harness.runs.update(record.id, { state: 'running' }),
  };
  for (const [name, ask] of Object.entries(writes)) {
    expect(await failureOf(ask()), name).toMatchObject({ code: 'redis.out_of_memory', retryable: true });
  }
});

test('a full Redis stores no new response, but stored ones can be read and deleted', async () => {
  const store = redisResponseStore(harness.producer, { prefix: `${harness.prefix}:`, org: 'acme' });
  const answer = { body: { a: 1 }, correlationId: null, at: 1 };
  expect(await store.put(RUN, 'kept', answer)).toBe(true);
  await harness.producer.config('SET', 'maxmemory', '1');
  expect(await store.put(RUN, 'c1', answer)).toBe(false);
  expect(await store.get(RUN, 'kept')).toEqual(answer);
  await store.delete(RUN);
  expect(await store.get(RUN, 'kept')).toBeUndefined();
});

test('responses of a run can be deleted from a full Redis while their organization has others', async () => {
  const store = redisResponseStore(harness.producer, { prefix: `${harness.prefix}:`, org: 'acme' });
  const answer = { body: { a: 1 }, correlationId: null, at: 1 };
  const other = 'b'.repeat(32);
  for (const run of [RUN, other]) expect(await store.put(run, 'kept', answer)).toBe(true);
  await harness.producer.config('SET', 'maxmemory', '1');
  await store.delete(RUN);
  expect(await store.get(RUN, 'kept')).toBeUndefined();
  expect(await store.get(other, 'kept')).toEqual(answer);
});

describe('a key of Docket that has another type', () => {
  test('gives an error with its name in budget, ledger and run store, which is not retryable', async () => {
    const { producer, prefix, runs } = harness;
    const at = {
      budget: `${prefix}:budget:{abc}:state`,
      ledger: `${prefix}:deliveries:{${RUN.slice(0, 16)}}`,
      record: redisKeys(prefix).record(RUN),
    };
    for (const key of Object.values(at)) await producer.set(key, 'somebody else');
    const asks: Record<keyof typeof at, () => Promise<unknown>> = {
      budget: () => budgetOf().penalize('abc', Date.now() + 1_000, 'acme'),
      ledger: () => ledgerOf().open(ROW, 1),
      record: () => runs.get(RUN),
    };
    for (const name of ['budget', 'ledger', 'record'] as const) {
      expect(await failureOf(asks[name]()), name).toMatchObject({
        code: 'redis.wrong_type',
        retryable: false,
        where: expect.stringContaining(at[name]),
      });
    }
  });

  const work = (execute: () => Promise<void>, log = recordingLog()) => {
    workers.push(
      startWorker({
        connection: harness.worker,
        prefix: harness.prefix,
        store: redisRunStore(harness.worker, { prefix: harness.prefix, keepDays: 40 }),
        execute: async () => {
          await execute();
          return done({ state: 'done', folder: '', files: [], calls: [], incomplete: [], receipts: [] });
        },
        clock: systemClock,
        log,
        concurrency: 1,
      }),
    );
    return log;
  };
  /** The fields of the job after BullMQ has settled it. */
  const settled = (run: string) => waitForSettledJob(harness, run);

  test('ends a run that needs it after one attempt', async () => {
    await harness.producer.set(`${harness.prefix}:deliveries:{${RUN.slice(0, 16)}}`, 'somebody else');
    const { record } = await harness.trigger(onDemand(reportDefinition()));
    work(async () => void (await ledgerOf().open(ROW, 1)));
    expect(await settled(record.id)).toMatchObject({ failedReason: 'redis.wrong_type', atm: '1' });
    expect(await harness.runs.get(record.id)).toMatchObject({
      state: 'failed',
      attempts: 1,
      error: { code: 'redis.wrong_type', where: expect.stringContaining('deliveries:') },
    });
  });

  test('ends the job of a run whose record it is, and is named in the log', async () => {
    const { record } = await harness.trigger(onDemand(reportDefinition()));
    const key = redisKeys(harness.prefix).record(record.id);
    await harness.producer.set(key, 'somebody else');
    const log = work(async () => {});
    expect(await settled(record.id)).toMatchObject({ failedReason: 'redis.wrong_type', atm: '1' });
    expect(log.lines).toContainEqual(
      expect.objectContaining({
        level: 'error',
        run: record.id,
        error: expect.objectContaining({ code: 'redis.wrong_type', where: key }),
      }),
    );
  });

  test('ends the job of a run whose record it replaces during the run', async () => {
    const { record } = await harness.trigger(onDemand(reportDefinition()));
    const key = redisKeys(harness.prefix).record(record.id);
    const log = work(async () => void (await harness.producer.set(key, 'somebody else')));
    expect(await settled(record.id)).toMatchObject({ failedReason: 'redis.wrong_type', atm: '1' });
    expect(log.lines.filter(({ level }) => level === 'error')).toMatchObject([
      {
        run: record.id,
        org: 'acme',
        report: 'weekly',
        error: { code: 'redis.wrong_type', where: expect.stringContaining(key) },
      },
    ]);
  });
});
