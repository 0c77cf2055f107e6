import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { type Log, type LogFields, silentLog } from '../../src/base/log.ts';
import { reportFileSchema } from '../../src/compose/built-in-kinds.ts';
import { orgFileSchema } from '../../src/definitions/schema/org-settings.ts';
import type { FrozenDefinition } from '../../src/queue/definitions/definition-store.ts';
import { type RunQueue, runQueue } from '../../src/queue/jobs/run-queue.ts';
import { type RedisRunStore, redisRunStore } from '../../src/queue/runs/run-store.ts';
import type { RedisClient } from '../../src/redis/client.ts';
import { openRedis } from '../../src/redis/connection.ts';
import { redisKeys } from '../../src/redis/keys.ts';
import type { RunOrder, RunRecord, RunState } from '../../src/run/run-record.ts';
import { type TriggerRequest, type TriggerRun, triggerRun } from '../../src/services/runs/trigger-run.ts';
import { waitFor } from './wait-for.ts';

export const randomPrefix = (): string => `{test-${randomBytes(6).toString('hex')}}`;

export interface ScheduleSpec {
  readonly cron: string;
  readonly timezone?: string;
  readonly catch_up?: 'skip' | 'latest' | 'all';
  readonly catch_up_window?: string;
  readonly jitter?: string;
  readonly late_after?: string;
  readonly prepare?: string;
  readonly on?: { readonly business_day: number };
  readonly shift?: 'next_business_day' | 'previous_business_day';
}

/** A report of an organization, as the loader returns it. */
export function reportDefinition(
  report = 'weekly',
  schedule?: ScheduleSpec | readonly ScheduleSpec[],
  org = 'acme',
): FrozenDefinition {
  return {
    definition: {
      ...reportFileSchema.parse({
        version: 1,
        title: 'Weekly',
        owner: 'ops@acme.example',
        period: 'previous_week',
        sections: [{ id: 'onboarding', metrics: ['profiles.created'] }],
        outputs: [{ format: 'csv' }],
        ...(schedule === undefined ? {} : { schedule }),
      }),
      org,
      report,
      digest: randomBytes(32).toString('hex'),
    },
    settings: {
      ...orgFileSchema.parse({
        org: 7,
        api_key: { env: 'ACME_KEY' },
        timezone: 'Europe/Zurich',
        recipients: { domains: ['acme.example'] },
      }),
      id: org,
    },
  };
}

export interface QueueHarness {
  readonly prefix: string;
  /** The Redis clients of a producer and a worker. */
  readonly producer: RedisClient;
  readonly worker: RedisClient;
  readonly runs: RedisRunStore;
  readonly queue: RunQueue;
  readonly trigger: TriggerRun;
  close(): Promise<void>;
}

/** What producers of runs need, on the tests' Redis with a separate prefix. */
export async function openQueueHarness(
  clock: Clock = systemClock,
  prefix = randomPrefix(),
  log: Log = silentLog,
  url = inject('redisUrl'),
): Promise<QueueHarness> {
  const producer = await openRedis(url, 'producer', silentLog);
  const worker = await openRedis(url, 'worker', silentLog);
  const runs = redisRunStore(producer, { prefix, keepDays: 40 });
  const queue = runQueue(producer, { prefix });
  return {
    prefix,
    producer,
    worker,
    runs,
    queue,
    trigger: (request) => triggerRun(request, { runs, queue, clock, log }),
    close: async () => {
      await queue.close();
      const keys = await producer.keys(`${prefix}*`);
      if (keys.length > 0) await producer.del(...keys);
      producer.disconnect();
      worker.disconnect();
    },
  };
}

export const onDemand = (frozen: FrozenDefinition, id: string = randomBytes(8).toString('hex')): TriggerRequest => ({
  ...frozen,
  slot: { trigger: id },
  trigger: 'on_demand',
  priority: 'on_demand',
  deliver: true,
});

export const anOrder = (change: Partial<RunOrder> = {}): RunOrder => ({
  id: randomBytes(16).toString('hex'),
  org: 'acme',
  report: 'weekly',
  slot: '2026-11-16T07:00:00.000Z',
  trigger: 'schedule',
  priority: 'scheduled',
  period: { from: '2026-11-09', to: '2026-11-15', timezone: 'Europe/Zurich', label: '2026-W46' },
  digest: 'd'.repeat(64),
  deliver: true,
  createdAt: Date.now(),
  ...change,
});

/** Resolves with the record of a run when it is in one of these states. */
export const waitForRun = (
  { runs }: { readonly runs: Pick<RedisRunStore, 'get'> },
  id: string,
  ...states: readonly RunState[]
): Promise<RunRecord> =>
  waitFor(`run ${id} to be ${states.join(' or ')}`, async () => {
    const record = await runs.get(id);
    return record !== undefined && states.includes(record.state) ? record : undefined;
  });

/** Resolves with the fields of a run's job when BullMQ has settled it. */
export const waitForSettledJob = (
  { producer, prefix }: Pick<QueueHarness, 'producer' | 'prefix'>,
  id: string,
): Promise<Record<string, string>> =>
  waitFor(`the job of run ${id} to be settled`, async () => {
    const job = await producer.hgetall(`${redisKeys(prefix).bull}:runs:${id}`);
    return job.finishedOn === undefined ? undefined : job;
  });

export interface LogLine extends LogFields {
  readonly level: string;
  readonly message: string;
}

export function recordingLog(): Log & { readonly lines: LogLine[] } {
  const lines: LogLine[] = [];
  const write =
    (level: string) =>
    (message: string, fields: LogFields = {}) => {
      lines.push({ level, message, ...fields });
    };
  return { lines, debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}

/** A promise with a function that resolves it. */
export function deferred<T = void>(): { promise: Promise<T>; tell: (value: T) => void } {
  let tell: (value: T) => void = () => {};
  const promise = new Promise<T>((resolve) => {
    tell = resolve;
  });
  return { promise, tell };
}
