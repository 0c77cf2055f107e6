import type { Context } from 'hono';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Env } from '../env.ts';
import { senderOf } from './client.ts';
import { throttle } from './throttle.ts';

/** Refused tokens that an address may show in a window. */
const MOST = 10;
const WINDOW_MS = 60_000;

/** Counts refused tokens by address, whether they came with a request or over the sign-in form. */
export interface Guesses {
  /** Says it in the log; returns the seconds to wait as soon as the address has shown too many. */
  refused(context: Context<Env>, why: 'unknown' | 'expired'): number | undefined;
}

/** A right token always passes: all clients behind a proxy share an address, and one that guesses must not lock them out. */
export function countGuesses({ clock, log }: { readonly clock: Clock; readonly log: Log }): Guesses {
  const refusals = throttle(() => clock.now(), { most: MOST, windowMs: WINDOW_MS });
  return {
    refused: (context, why) => {
      const { address } = context.get('client');
      const { left, endsMs } = refusals.count(senderOf(address));
      const fields = { event: 'token.refused', from: address, path: context.req.path.slice(0, 200) };
      if (left > 0) log.warn('A token was refused', { ...fields, why });
      // Once: whoever goes on guessing must not fill the log as well.
      if (left === 0)
        log.warn('Too many tokens were refused: further ones are not told of for a minute', { ...fields, why });
      return left > 0 ? undefined : Math.ceil(endsMs / 1_000);
    },
  };
}
