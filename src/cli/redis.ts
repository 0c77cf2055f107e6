import type { AppContext } from '../base/context.ts';
import { isRedisOutage, toDocketError } from '../base/error.ts';
import type { RedisClient } from '../redis/client.ts';
import { openRedis } from '../redis/connection.ts';
import type { CommandIo } from './io.ts';
import { createPrinter } from './terminal/print.ts';

/** Connects to `REDIS_URL` for as long as `use` takes. Throws `redis.unreachable`. */
export async function withRedis<T>(
  { config, log }: Pick<AppContext, 'config' | 'log'>,
  use: (redis: RedisClient) => Promise<T>,
): Promise<T> {
  const redis = await openRedis(config.REDIS_URL, 'producer', log);
  try {
    return await use(redis);
  } finally {
    redis.disconnect();
  }
}

/** The same; undefined when the environment has no `REDIS_URL`. The default address is not tried. */
export const withOptionalRedis = async <T>(
  context: AppContext,
  use: (redis: RedisClient) => Promise<T>,
): Promise<T | undefined> => (context.env.REDIS_URL?.trim() ? withRedis(context, use) : undefined);

/** The same; undefined also when Redis cannot be reached, and then stderr says that `missing` is not shown. */
export async function readOptionalRedis<T>(
  context: AppContext,
  io: CommandIo,
  missing: string,
  read: (redis: RedisClient) => Promise<T>,
): Promise<T | undefined> {
  try {
    return await withOptionalRedis(context, read);
  } catch (thrown) {
    const error = toDocketError(thrown);
    if (!isRedisOutage(error)) throw error;
    createPrinter(io).printStatus(
      `${error.message} (${error.got ?? error.code}) Without Redis, ${missing} cannot be shown.`,
    );
    return undefined;
  }
}
