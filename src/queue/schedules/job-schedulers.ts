import { createHash } from 'node:crypto';
import { Worker } from 'bullmq';
import type { Clock } from '../../base/clock.ts';
import { coalesceCalls, splitBatches } from '../../base/concurrency.ts';
import { DocketError, errorMessage, toDocketError } from '../../base/error.ts';
import type { Log } from '../../base/log.ts';
import { MINUTE_MS } from '../../base/time.ts';
import { buildTimetable, nextReportSlots, type Timetable, timetableSchema } from '../../definitions/schedules/slots.ts';
import type { RedisClient } from '../../redis/client.ts';
import { toRedisError, withRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';
import { closeWorker, openQueue, TICK_QUEUE_NAME } from '../bullmq.ts';
import type { FrozenDefinition } from '../definitions/definition-store.ts';

/** Part of each timetable's name. Increase it when an unchanged timetable must be registered differently. */
const FORMAT_VERSION = 3;
/** A job scheduler whose next tick is overdue by this, ms, has stalled. */
const STALLED_AFTER_MS = 2 * MINUTE_MS;
/** Timetables per batch. A batch is registered in parallel, and recorded by one command. */
const BATCH_SIZE = 200;

// BullMQ supports only one cron expression, and handles daylight saving changes differently. So its pattern is our
// timetable, and we compute the times of its ticks.
const queueSettings = (nextOf: (pattern: string, after: number) => number | undefined) => ({
  repeatStrategy: (millis: number, options: { readonly pattern?: string }) =>
    options.pattern === undefined ? undefined : nextOf(options.pattern, millis),
});

const nextSlotAt = (pattern: string, after: number): number | undefined =>
  nextReportSlots(timetableSchema.parse(JSON.parse(pattern)), after, 1)[0]?.at;

const TICK_JOB_OPTIONS = {
  removeOnComplete: { age: 3_600, count: 100 },
  removeOnFail: { age: 86_400, count: 100 },
  stackTraceLimit: 0,
};

/**
 * Manages BullMQ's job schedulers: one for all reports with the same timetable.
 *
 * @param redis a producer's client; the caller closes it
 * @param observe receives the number of repaired job schedulers
 */
export function jobSchedulers(
  redis: RedisClient,
  options: {
    readonly prefix: string;
    readonly clock: Clock;
    readonly log: Log;
    readonly observe?: (repaired: number) => void;
  },
) {
  const { prefix, clock, log, observe } = options;
  const keys = redisKeys(prefix);
  /** First slots computed in this sync, by pattern: BullMQ requests each of them again at once. */
  const firstSlots = new Map<string, { readonly after: number; readonly at: number }>();
  const settings = queueSettings((pattern, after) => {
    const first = firstSlots.get(pattern);
    return first !== undefined && first.after <= after && after < first.at ? first.at : nextSlotAt(pattern, after);
  });
  const queue = openQueue<{ timetable: string }>(redis, prefix, TICK_QUEUE_NAME, { settings });
  let last: { readonly reports: readonly FrozenDefinition[]; readonly ticking: number } | undefined;

  /** False if BullMQ rejected it. */
  const register = async (name: string, pattern: string): Promise<boolean> => {
    const upsert = () =>
      queue.upsertJobScheduler(name, { pattern }, { name: 'tick', data: { timetable: name }, opts: TICK_JOB_OPTIONS });
    try {
      await upsert().catch(async () => {
        // BullMQ rejects it if an old job has the id of the next tick, e.g. after only the scheduler was lost.
        await queue.remove(`repeat:${name}:${nextSlotAt(pattern, clock.now())}`);
        return upsert();
      });
      return true;
    } catch (error) {
      if (toRedisError(error, { server: redis }) instanceof DocketError) throw error;
      log.warn('A timetable could not be registered with BullMQ; the reconciler opens its slots meanwhile', {
        key: name,
        why: errorMessage(error),
      });
      return false;
    }
  };

  const isUnchanged = async (reports: readonly FrozenDefinition[]): Promise<boolean> => {
    if (last?.reports !== reports) return false;
    const [ticking, stalled] = await Promise.all([
      redis.zcard(queue.toKey('repeat')),
      redis.zcount(queue.toKey('repeat'), '-inf', clock.now() - STALLED_AFTER_MS),
    ]);
    return ticking === last.ticking && stalled === 0;
  };

  const syncAll = async (reports: readonly FrozenDefinition[]) => {
    const wanted = collectTimetables(reports);
    const [known, flat] = await Promise.all([
      redis.hgetall(keys.schedules),
      redis.zrangebyscore(queue.toKey('repeat'), '-inf', '+inf', 'WITHSCORES'),
    ]);
    const next = new Map<string, number>();
    for (let i = 0; i + 1 < flat.length; i += 2) next.set(flat[i] ?? '', Number(flat[i + 1]));

    const now = clock.now();
    const due = [...wanted.keys()].filter((name) => {
      const at = next.get(name);
      return known[name] === undefined || at === undefined || at < now - STALLED_AFTER_MS;
    });
    // Timetables without a next slot need no job scheduler.
    const expired = new Set<string>();
    let repaired = 0;
    let registered = 0;
    for (const names of splitBatches(due, BATCH_SIZE)) {
      firstSlots.clear();
      const batch = names.flatMap((name) => {
        const { timetable, pattern } = wanted.get(name) ?? {};
        const at = timetable === undefined ? undefined : nextReportSlots(timetable, now, 1)[0]?.at;
        if (pattern === undefined || at === undefined) {
          expired.add(name);
          return [];
        }
        firstSlots.set(pattern, { after: now, at });
        return { name, pattern };
      });
      const registeredNow = await Promise.all(batch.map(({ name, pattern }) => register(name, pattern)));
      const entries = batch.filter((_, index) => registeredNow[index]).flatMap(({ name }) => [name, now]);
      if (entries.length > 0) await redis.hset(keys.schedules, ...entries);
      const again = batch.filter(({ name }) => known[name] !== undefined).length;
      repaired += again;
      registered += batch.length - again;
    }
    firstSlots.clear();
    const orphans = [...new Set([...Object.keys(known), ...next.keys()])].filter(
      (name) => !wanted.has(name) || expired.has(name),
    );
    for (const batch of splitBatches(orphans, BATCH_SIZE)) {
      await Promise.all(batch.map((name) => queue.removeJobScheduler(name)));
      await redis.hdel(keys.schedules, ...batch);
    }
    if (repaired > 0) {
      log.warn('Re-registered stalled job schedulers', { count: repaired });
      observe?.(repaired);
    }
    last = { reports, ticking: wanted.size - expired.size };
    return { registered, removed: orphans.length, repaired };
  };

  return {
    /**
     * Registers new timetables, and removes those no longer used. If the array of reports is the same, and all job
     * schedulers exist and tick, it only makes two small reads: registering an unchanged timetable again would discard
     * its pending tick. Returns numbers of timetables. `repaired`: registered again because they were lost or had
     * stalled.
     */
    sync: (reports: readonly FrozenDefinition[]) =>
      withRedisErrors(redis, async () =>
        (await isUnchanged(reports)) ? { registered: 0, removed: 0, repaired: 0 } : syncAll(reports),
      ),
    close: () => queue.close(),
  };
}

/** The timetables of all reports, each once, by name. */
function collectTimetables(
  reports: readonly FrozenDefinition[],
): ReadonlyMap<string, { readonly pattern: string; readonly timetable: Timetable }> {
  const patterns = new Map<string, Timetable>();
  for (const { definition, settings: org } of reports) {
    if (definition.schedule.length === 0) continue;
    const { schedules, ...zones } = buildTimetable(definition, org);
    // Leaves out settings that do not affect slots: 0.2.0 refuses them, and changing them would register the timetable
    // again.
    const timetable = { schedules: schedules.map(({ prepare: _, late_after: __, ...schedule }) => schedule), ...zones };
    patterns.set(JSON.stringify(timetable), timetable);
  }
  return new Map([...patterns].map(([pattern, timetable]) => [timetableName(pattern), { pattern, timetable }]));
}

const timetableName = (pattern: string): string =>
  createHash('sha256')
    .update(JSON.stringify([FORMAT_VERSION, pattern]))
    .digest('hex')
    .slice(0, 32);

/**
 * Processes the ticks. A tick may be late or a duplicate, so `onTick` scans everything that is due. Ticks that arrive
 * during a scan share one further scan.
 *
 * @param redis a worker's client; the caller closes it
 */
export function startTickWorker(
  redis: RedisClient,
  options: { readonly prefix: string; readonly log: Log; readonly onTick: () => Promise<unknown> },
) {
  const scan = coalesceCalls(options.onTick);
  const worker = new Worker(
    TICK_QUEUE_NAME,
    async () => {
      try {
        await scan();
      } catch (thrown) {
        // Not retried, because the reconciler scans within a minute.
        options.log.warn('Tick failed', { error: toDocketError(thrown).toJSON() });
      }
    },
    { connection: redis, prefix: redisKeys(options.prefix).bull, concurrency: 20, settings: queueSettings(nextSlotAt) },
  );
  worker.on('error', (error) => options.log.warn('BullMQ tick worker error', { why: error.message }));
  return {
    ready: () => withRedisErrors(redis, async () => void (await worker.waitUntilReady())),
    close: () => closeWorker(worker, redis, false),
  };
}
