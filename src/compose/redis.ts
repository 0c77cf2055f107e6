import { existsSync } from 'node:fs';
import type { AppContext } from '../base/context.ts';
import { DocketError } from '../base/error.ts';
import { silentLog } from '../base/log.ts';
import type { Scope } from '../base/scope.ts';
import type { RedisClient } from '../redis/client.ts';
import { openPrivateRedis, privateRedisPlace } from '../redis/private-redis.ts';

/**
 * For a command without `REDIS_URL`: adds the private Redis beside the definitions to the context, until the scope
 * closes. With `REDIS_URL`, or if there is no private Redis, returns the context unchanged.
 *
 * @param where `running`: joins a running one. `kept`: also starts one that has data. `start`: starts one in any case.
 * Throws `redis.unreachable`.
 */
export async function withPrivateRedis(
  context: AppContext,
  scope: Scope,
  where: 'running' | 'kept' | 'start' = 'running',
): Promise<AppContext> {
  if (context.env.REDIS_URL?.trim() || context.redis !== undefined) return context;
  const { socket, server } = privateRedisPlace(context);
  if (where !== 'start' && !existsSync(where === 'kept' ? server : socket)) return context;
  const redis = await openPrivateRedis(context, { start: where !== 'running' });
  return redis === undefined ? context : { ...context, redis: scope.add(redis) };
}

/** Whether the environment names a Redis, or a private one was joined. */
export const hasRedis = ({ env, redis }: Pick<AppContext, 'env' | 'redis'>): boolean =>
  Boolean(env.REDIS_URL?.trim() || redis);

/**
 * Opens the Redis of `REDIS_URL`, or the private one of the context, until the scope closes.
 *
 * Throws `redis.unreachable` and `redis.unsuitable` instead of continuing without Redis: a separate budget, besides
 * that of the workers, would exceed the limit of the key.
 */
export async function openSharedRedis(
  context: Pick<AppContext, 'config' | 'env' | 'log' | 'redis'>,
  scope: Scope,
): Promise<RedisClient> {
  const [{ openRedis, redisAddress }, { assertSuitable }] = await Promise.all([
    import('../redis/connection.ts'),
    import('../redis/server-check.ts'),
  ]);
  try {
    // The client of a worker waits, so that a run survives a restart of the server.
    const opened = await openRedis(redisAddress(context), 'worker', context.log);
    const redis = scope.use(opened, () => opened.disconnect());
    await assertSuitable(redis, silentLog);
    return redis;
  } catch (thrown) {
    if (!(thrown instanceof DocketError)) throw thrown;
    const { code, message, next = '', ...detail } = thrown.toJSON();
    const advice = 'Or unset REDIS_URL: the command then uses a budget of its own, which no worker shares.';
    throw new DocketError(code, `${message} Redis holds the budget of the API key, so no call was made.`, {
      ...detail,
      next: context.redis ? next : `${next} ${advice}`,
      cause: thrown,
    });
  }
}
