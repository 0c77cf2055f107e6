import { z } from 'zod';
import { DAY_MS, SECOND_MS } from '../base/time.ts';
import { STATUSES } from '../fetch/dataset.ts';
import { parseStored, type RedisClient } from '../redis/client.ts';
import { beforeSending, mapRedisErrors } from '../redis/errors.ts';
import { loadLuaScript, runLuaScript } from '../redis/script.ts';

/** Identifies a delivery's destination, independent of the run. */
export interface FiguresDestination {
  readonly org: string;
  readonly report: string;
  readonly target: string;
  /** See `SendDecision.recipient`. */
  readonly recipient: string | null;
}

/**
 * The figures that were delivered (`Manifest.figures`); `at` is the time of delivery, epoch ms. `statuses`, by figure,
 * are absent in older records.
 */
const sentSchema = z.object({
  figures: z.string(),
  run: z.string(),
  at: z.number(),
  statuses: z.record(z.string(), z.enum(STATUSES)).optional(),
});
export type SentFiguresEntry = z.infer<typeof sentSchema>;
const openSchema = z.record(z.string(), z.object({ at: z.number(), over: z.boolean() }));

/** More than a year, so that an annual report can be compared with the last one. */
const FIGURES_TTL_S = (400 * DAY_MS) / SECOND_MS;
/** Longest duration of a run. A run without a result for longer has lost its record. */
const MAX_RUN_MS = 8 * DAY_MS;

/**
 * Records the figures that each destination received last, for `send_if: changed`. A run records its start before
 * anything is sent, and its result afterwards. If it dies in between, it stays uncertain and the next report is sent: a
 * report is skipped only if the destination certainly has the same figures. Throws `redis.unreachable`.
 *
 * In Redis: one hash per report, `<prefix>figures:{<org>/<report>}`. Only `last-sent-figures-1.lua` changes it.
 */
export function redisLastSentFigures(redis: RedisClient, options: { readonly prefix: string }) {
  const script = loadLuaScript('./last-sent-figures-1.lua', import.meta.url);
  const keyOf = ({ org, report }: FiguresDestination): string => `${options.prefix}figures:{${org}/${report}}`;
  const fieldOf = ({ target, recipient }: FiguresDestination): string => JSON.stringify([target, recipient]);
  const mapped = mapRedisErrors(undefined, beforeSending('The figures that were sent last'));
  type Event = 'begun' | 'sent' | 'unsent' | 'unknown';
  const record = mapped(async (of: FiguresDestination, event: Event, run: string, at: number, sent?: string) => {
    const args = [fieldOf(of), run, at, event, sent ?? '', FIGURES_TTL_S, MAX_RUN_MS];
    await runLuaScript(redis, script, [keyOf(of)], args);
  });
  return {
    /**
     * `sent`: the last certain delivery; undefined if none is known. `uncertainRun`: a run that may have delivered
     * other figures since. If the stored figures are unreadable, the report is sent.
     */
    last: mapped(async (destination: FiguresDestination) => {
      const field = fieldOf(destination);
      const [sent, open] = await redis.hmget(keyOf(destination), field, `open ${field}`);
      const [uncertainRun] = Object.keys(parseStored(openSchema, open) ?? {});
      return { sent: parseStored(sentSchema, sent), uncertainRun };
    }),
    recordStart: (of: FiguresDestination, run: string, at: number) => record(of, 'begun', run, at),
    /** Records that the figures arrived. Does not replace a newer delivery. */
    recordSent: (of: FiguresDestination, { figures, run, at, statuses }: SentFiguresEntry) =>
      record(of, 'sent', run, at, JSON.stringify({ figures, run, at, statuses })),
    /** Records that the figures certainly did not arrive, so that the last delivery still counts. */
    recordNotSent: (of: FiguresDestination, run: string) => record(of, 'unsent', run, 0),
    /** Records that the figures may have arrived. Stays until a later delivery is certain. */
    recordUncertain: (of: FiguresDestination, run: string, at: number) => record(of, 'unknown', run, at),
  };
}
export type LastSentFigures = ReturnType<typeof redisLastSentFigures>;
