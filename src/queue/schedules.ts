import { createHash } from 'node:crypto';
import { Queue, Worker } from 'bullmq';
import type { Clock } from '../base/clock.ts';
import { DocketError, toDocketError, wordsOf } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import { nextReportSlots, type Timetable, timetableOf, timetableSchema } from '../define/slots.ts';
import { closeWorker } from './close-worker.ts';
import { coalesced } from './coalesced.ts';
import { asking, redisFailure } from './connection.ts';
import type { FrozenDefinition } from './definition-store.ts';
import { TICKS } from './jobs.ts';
import { keysOf } from './keys.ts';
import type { RedisClient } from './script.ts';

/** Part of each timetable's name: raise it when what is registered changes for the same timetable. */
const SHAPE = 3;
/** A scheduler whose next tick is this long past has stopped ticking, ms. */
const STUCK_MS = 2 * 60_000;
/** Registrations that are on their way at the same time. */
const ABREAST = 200;

// BullMQ reads one cron, and differently from us at changes of summer time: its pattern is our timetable, and the tick
// comes when our slot does.
const settingsWith = (nextOf: (pattern: string, after: number) => number | undefined) => ({
  repeatStrategy: (millis: number, options: { readonly pattern?: string }) =>
    options.pattern === undefined ? undefined : nextOf(options.pattern, millis),
});

const nextOf = (pattern: string, after: number): number | undefined =>
  nextReportSlots(timetableSchema.parse(JSON.parse(pattern)), after, 1)[0]?.at;

const TICK = {
  removeOnComplete: { age: 3_600, count: 100 },
  removeOnFail: { age: 86_400, count: 100 },
  stackTraceLimit: 0,
};

/** What BullMQ is told to wake us for: one job scheduler for all reports with the same timetable. */
export interface Schedules {
  /**
   * Registers timetables that are new and removes those that are gone. While nothing changes – the same array of reports,
   * and BullMQ's schedulers all there and ticking – two small reads and nothing else: on BullMQ, registering an unchanged
   * schedule again throws its pending tick away.
   */
  sync(reports: readonly FrozenDefinition[]): Promise<Synced>;
  close(): Promise<void>;
}

/** What a sync changed, in timetables. */
export interface Synced {
  readonly registered: number;
  readonly removed: number;
  /** Registered again because they were lost or had stopped ticking. */
  readonly repaired: number;
}

const UNCHANGED: Synced = Object.freeze({ registered: 0, removed: 0, repaired: 0 });

/**
 * @param redis a producer's client; it stays its owner's to close
 * @param observe told how many schedulers had to be repaired
 */
