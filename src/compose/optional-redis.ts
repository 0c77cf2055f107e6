import type { AppContext } from '../base/context.ts';
import { DocketError } from '../base/error.ts';
import { silentLog } from '../base/log.ts';
import type { Scope } from '../base/scope.ts';
import type { RedisClient } from '../redis/client.ts';

/**
 * Opens the Redis of `REDIS_URL` until the scope closes; undefined without the variable. It does not try the default
 * address: a run without Redis must not depend on what happens to listen there.
 *
 * Throws `redis.unreachable` and `redis.unsuitable`: a budget of its own beside the workers would exceed their limit.
 */
export async function openOptionalRedis(
  { config, env, log }: Pick<AppContext, 'config' | 'env' | 'log'>,
  scope: Scope,
): Promise<RedisClient | undefined> {
  if (!env.REDIS_URL?.trim()) return undefined;
  const [{ openRedis }, { assertSuitable }] = await Promise.all([
    import('../redis/connection.ts'),
    import('../redis/server-check.ts'),
  ]);
  try {
    // A worker's client: a run must survive a restart of the server.
    const redis = scope.use(await openRedis(config.REDIS_URL, 'worker', log), (opened) => opened.disconnect());
    await assertSuitable(redis, silentLog);
    return redis;
  } catch (thrown) {
    if (!(thrown instanceof DocketError)) throw thrown;
    const { code, message, next = '', ...detail } = thrown.toJSON();
    throw new DocketError(code, `${message} It holds the budget of the API key, so nothing was called.`, {
      ...detail,
      next: `${next} Or unset REDIS_URL: the command then uses a budget of its own, which no worker shares.`,
      cause: thrown,
    });
  }
}
