import { z } from 'zod';
import { epochMsSchema, SECOND_MS } from '../base/time.ts';
import { parseStored, type RedisClient } from '../redis/client.ts';
import { mapRedisErrors } from '../redis/errors.ts';
import { redisKeys } from '../redis/keys.ts';

/** Long enough that three heartbeats may be lost. */
const REPORT_TTL_MS = 100 * SECOND_MS;

/** A failing check of a process. */
const failureSchema = z.object({
  /** Name of the check, as in `/readyz` or in a line of `docket doctor`. */
  name: z.string(),
  detail: z.string(),
  remedy: z.string().optional(),
  problem: z.string().optional(),
  affects: z.string().optional(),
  since: epochMsSchema,
});

const reportSchema = z.object({
  /** Name of the process: `host:pid:random`. */
  self: z.string(),
  host: z.string(),
  roles: z.array(z.string()),
  /** How many runs a worker executes at once. Absent without that role, and from older versions. */
  concurrency: z.int().min(1).optional(),
  version: z.string(),
  started: epochMsSchema,
  /** When the process reported this, by its own clock. */
  at: epochMsSchema,
  definitions: z.object({
    /** The same for the same definitions. */
    digest: z.string(),
    reports: z.number(),
    /** Why the jobs folder cannot be read; null while it can. */
    unreadable: z.object({ why: z.string(), since: epochMsSchema }).nullable(),
  }),
  failing: z.array(failureSchema),
});

export type ProcessFailure = Readonly<z.infer<typeof failureSchema>>;
/** What a process of `docket start` reports about itself. */
export type ProcessReport = Readonly<z.infer<typeof reportSchema>>;

const peakSchema = z.object({ reports: z.number(), at: epochMsSchema });
/** The largest number of reports that a process had within a day. */
export type ReportPeak = Readonly<z.infer<typeof peakSchema>>;

/**
 * Stores what processes report about themselves: one key each, which expires with the process. Throws
 * `redis.unreachable`.
 */
export function redisProcessReports(redis: RedisClient, { prefix }: { readonly prefix: string }) {
  const { processes, processReport, reportPeak } = redisKeys(prefix);
  const mapped = mapRedisErrors(redis);
  return {
    put: mapped(async (report: ProcessReport) => {
      await redis.set(processReport(report.self), JSON.stringify(report), 'PX', REPORT_TTL_MS);
      await redis.sadd(processes, report.self);
    }),
    remove: mapped(async (self: string) => {
      await redis.del(processReport(self));
      await redis.srem(processes, self);
    }),
    list: mapped(async (): Promise<readonly ProcessReport[]> => {
      const all = (await redis.smembers(processes)).sort();
      if (all.length === 0) return [];
      const texts = await redis.mget(all.map(processReport));
      const gone = all.filter((_, index) => texts[index] == null);
      // A replica accepts no writes. The names stay until another process can remove them.
      if (gone.length > 0) await redis.srem(processes, ...gone).catch(() => {});
      return texts.flatMap((text) => parseStored<ProcessReport>(reportSchema, text) ?? []);
    }),
    peak: mapped(
      async (): Promise<ReportPeak | undefined> => parseStored<ReportPeak>(peakSchema, await redis.get(reportPeak)),
    ),
    putPeak: mapped(async (peak: ReportPeak, ttlMs: number) => {
      await redis.set(reportPeak, JSON.stringify(peak), 'PX', ttlMs);
    }),
  };
}
export type ProcessReports = ReturnType<typeof redisProcessReports>;
