import { DocketError, wordsOf } from '../base/error.ts';

/** Longer than a failover's pause, shorter than a person's patience. */
const REDIS_DEADLINE_MS = 5_000;

/** Asks Redis something, within a deadline: any failure to answer is `redis.unreachable`. */
export async function reachable<T>(ask: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${REDIS_DEADLINE_MS} ms`)), REDIS_DEADLINE_MS);
  });
  try {
    return await Promise.race([ask(), late]);
  } catch (cause) {
    throw new DocketError('redis.unreachable', `Redis did not answer, so nothing was called: ${wordsOf(cause)}.`, {
      next: 'Check that the Redis of REDIS_URL runs and can be reached; the run goes on where it stopped.',
      cause,
    });
  } finally {
    clearTimeout(timer);
  }
}
