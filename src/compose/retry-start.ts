import type { Clock } from '../base/clock.ts';
import { type DocketError, isRedisOutage, toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import { SECOND_MS } from '../base/time.ts';
import { toRedisError } from '../redis/errors.ts';

const RETRY_INTERVAL_MS = SECOND_MS;

/** What passes by itself, and what the log says while the start waits for it. */
export interface PassingFailure {
  readonly passes: (error: DocketError) => boolean;
  readonly message: string;
}

/** Credentials that Redis rejects are an error of the configuration. */
export const REDIS_OUTAGE: PassingFailure = {
  passes: (error) => isRedisOutage(error) && error.code !== 'redis.unauthorized',
  message: 'Redis cannot be used; the start waits until it can',
};

export const BUSY_MACHINE: PassingFailure = {
  passes: ({ code }) => code === 'definition.busy',
  message: 'The definitions are not read yet; the start waits until they are',
};

/**
 * Repeats a step of the start until it succeeds or fails for good: a process that starts during a failover of Redis must wait
 * as running processes do. Logs the first failure only. Rejects with the signal's reason when it aborts the wait.
 *
 * @param open closes what it has opened when it throws
 */
export async function retryStart<Opened>(
  open: () => Promise<Opened>,
  { passes, message }: PassingFailure,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  signal?: AbortSignal,
): Promise<Opened> {
  let since: number | undefined;
  for (;;) {
    try {
      const opened = await open();
      if (since !== undefined) log.info('The start goes on', { ms: clock.now() - since });
      return opened;
    } catch (thrown) {
      const error = toDocketError(toRedisError(thrown));
      if (!passes(error)) throw error;
      if (since === undefined) log.error(message, { error: error.toJSON() });
      since ??= clock.now();
    }
    await clock.sleep(RETRY_INTERVAL_MS, signal);
  }
}
