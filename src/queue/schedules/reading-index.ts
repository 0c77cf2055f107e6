import { z } from 'zod';
import { epochMsSchema } from '../../base/time.ts';
import type { RedisClient } from '../../redis/client.ts';
import { withRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';

const summarySchema = z.object({
  /** When a worker last compared the summary with the archive, epoch ms. */
  at: epochMsSchema,
  /** When the newest stored reading was taken, epoch ms; null without one. */
  newest: epochMsSchema.nullable(),
  /** Missed readings of the last days, newest first. */
  missed: z.array(z.object({ day: z.string(), question: z.string(), why: z.string().nullable() })),
});

/** Summary of an organization's recent readings. */
export type ReadingSummary = Readonly<z.infer<typeof summarySchema>> & { readonly org: string };

/** Summaries of the readings in the archive, for metrics and the page. Workers rebuild them every hour. */
export type ReadingIndex = ReturnType<typeof redisReadingIndex>;

/** Keeps the summaries in one hash. Throws `redis.unreachable`. */
export function redisReadingIndex(redis: RedisClient, { prefix }: { readonly prefix: string }) {
  const key = redisKeys(prefix).readings;
  return {
    put: ({ org, ...summary }: ReadingSummary): Promise<void> =>
      withRedisErrors(redis, async () => void (await redis.hset(key, org, JSON.stringify(summary)))),
    /** Removes the summaries of all other organizations. */
    retain: (orgs: ReadonlySet<string>): Promise<void> =>
      withRedisErrors(redis, async () => {
        const gone = (await redis.hkeys(key)).filter((org) => !orgs.has(org));
        if (gone.length > 0) await redis.hdel(key, ...gone);
      }),
    /** Sorted by organization. Leaves out unreadable summaries. */
    list: (): Promise<readonly ReadingSummary[]> =>
      withRedisErrors(redis, async () =>
        Object.entries(await redis.hgetall(key))
          .flatMap(([org, text]) => {
            const summary = parseSummary(text);
            return summary === undefined ? [] : [{ org, ...summary }];
          })
          .sort((a, b) => a.org.localeCompare(b.org)),
      ),
  };
}

function parseSummary(text: string): z.infer<typeof summarySchema> | undefined {
  try {
    return summarySchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
