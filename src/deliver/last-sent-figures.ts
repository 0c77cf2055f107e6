import { z } from 'zod';
import { DAY_MS, SECOND_MS } from '../base/time.ts';
import { STATUSES, type Status } from '../fetch/dataset.ts';
import type { RedisClient } from '../redis/client.ts';
import { beforeSending, withRedisErrors } from '../redis/errors.ts';
import { loadLuaScript, runLuaScript } from '../redis/script.ts';

/** A delivery without its run. */
export interface FiguresDestination {
  readonly org: string;
  readonly report: string;
  readonly target: string;
  /** As `SendDecision.recipient`. */
  readonly recipient: string | null;
}

/** The figures of a delivery. */
export interface SentFiguresEntry {
  /** As `Manifest.figures`. */
  readonly figures: string;
  readonly run: string;
  /** Epoch ms of the delivery. */
  readonly at: number;
  /** Its statuses by figure, for `send_if: status_changed`. Absent in older records. */
  readonly statuses?: Readonly<Record<string, Status>> | undefined;
}

export interface LastSent {
  /** The last certain delivery; undefined: none is known. */
  readonly sent: SentFiguresEntry | undefined;
  /** A run that may have delivered other figures since. */
  readonly uncertainRun: string | undefined;
}

/**
 * The figures that each destination received last, for `send_if: changed` and `status_changed`. A run records its start before anything is sent,
 * and its result afterwards. A run that dies in between stays uncertain, and the next report is sent: a report is left out
 * only where the destination certainly has the same figures. Throws `redis.unreachable`.
 */
export interface LastSentFigures {
  last(destination: FiguresDestination): Promise<LastSent>;
  recordStart(destination: FiguresDestination, run: string, at: number): Promise<void>;
  /** It arrived. Does not replace a newer delivery. */
  recordSent(destination: FiguresDestination, sent: SentFiguresEntry): Promise<void>;
  /** It certainly did not arrive: the last delivery stays. */
  recordNotSent(destination: FiguresDestination, run: string): Promise<void>;
  /** It may have arrived. Stays until a later delivery is certain. */
  recordUncertain(destination: FiguresDestination, run: string, at: number): Promise<void>;
}

const sentSchema = z.object({
  figures: z.string(),
  run: z.string(),
  at: z.number(),
  statuses: z.record(z.string(), z.enum(STATUSES)).optional(),
});
const openSchema = z.record(z.string(), z.object({ at: z.number(), over: z.boolean() }));

/** Undefined for an invalid value: figures are then sent once more. */
function parseStored<T>(schema: z.ZodType<T>, text: string | null): T | undefined {
  try {
    return text === null ? undefined : schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** More than a year: an annual report is compared with the last one. */
const FIGURES_TTL_S = (400 * DAY_MS) / SECOND_MS;
/** Maximum duration of a run. One without a result for longer has lost its record. */
const MAX_RUN_MS = 8 * DAY_MS;

/** In Redis: one hash per report, `<prefix>figures:{<org>/<report>}`. Only `last-sent-figures-1.lua` changes it. */
export function redisLastSentFigures(
  redis: Pick<RedisClient, 'hmget' | 'evalsha' | 'eval'>,
  options: { readonly prefix: string },
): LastSentFigures {
  const script = loadLuaScript('./last-sent-figures-1.lua', import.meta.url);
  const keyOf = ({ org, report }: FiguresDestination): string => `${options.prefix}figures:{${org}/${report}}`;
  const fieldOf = ({ target, recipient }: FiguresDestination): string => JSON.stringify([target, recipient]);
  const withContext = <T>(command: () => Promise<T>): Promise<T> =>
    withRedisErrors(undefined, command, beforeSending('The figures that were sent last'));
  const record = async (
    destination: FiguresDestination,
    event: 'begun' | 'sent' | 'unsent' | 'unknown',
    run: string,
    at: number,
    sent = '',
  ): Promise<void> => {
    const args = [fieldOf(destination), run, at, event, sent, FIGURES_TTL_S, MAX_RUN_MS];
    await withContext(() => runLuaScript(redis, script, [keyOf(destination)], args));
  };
  return {
    last: async (destination) => {
      const field = fieldOf(destination);
      const [sent = null, open = null] = await withContext(() =>
        redis.hmget(keyOf(destination), field, `open ${field}`),
      );
      return {
        sent: parseStored(sentSchema, sent),
        uncertainRun: Object.keys(parseStored(openSchema, open) ?? {})[0],
      };
    },
    recordStart: (destination, run, at) => record(destination, 'begun', run, at),
    recordSent: (destination, { figures, run, at, statuses }) =>
      record(destination, 'sent', run, at, JSON.stringify({ figures, run, at, statuses })),
    recordNotSent: (destination, run) => record(destination, 'unsent', run, 0),
    recordUncertain: (destination, run, at) => record(destination, 'unknown', run, at),
  };
}
