import { DocketError, wordsOf } from '../base/error.ts';

/** Asks Redis; whatever fails is `redis.unreachable` with what could not be asked: then nothing may be sent. */
export async function askRedis<T>(what: string, question: () => Promise<T>): Promise<T> {
  try {
    return await question();
  } catch (cause) {
    throw new DocketError('redis.unreachable', `${what} cannot be asked.`, {
      got: wordsOf(cause),
      next: 'See that Redis is up and that REDIS_URL points to it; nothing is sent without the ledger.',
      cause,
    });
  }
}
