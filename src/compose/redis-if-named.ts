import { DocketError } from '../base/error.ts';
import { silentLog } from '../base/log.ts';
import type { RedisClient } from '../base/redis-client.ts';
import type { Scope } from '../base/scope.ts';
import type { Surroundings } from './ports.ts';

/**
 * The Redis that the environment names, until the scope closes; undefined where it names none. The default address is
 * not asked: a run without Redis must not depend on what happens to listen there.
 *
 * Throws `redis.unreachable` and `redis.unsuitable`, with the way out: with a budget of its own beside the workers of
 * that Redis, a run would break theirs.
 */
export async function redisIfNamed(
  { config, env, log }: Pick<Surroundings, 'config' | 'env' | 'log'>,
  scope: Scope,
): Promise<RedisClient | undefined> {
  if (!env.REDIS_URL?.trim()) return undefined;
  const { assertSuitable, openRedis } = await import('../queue/connection.ts');
  try {
    // A worker's client: a run of minutes outlasts a short absence of the server.
    const redis = scope.use(await openRedis(config.REDIS_URL, 'worker', log), (opened) => opened.disconnect());
    await assertSuitable(redis, silentLog);
    return redis;
  } catch (thrown) {
    if (!(thrown instanceof DocketError)) throw thrown;
    const { code, message, next = '', ...detail } = thrown.toJSON();
    throw new DocketError(code, `${message} It holds the budget of the API key, so nothing was called.`, {
      ...detail,
      next: `${next} Or unset REDIS_URL: the command then keeps a budget of its own, which no worker knows of.`,
      cause: thrown,
    });
  }
}
