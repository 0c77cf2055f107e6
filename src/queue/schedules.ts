import { createHash } from 'node:crypto';
import { Queue, Worker } from 'bullmq';
import type { Clock } from '../base/clock.ts';
import { DocketError, toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import { nextReportSlots, timetableOf, timetableSchema } from '../define/slots.ts';
import { closeWorker } from './close-worker.ts';
import { asking, redisFailure } from './connection.ts';
import type { FrozenDefinition } from './definition-store.ts';
import { nameOf } from './due.ts';
import { TICKS } from './jobs.ts';
import { keysOf } from './keys.ts';
import type { RedisClient } from './script.ts';

/** Part of each schedule's hash: raise it when what is registered changes for the same definition. */
const SHAPE = 2;
/** A scheduler whose next tick is this long past has stopped ticking, ms. */
const STUCK_MS = 2 * 60_000;
/** Registrations that are on their way at the same time. */
const ABREAST = 200;

// BullMQ reads one cron, and differently from us at changes of summer time: its pattern is our timetable, and the tick
// comes when our slot does.
const settings = {
  repeatStrategy: (millis: number, options: { readonly pattern?: string }) =>
    options.pattern === undefined
      ? undefined
      : nextReportSlots(timetableSchema.parse(JSON.parse(options.pattern)), millis, 1)[0]?.at,
};

const TICK = {
  removeOnComplete: { age: 3_600, count: 100 },
  removeOnFail: { age: 86_400, count: 100 },
  stackTraceLimit: 0,
};

/** What BullMQ is told to wake us for. */
export interface Schedules {
  /**
   * Registers what changed and removes what is gone. Two reads, and nothing else when nothing changed: on BullMQ,
   * registering an unchanged schedule again throws its pending tick away.
   */
  sync(reports: readonly FrozenDefinition[]): Promise<Synced>;
  close(): Promise<void>;
}

/** What a sync changed. */
export interface Synced {
  readonly registered: number;
  readonly removed: number;
  /** Registered again because they had stopped ticking. */
  readonly repaired: number;
}

/** @param redis a producer's client; it stays its owner's to close */
export function schedules(
  redis: RedisClient,
  { prefix, clock, log }: { readonly prefix: string; readonly clock: Clock; readonly log: Log },
): Schedules {
  const keys = keysOf(prefix);
  const queue = new Queue<{ report: string }, void, string>(TICKS, { connection: redis, prefix: keys.bull, settings });
  queue.on('error', () => {});

  const register = async (report: FrozenDefinition, hash: string): Promise<void> => {
    const timetable = timetableOf(report.definition, report.settings);
    const name = nameOf(report);
    const upsert = () =>
      queue.upsertJobScheduler(
        name,
        { pattern: JSON.stringify(timetable) },
        { name: 'tick', data: { report: name }, opts: TICK },
      );
    try {
      await upsert().catch(async () => {
        // BullMQ refuses when a kept job bears the id of the next tick, as after the loss of the scheduler alone.
        const [next] = nextReportSlots(timetable, clock.now(), 1);
        await queue.remove(`repeat:${name}:${next?.at}`);
        return upsert();
      });
    } catch (error) {
      if (redisFailure(redis, error) instanceof DocketError) throw error;
      log.warn('A schedule could not be registered; the reconciler opens its slots meanwhile', {
        org: report.definition.org,
        report: report.definition.report,
        why: error instanceof Error ? error.message : String(error),
      });
      return;
    }
    await redis.hset(keys.schedules, name, hash);
  };

  return {
    sync: (reports) =>
      asking(redis, async () => {
        const scheduled = reports.filter(({ definition }) => definition.schedule.length > 0);
        const wanted = new Map(scheduled.map((report) => [nameOf(report), { report, hash: hashOf(report) }]));
        const [known, flat] = await Promise.all([
          redis.hgetall(keys.schedules),
          redis.zrangebyscore(queue.toKey('repeat'), '-inf', '+inf', 'WITHSCORES'),
        ]);
        const next = new Map<string, number>();
        for (let i = 0; i + 1 < flat.length; i += 2) next.set(flat[i] ?? '', Number(flat[i + 1]));

        const changed: { readonly report: FrozenDefinition; readonly hash: string }[] = [];
        let repaired = 0;
        for (const [name, { report, hash }] of wanted) {
          const at = next.get(name);
          const stuck = at === undefined || at < clock.now() - STUCK_MS;
          if (known[name] === hash && !stuck) continue;
          if (known[name] === hash) repaired += 1;
          changed.push({ report, hash });
        }
        for (let from = 0; from < changed.length; from += ABREAST) {
          await Promise.all(changed.slice(from, from + ABREAST).map(({ report, hash }) => register(report, hash)));
        }
        const orphans = [...new Set([...Object.keys(known), ...next.keys()])].filter((name) => !wanted.has(name));
        for (const name of orphans) await queue.removeJobScheduler(name);
        if (orphans.length > 0) await redis.hdel(keys.schedules, ...orphans);
        if (repaired > 0) log.warn('Schedules were overdue and were registered again', { count: repaired });
        return { registered: changed.length - repaired, removed: orphans.length, repaired };
      }),
    close: () => queue.close(),
  };
}

const hashOf = ({ definition, settings: org }: FrozenDefinition): string =>
  createHash('sha256')
    .update(JSON.stringify([SHAPE, timetableOf(definition, org)]))
    .digest('hex')
    .slice(0, 16);

/**
 * Hears the ticks. A tick carries a report's name and nothing else, and may come twice or too late: `onTick` looks at
 * what is due.
 *
 * @param redis a worker's client; it stays its owner's to close
 */
export function startTicks(
  redis: RedisClient,
  options: {
    readonly prefix: string;
    readonly log: Log;
    readonly onTick: (report: string) => Promise<void>;
  },
): { ready(): Promise<void>; close(): Promise<void> } {
  const worker = new Worker<{ report: string }>(
    TICKS,
    async (job) => {
      try {
        await options.onTick(job.data.report);
      } catch (thrown) {
        // The reconciler comes within a minute; a failed tick is worth a line, not a retry.
        options.log.warn('A tick came to nothing', { report: job.data.report, error: toDocketError(thrown).toJSON() });
      }
    },
    { connection: redis, prefix: keysOf(options.prefix).bull, concurrency: 20, settings },
  );
  worker.on('error', (error) => options.log.warn('The queue of ticks has a fault', { why: error.message }));
  return {
    ready: async () => {
      await worker.waitUntilReady();
    },
    close: () => closeWorker(worker, redis, false),
  };
}
