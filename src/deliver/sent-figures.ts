import { z } from 'zod';
import { readLua, runLua } from '../base/lua.ts';
import type { RedisClient } from '../base/redis-client.ts';
import { askRedis } from './ask-redis.ts';

/** Where figures went: a delivery without its run. */
export interface Place {
  readonly org: string;
  readonly report: string;
  readonly target: string;
  /** As `Decision.recipient`. */
  readonly recipient: string | null;
}

/** The figures that were last delivered somewhere. */
export interface Sent {
  /** As `Manifest.figures`. */
  readonly figures: string;
  readonly run: string;
  /** Epoch ms of the delivery. */
  readonly at: number;
}

/** What a place has, as far as anybody knows. */
export interface Last {
  /** Undefined: no certain delivery is known. */
  readonly sent: Sent | undefined;
  /** A run that may have delivered something else since: then nobody knows what the place has. */
  readonly perhaps: string | undefined;
}

/**
 * What `send_if: changed` compares with. A run says here that it begins before anything of it may leave, and what became
 * of it afterwards. One that dies in between leaves a doubt, and a doubt sends: a report is left out only where the very
 * same figures are certainly what the place got last. Throws `redis.unreachable`.
 */
export interface SentFigures {
  last(place: Place): Promise<Last>;
  begin(place: Place, run: string, at: number): Promise<void>;
  /** It arrived. Older than what is known already, it changes nothing. */
  sent(place: Place, sent: Sent): Promise<void>;
  /** It surely did not arrive: the place has what it had. */
  unsent(place: Place, run: string): Promise<void>;
  /** Nobody knows; so it stays until something certainly arrives later. */
  unknown(place: Place, run: string, at: number): Promise<void>;
}

const sentSchema = z.object({ figures: z.string(), run: z.string(), at: z.number() });
const openSchema = z.record(z.string(), z.object({ at: z.number(), over: z.boolean() }));

/** What nobody can read is as if it were not said: figures are sent once more rather than not at all. */
function readSaid<T>(schema: z.ZodType<T>, text: string | null): T | undefined {
  try {
    return text === null ? undefined : schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** A report that is due once a year is compared with the last one. */
const KEEP_S = 400 * 86_400;
/** No run is at it for longer; one that said no more was lost with its record. */
const GONE_MS = 8 * 86_400_000;

/** In Redis: one hash a report, `<prefix>figures:{<org>/<report>}`, changed by `sent-figures-1.lua` alone. */
export function redisSentFigures(
  redis: Pick<RedisClient, 'hmget' | 'evalsha' | 'eval'>,
  options: { readonly prefix: string },
): SentFigures {
  const script = readLua('./sent-figures-1.lua', import.meta.url);
  const key = ({ org, report }: Place): string => `${options.prefix}figures:{${org}/${report}}`;
  const field = ({ target, recipient }: Place): string => JSON.stringify([target, recipient]);
  const ask = <T>(question: () => Promise<T>): Promise<T> => askRedis('Which figures were sent last', question);
  const say = async (place: Place, what: string, run: string, at: number, sent = ''): Promise<void> => {
    await ask(() => runLua(redis, script, [key(place)], [field(place), run, at, what, sent, KEEP_S, GONE_MS]));
  };
  return {
    last: async (place) => {
      const [sent = null, open = null] = await ask(() => redis.hmget(key(place), field(place), `open ${field(place)}`));
      return {
        sent: readSaid(sentSchema, sent),
        perhaps: Object.keys(readSaid(openSchema, open) ?? {})[0],
      };
    },
    begin: (place, run, at) => say(place, 'begun', run, at),
    sent: (place, { figures, run, at }) => say(place, 'sent', run, at, JSON.stringify({ figures, run, at })),
    unsent: (place, run) => say(place, 'unsent', run, 0),
    unknown: (place, run, at) => say(place, 'unknown', run, at),
  };
}
