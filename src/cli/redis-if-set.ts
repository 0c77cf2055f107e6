import type { RedisClient } from '../base/redis-client.ts';
import type { Surroundings } from '../compose/ports.ts';

/**
 * What Redis adds to a command that works without it. Undefined when `REDIS_URL` is not in the environment, and when no
 * server answers there, which is said on stderr together with `missing`: what is not shown for it.
 */
export async function askRedisIfSet<Answer>(
  { config, env, log }: Surroundings,
  missing: string,
  ask: (redis: RedisClient) => Promise<Answer>,
): Promise<Answer | undefined> {
  if (!env.REDIS_URL?.trim()) return undefined;
  const [{ isRedisOutage, toDocketError }, { openRedis }, { sayLine }] = await Promise.all([
    import('../base/error.ts'),
    import('../queue/connection.ts'),
    import('./print.ts'),
  ]);
  try {
    const redis = await openRedis(config.REDIS_URL, 'producer', log);
    try {
      return await ask(redis);
    } finally {
      redis.disconnect();
    }
  } catch (thrown) {
    const error = toDocketError(thrown);
    if (!isRedisOutage(error)) throw error;
    sayLine(`${error.message} (${error.got ?? error.code}) Without it ${missing} is not shown.`);
    return undefined;
  }
}
