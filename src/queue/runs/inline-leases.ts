import { MINUTE_MS } from '../../base/time.ts';
import type { RedisClient } from '../../redis/client.ts';
import { mapRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';
import { loadLuaScript, runLuaScript } from '../../redis/script.ts';

/** A run whose process has not renewed its lease for this long, ms, counts as abandoned. */
export const LEASE_DURATION_MS = 2 * MINUTE_MS;

const SCRIPT = loadLuaScript('./scripts/inline-leases.lua', import.meta.url);

/**
 * Keeps leases of runs that commands execute themselves. They expire by the server's clock. Throws `redis.unreachable`.
 *
 * @param leaseMs for tests
 */
export function redisInlineLeases(
  redis: RedisClient,
  { prefix, leaseMs = LEASE_DURATION_MS }: { readonly prefix: string; readonly leaseMs?: number },
) {
  const { inline } = redisKeys(prefix);
  const mapped = mapRedisErrors(redis);
  const runScript = mapped((...args: (string | number)[]) => runLuaScript(redis, SCRIPT, [inline], args));
  return {
    take: async (run: string) => void (await runScript('take', run, leaseMs)),
    /** Returns false without a lease: the run was ended as abandoned, or Redis lost the lease. */
    renew: async (run: string) => (await runScript('renew', run, leaseMs)) === 1,
    release: mapped(async (run: string) => void (await redis.zrem(inline, run))),
    /** Runs whose lease has expired. */
    expired: async (limit: number): Promise<readonly string[]> => {
      const runs = await runScript('expired', limit);
      return Array.isArray(runs) ? runs.map(String) : [];
    },
  };
}
export type InlineLeases = ReturnType<typeof redisInlineLeases>;
