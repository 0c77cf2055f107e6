import { redisError } from '../base/redis-error.ts';

/** Asks Redis; a failure is thrown as `redisError` says, with what could not be asked: then nothing may be sent. */
export async function askRedis<T>(what: string, question: () => Promise<T>): Promise<T> {
  try {
    return await question();
  } catch (cause) {
    throw redisError(cause, { what: `${what} cannot be asked, and nothing is sent without it` });
  }
}