export function schedules(
  redis: RedisClient,
  {
    prefix,
    clock,
    log,
    observe,
  }: {
    readonly prefix: string;
    readonly clock: Clock;
    readonly log: Log;
    readonly observe?: (repaired: number) => void;
  },
): Schedules {
  const keys = keysOf(prefix);
  /** First slots that this sync has found already, by pattern: BullMQ asks for them again at once. */
  const found = new Map<string, { readonly after: number; readonly at: number }>();
  const settings = settingsWith((pattern, after) => {
    const first = found.get(pattern);
    return first !== undefined && first.after <= after && after < first.at ? first.at : nextOf(pattern, after);
  });
  const queue = new Queue<{ timetable: string }, void, string>(TICKS, {
    connection: redis,
    prefix: keys.bull,
    settings,
  });
  queue.on('error', () => {});
  let last: { readonly reports: readonly FrozenDefinition[]; readonly ticking: number } | undefined;

  /** False: BullMQ did not take it. */
  const register = async (name: string, pattern: string): Promise<boolean> => {
    const upsert = () =>
      queue.upsertJobScheduler(name, { pattern }, { name: 'tick', data: { timetable: name }, opts: TICK });
    try {
      await upsert().catch(async () => {
        // BullMQ refuses when a kept job bears the id of the next tick, as after the loss of the scheduler alone.
        await queue.remove(`repeat:${name}:${nextOf(pattern, clock.now())}`);
        return upsert();
      });
      return true;
    } catch (error) {
      if (redisFailure(redis, error) instanceof DocketError) throw error;
      log.warn('A timetable could not be registered; the reconciler opens its slots meanwhile', {
        key: name,
        why: wordsOf(error),
      });
      return false;
    }
  };

  const isUnchanged = async (reports: readonly FrozenDefinition[]): Promise<boolean> => {
    if (last?.reports !== reports) return false;
    const [ticking, stuck] = await Promise.all([
      redis.zcard(queue.toKey('repeat')),
      redis.zcount(queue.toKey('repeat'), '-inf', clock.now() - STUCK_MS),
    ]);
    return ticking === last.ticking && stuck === 0;
  };

  const syncAll = async (reports: readonly FrozenDefinition[]): Promise<Synced> => {
    const wanted = timetablesOf(reports);
    const [known, flat] = await Promise.all([
      redis.hgetall(keys.schedules),
      redis.zrangebyscore(queue.toKey('repeat'), '-inf', '+inf', 'WITHSCORES'),
    ]);
    const next = new Map<string, number>();
    for (let i = 0; i + 1 < flat.length; i += 2) next.set(flat[i] ?? '', Number(flat[i + 1]));

    const now = clock.now();
    const due = [...wanted.keys()].filter((name) => {
      const at = next.get(name);
      return known[name] === undefined || at === undefined || at < now - STUCK_MS;
    });
    // A timetable that has come to its end needs nobody to wake us.
    const over = new Set<string>();
    let repaired = 0;
    let registered = 0;
    for (let from = 0; from < due.length; from += ABREAST) {
      found.clear();
      const batch = due.slice(from, from + ABREAST).flatMap((name) => {
        const { timetable, pattern } = wanted.get(name) ?? {};
        const at = timetable === undefined ? undefined : nextReportSlots(timetable, now, 1)[0]?.at;
        if (pattern === undefined || at === undefined) {
          over.add(name);
          return [];
        }
        found.set(pattern, { after: now, at });
        return { name, pattern };
      });
      const taken = await Promise.all(batch.map(({ name, pattern }) => register(name, pattern)));
      const marks = batch.filter((_, index) => taken[index]).flatMap(({ name }) => [name, now]);
      if (marks.length > 0) await redis.hset(keys.schedules, ...marks);
      const again = batch.filter(({ name }) => known[name] !== undefined).length;
      repaired += again;
      registered += batch.length - again;
    }
    found.clear();
    const orphans = [...new Set([...Object.keys(known), ...next.keys()])].filter(
      (name) => !wanted.has(name) || over.has(name),
    );
    for (let from = 0; from < orphans.length; from += ABREAST) {
      const batch = orphans.slice(from, from + ABREAST);
      await Promise.all(batch.map((name) => queue.removeJobScheduler(name)));
      await redis.hdel(keys.schedules, ...batch);
    }
    if (repaired > 0) {
      log.warn('Timetables had stopped ticking and were registered again', { count: repaired });
      observe?.(repaired);
    }
    last = { reports, ticking: wanted.size - over.size };
    return { registered, removed: orphans.length, repaired };
  };

  return {
    sync: (reports) => asking(redis, async () => ((await isUnchanged(reports)) ? UNCHANGED : syncAll(reports))),
    close: () => queue.close(),
  };
}

/** The timetables of all reports, each once, by name. */
function timetablesOf(
  reports: readonly FrozenDefinition[],
): ReadonlyMap<string, { readonly pattern: string; readonly timetable: Timetable }> {
  const patterns = new Map<string, Timetable>();
  for (const { definition, settings: org } of reports) {
    if (definition.schedule.length === 0) continue;
    const timetable = timetableOf(definition, org);
    patterns.set(JSON.stringify(timetable), timetable);
  }
  return new Map([...patterns].map(([pattern, timetable]) => [nameOfTimetable(pattern), { pattern, timetable }]));
}

const nameOfTimetable = (pattern: string): string =>
  createHash('sha256')
    .update(JSON.stringify([SHAPE, pattern]))
    .digest('hex')
    .slice(0, 32);

/**
 * Hears the ticks. A tick says that something is due, and may come twice or too late: `onTick` looks at all that is due.
 * Of ticks that come while it looks, all are answered by one look after it.
 *
 * @param redis a worker's client; it stays its owner's to close
 */
export function startTicks(
  redis: RedisClient,
  options: {
    readonly prefix: string;
    readonly log: Log;
    readonly onTick: () => Promise<unknown>;
  },
): { ready(): Promise<void>; close(): Promise<void> } {
  const look = coalesced(options.onTick);
  const worker = new Worker(
    TICKS,
    async () => {
      try {
        await look();
      } catch (thrown) {
        // The reconciler comes within a minute; a failed tick is worth a line, not a retry.
        options.log.warn('A tick came to nothing', { error: toDocketError(thrown).toJSON() });
      }
    },
    { connection: redis, prefix: keysOf(options.prefix).bull, concurrency: 20, settings: settingsWith(nextOf) },
  );
  worker.on('error', (error) => options.log.warn('The queue of ticks has a fault', { why: error.message }));
  return {
    ready: () => asking(redis, async () => void (await worker.waitUntilReady())),
    close: () => closeWorker(worker, redis, false),
  };
}
