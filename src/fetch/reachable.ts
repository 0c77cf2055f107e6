import { redisAway, redisError } from '../base/redis-error.ts';

/** Longer than a failover's pause, shorter than a person's patience. */
const REDIS_DEADLINE_MS = 5_000;

const CONTEXT = { what: 'Nothing was called' } as const;

/**
 * Asks Redis something, within a deadline: no answer is `redis.unreachable`, and each other failure of Redis the error
 * that `redisError` names.
 */
export async function reachable<T>(ask: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(redisAway(new Error(`no answer within ${REDIS_DEADLINE_MS} ms`), CONTEXT)),
      REDIS_DEADLINE_MS,
    );
  });
  try {
    return await Promise.race([ask(), late]);
  } catch (cause) {
    throw redisError(cause, CONTEXT);
  } finally {
    clearTimeout(timer);
  }
}
