import type { RedisClient } from './client.ts';
import { BEFORE_CALL, mapRedisErrors } from './errors.ts';
import { claimIdentity, readIdentity } from './identity.ts';

/**
 * Detects a loss of data in Redis: the deployment's identity is missing, or was written again.
 *
 * @param prefix of the deployment's keys, with the hash tag, e.g. `{docket}`
 * @param belongsTo the identity that the process verified at its start; the first read is compared with it
 */
export function dataLossDetector(
  redis: RedisClient,
  prefix: string,
  belongsTo: () => string | undefined = () => undefined,
) {
  const mapped = mapRedisErrors(undefined, BEFORE_CALL);
  let known: string | undefined;
  let wasRead = false;
  return {
    /** Remembers the identity for later comparisons. Reads Redis at most once. */
    remember: mapped(async () => {
      known ??= belongsTo();
      if (known !== undefined || wasRead) return;
      known = (await readIdentity(redis, prefix))?.id;
      wasRead = true;
    }),
    /** Whether data was lost within the last `ms`. Restores a missing identity. */
    lostWithin: mapped(async (ms: number) => {
      known ??= belongsTo();
      const stored = await readIdentity(redis, prefix);
      if (stored === undefined) {
        // A deployment without an identity, e.g. a single run with its own archive, has nothing to compare.
        if (known === undefined) return false;
        await claimIdentity(redis, prefix, known, { restored: true });
        return true;
      }
      const replaced = known !== undefined && known !== stored.id;
      known = stored.id;
      if (replaced) return true;
      if (!stored.restored) return false;
      const [seconds = 0, micros = 0] = await redis.time();
      const ageMs = seconds * 1000 + micros / 1000 - stored.since;
      // A negative age means that the clock was set back since: the real age is unknown.
      return ageMs < ms;
    }),
  };
}
export type DataLossDetector = ReturnType<typeof dataLossDetector>;
