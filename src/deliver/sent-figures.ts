import type { Redis } from 'ioredis';
import { z } from 'zod';
import { DocketError } from '../base/error.ts';

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
  /** Epoch ms. */
  readonly at: number;
}

/**
 * What `send_if: changed` compares with. Forgetting is harmless: the next run then sends once more.
 * Throws `redis.unreachable`.
 */
export interface SentFigures {
  last(place: Place): Promise<Sent | undefined>;
  remember(place: Place, sent: Sent): Promise<void>;
}

const sentSchema = z.object({ figures: z.string(), run: z.string(), at: z.number() });

/** A report that is due once a year is compared with the last one. */
const KEEP_S = 400 * 86_400;

/** In Redis: one hash a report, `<prefix>figures:{<org>/<report>}`, a field for each place. */
export function redisSentFigures(
  redis: Pick<Redis, 'hget' | 'hset' | 'expire'>,
  options: { readonly prefix: string },
): SentFigures {
  const key = ({ org, report }: Place): string => `${options.prefix}figures:{${org}/${report}}`;
  const field = ({ target, recipient }: Place): string => JSON.stringify([target, recipient]);
  const ask = async <T>(question: () => Promise<T>): Promise<T> => {
    try {
      return await question();
    } catch (cause) {
      throw new DocketError('redis.unreachable', 'The figures that were sent last cannot be asked for.', {
        got: cause instanceof Error ? cause.message : String(cause),
        next: 'See that Redis is up and that REDIS_URL points to it.',
        cause,
      });
    }
  };
  return {
    last: async (place) => {
      const text = await ask(() => redis.hget(key(place), field(place)));
      return text === null ? undefined : sentSchema.parse(JSON.parse(text));
    },
    remember: async (place, sent) => {
      await ask(async () => {
        await redis.hset(key(place), field(place), JSON.stringify(sent));
        await redis.expire(key(place), KEEP_S);
      });
    },
  };
}
