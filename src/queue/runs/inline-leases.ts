import { MINUTE_MS } from '../../base/time.ts';
import type { RedisClient } from '../../redis/client.ts';
import { withRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';
import { loadLuaScript, runLuaScript } from '../../redis/script.ts';

/** A run whose process has not renewed its lease for this long, ms, counts as abandoned. */
export const LEASE_DURATION_MS = 2 * MINUTE_MS;

/** Leases of the runs that commands execute themselves. Throws `redis.unreachable`. */
export interface InlineLeases {
  take(run: string): Promise<void>;
  /** False without a lease: the run was ended as abandoned, or Redis lost the lease. */
  renew(run: string): Promise<boolean>;
  release(run: string): Promise<void>;
  /** Runs whose lease has expired. */
  expired(limit: number): Promise<readonly string[]>;
}

const SCRIPT = loadLuaScript('./scripts/inline-leases.lua', import.meta.url);

/** Expiry counts by the server's clock. @param leaseMs for tests */
export function redisInlineLeases(
  redis: RedisClient,
  { prefix, leaseMs = LEASE_DURATION_MS }: { readonly prefix: string; readonly leaseMs?: number },
): InlineLeases {
  const { inline } = redisKeys(prefix);
  const runScript = (...args: readonly (string | number)[]) =>
    withRedisErrors(redis, () => runLuaScript(redis, SCRIPT, [inline], args));
  return {
    take: async (run) => void (await runScript('take', run, leaseMs)),
    renew: async (run) => (await runScript('renew', run, leaseMs)) === 1,
    release: (run) => withRedisErrors(redis, async () => void (await redis.zrem(inline, run))),
    expired: async (limit) => {
      const runs = await runScript('expired', limit);
      return Array.isArray(runs) ? runs.map(String) : [];
    },
  };
}
