import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { type Log, type LogFields, silentLog } from '../../src/base/log.ts';
import type { RedisClient } from '../../src/base/redis-client.ts';
import { reportFileSchema } from '../../src/define/definition.ts';
import { orgFileSchema } from '../../src/define/org.ts';
import { openRedis } from '../../src/queue/connection.ts';
import { definitionStore, type FrozenDefinition } from '../../src/queue/definition-store.ts';
import { type RunQueue, runQueue } from '../../src/queue/jobs.ts';
import { type RedisRunStore, redisRunStore } from '../../src/queue/run-store.ts';
import { type Trigger, type TriggerRequest, trigger } from '../../src/queue/trigger.ts';
import type { RunOrder } from '../../src/run/record.ts';

export const aPrefix = (): string => `{test-${randomBytes(6).toString('hex')}}`;

export interface AScheduleSpec {
  readonly cron: string;
  readonly timezone?: string;
  readonly catch_up?: 'skip' | 'latest' | 'all';
  readonly catch_up_window?: string;
  readonly jitter?: string;
  readonly on?: { readonly business_day: number };
  readonly shift?: 'next_business_day' | 'previous_business_day';
}

/** A report of an organization, as the loader makes it. */
export function aReport(
  report = 'weekly',
  schedule?: AScheduleSpec | readonly AScheduleSpec[],
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

export interface Bench {
  readonly prefix: string;
  /** A producer's client and a worker's. */
  readonly producer: RedisClient;
  readonly worker: RedisClient;
  readonly runs: RedisRunStore;
  readonly queue: RunQueue;
  readonly trigger: Trigger;
  close(): Promise<void>;
}

/** What producers of runs have, on the tests' Redis under a prefix of its own. */
export async function aBench(
  clock: Clock = systemClock,
  prefix = aPrefix(),
  log: Log = silentLog,
  url = inject('redisUrl'),
): Promise<Bench> {
  const producer = await openRedis(url, 'producer', silentLog);
  const worker = await openRedis(url, 'worker', silentLog);
  const runs = redisRunStore(producer, { prefix, keepDays: 40 });
  const definitions = definitionStore(producer, { prefix, keepDays: 30 });
  const queue = runQueue(producer, { prefix });
  return {
    prefix,
    producer,
    worker,
    runs,
    queue,
    trigger: (request) => trigger(request, { runs, definitions, queue, clock, log }),
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

export interface LogLine extends LogFields {
  readonly level: string;
  readonly message: string;
}

export function linesLog(): Log & { readonly lines: LogLine[] } {
  const lines: LogLine[] = [];
  const write =
    (level: string) =>
    (message: string, fields: LogFields = {}) => {
      lines.push({ level, message, ...fields });
    };
  return { lines, debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}

/** A promise with its handle, and how often it was told. */
export function signalled<T = void>(): { promise: Promise<T>; tell: (value: T) => void } {
  let tell: (value: T) => void = () => {};
  const promise = new Promise<T>((resolve) => {
    tell = resolve;
  });
  return { promise, tell };
}
