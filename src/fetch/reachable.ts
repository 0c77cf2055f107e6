import { redisUnreachable, toRedisError } from '../base/redis-error.ts';

/** Longer than a failover's pause, shorter than a person's patience. */
const REDIS_TIMEOUT_MS = 5_000;

const NO_CALL_CONTEXT = { operation: 'Nothing was called' } as const;

/**
 * Asks Redis something, within a deadline: no answer is `redis.unreachable`, and each other failure of Redis the error
 * that `redisError` names.
 */
export async function withRedisTimeout<T>(ask: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(redisUnreachable(new Error(`no answer within ${REDIS_TIMEOUT_MS} ms`), NO_CALL_CONTEXT)),
      REDIS_TIMEOUT_MS,
    );
  });
  try {
    return await Promise.race([ask(), late]);
  } catch (cause) {
    throw toRedisError(cause, NO_CALL_CONTEXT);
  } finally {
    clearTimeout(timer);
  }
}
