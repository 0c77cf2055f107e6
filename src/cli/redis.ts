import type { AppContext } from '../base/context.ts';
import { isRedisOutage, toDocketError } from '../base/error.ts';
import { withScope } from '../base/scope.ts';
import { commandAuditLog, openDeployment } from '../compose/deployment.ts';
import { hasRedis, withPrivateRedis } from '../compose/redis.ts';
import type { RedisClient } from '../redis/client.ts';
import { openRedis, redisAddress } from '../redis/connection.ts';
import type { Deployment } from '../services/deployment/deployment.ts';
import type { CommandIo } from './io.ts';
import { createPrinter } from './terminal/print.ts';

/** Connects to `REDIS_URL`, or to a running private Redis, while `use` runs. Throws `redis.unreachable`. */
export const withRedis = <T>(context: AppContext, use: (redis: RedisClient) => Promise<T>): Promise<T> =>
  withScope(async (scope) => {
    const joined = await withPrivateRedis(context, scope);
    return use(
      scope.use(await openRedis(redisAddress(joined), 'producer', context.log), (redis) => redis.disconnect()),
    );
  });

/** Opens the deployment of `REDIS_URL`, or of a running private Redis, while `use` runs. Throws `redis.unreachable`. */
export const withDeployment = <T>(context: AppContext, use: (deployment: Deployment) => Promise<T>): Promise<T> =>
  withScope((scope) =>
    withRedis(context, (redis) => use(openDeployment(context, { redis, auditLog: commandAuditLog(context) }, scope))),
  );

/**
 * Connects to the configured Redis, or to a running private one; undefined if there is neither. Does not try the
 * default address.
 */
export const withOptionalRedis = <T>(
  context: AppContext,
  use: (redis: RedisClient) => Promise<T>,
): Promise<T | undefined> =>
  withScope(async (scope) => {
    const joined = await withPrivateRedis(context, scope);
    return hasRedis(joined) ? withRedis(joined, use) : undefined;
  });

/**
 * Like `withOptionalRedis`, but also undefined if Redis is unreachable. stderr then says that `missing` is not shown.
 */
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
