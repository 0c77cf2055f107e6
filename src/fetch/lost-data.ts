import type { RedisClient } from '../base/redis-client.ts';
import { keepIdentity, readIdentity } from '../base/redis-identity.ts';
import { reachable } from './reachable.ts';

/** Whether Redis lost what it held, told by the identity of the deployment in it. */
export interface LostData {
  /** Remembers the identity, to miss it later. Asks Redis at most once. */
  learn(): Promise<void>;
  /** Whether data was lost within this time, ms. Puts back the identity where it is missing. */
  within(ms: number): Promise<boolean>;
}

/**
 * @param prefix of the deployment's keys, with the hash tag, e.g. `{docket}`
 * @param belongsTo the identity that the process compared at its start: it misses it even where it asks for the first time
 */
export function lostData(
  redis: RedisClient,
  prefix: string,
  belongsTo: () => string | undefined = () => undefined,
): LostData {
  let known: string | undefined;
  let asked = false;
  return {
    learn: async () => {
      known ??= belongsTo();
      if (known !== undefined || asked) return;
      known = (await reachable(() => readIdentity(redis, prefix)))?.id;
      asked = true;
    },
    within: (ms) =>
      reachable(async () => {
        known ??= belongsTo();
        const there = await readIdentity(redis, prefix);
        if (there === undefined) {
          // A deployment without an identity, such as a single run with an archive of its own, has nothing to miss.
          if (known === undefined) return false;
          await keepIdentity(redis, prefix, known, { restored: true });
          return true;
        }
        const replaced = known !== undefined && known !== there.id;
        known = there.id;
        if (replaced) return true;
        if (!there.restored) return false;
        const [seconds = 0, micros = 0] = await redis.time();
        const age = seconds * 1000 + micros / 1000 - there.since;
        // Before it began: the clock was set back since, and nobody knows.
        return age < ms;
      }),
  };
}
