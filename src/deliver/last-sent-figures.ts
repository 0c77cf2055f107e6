import { z } from 'zod';
import type { RedisClient } from '../redis/client.ts';
import { beforeSending, withRedisErrors } from '../redis/errors.ts';
import { loadLuaScript, runLuaScript } from '../redis/script.ts';

/** Where figures went: a delivery without its run. */
export interface FiguresDestination {
  readonly org: string;
  readonly report: string;
  readonly target: string;
  /** As `Decision.recipient`. */
  readonly recipient: string | null;
}

/** The figures that were last delivered somewhere. */
export interface SentFiguresEntry {
  /** As `Manifest.figures`. */
  readonly figures: string;
  readonly run: string;
  /** Epoch ms of the delivery. */
  readonly at: number;
}

/** What a place has, as far as anybody knows. */
export interface LastSent {
  /** Undefined: no certain delivery is known. */
  readonly sent: SentFiguresEntry | undefined;
  /** A run that may have delivered something else since: then nobody knows what the place has. */
  readonly uncertainRun: string | undefined;
}

/**
 * What `send_if: changed` compares with. A run says here that it begins before anything of it may leave, and what became
 * of it afterwards. One that dies in between leaves a doubt, and a doubt sends: a report is left out only where the very
 * same figures are certainly what the place got last. Throws `redis.unreachable`.
 */
export interface LastSentFigures {
  last(place: FiguresDestination): Promise<LastSent>;
  recordStart(place: FiguresDestination, run: string, at: number): Promise<void>;
  /** It arrived. Older than what is known already, it changes nothing. */
  recordSent(place: FiguresDestination, sent: SentFiguresEntry): Promise<void>;
  /** It surely did not arrive: the place has what it had. */
  recordNotSent(place: FiguresDestination, run: string): Promise<void>;
  /** Nobody knows; so it stays until something certainly arrives later. */
  recordUncertain(place: FiguresDestination, run: string, at: number): Promise<void>;
}

const sentSchema = z.object({ figures: z.string(), run: z.string(), at: z.number() });
const openSchema = z.record(z.string(), z.object({ at: z.number(), over: z.boolean() }));

/** What nobody can read is as if it were not said: figures are sent once more rather than not at all. */
function parseStored<T>(schema: z.ZodType<T>, text: string | null): T | undefined {
  try {
    return text === null ? undefined : schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** A report that is due once a year is compared with the last one. */
const FIGURES_TTL_S = 400 * 86_400;
/** No run is at it for longer; one that said no more was lost with its record. */
const MAX_RUN_MS = 8 * 86_400_000;

/** In Redis: one hash a report, `<prefix>figures:{<org>/<report>}`, changed by `sent-figures-1.lua` alone. */
export function redisLastSentFigures(
  redis: Pick<RedisClient, 'hmget' | 'evalsha' | 'eval'>,
  options: { readonly prefix: string },
): LastSentFigures {
  const script = loadLuaScript('./last-sent-figures-1.lua', import.meta.url);
  const key = ({ org, report }: FiguresDestination): string => `${options.prefix}figures:{${org}/${report}}`;
  const field = ({ target, recipient }: FiguresDestination): string => JSON.stringify([target, recipient]);
  const ask = <T>(question: () => Promise<T>): Promise<T> =>
    withRedisErrors(undefined, question, beforeSending('The record of the figures last sent'));
  const say = async (place: FiguresDestination, what: string, run: string, at: number, sent = ''): Promise<void> => {
    await ask(() =>
      runLuaScript(redis, script, [key(place)], [field(place), run, at, what, sent, FIGURES_TTL_S, MAX_RUN_MS]),
    );
  };
  return {
    last: async (place) => {
      const [sent = null, open = null] = await ask(() => redis.hmget(key(place), field(place), `open ${field(place)}`));
      return {
        sent: parseStored(sentSchema, sent),
        uncertainRun: Object.keys(parseStored(openSchema, open) ?? {})[0],
      };
    },
    recordStart: (place, run, at) => say(place, 'begun', run, at),
    recordSent: (place, { figures, run, at }) => say(place, 'sent', run, at, JSON.stringify({ figures, run, at })),
    recordNotSent: (place, run) => say(place, 'unsent', run, 0),
    recordUncertain: (place, run, at) => say(place, 'unknown', run, at),
  };
}
