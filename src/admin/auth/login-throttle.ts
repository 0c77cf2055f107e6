import type { Context } from 'hono';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Env } from '../hono-env.ts';
import { addressBlock } from './client.ts';
import { createWindowCounter } from './window-counter.ts';

/** Rejected tokens per address and window. */
const MAX_REFUSED_TOKENS = 10;
const WINDOW_MS = 60_000;

/** Counts rejected tokens by address, of requests and of the sign-in form. */
export interface LoginThrottle {
  /** Logs the refusal; returns the seconds to wait once the address has exceeded the limit. */
  recordRefusal(context: Context<Env>, why: 'unknown' | 'expired'): number | undefined;
}

/** Valid tokens are not throttled: clients behind a proxy share an address, and one that guesses must not lock out the rest. */
export function createLoginThrottle({ clock, log }: { readonly clock: Clock; readonly log: Log }): LoginThrottle {
  const refusals = createWindowCounter(() => clock.now(), { most: MAX_REFUSED_TOKENS, windowMs: WINDOW_MS });
  return {
    recordRefusal: (context, why) => {
      const { address } = context.get('client');
      const { left, endsMs } = refusals.count(addressBlock(address));
      const fields = { event: 'token.refused', from: address, path: context.req.path.slice(0, 200) };
      if (left > 0) log.warn('A token was refused', { ...fields, why });
      // Once: further guesses must not fill the log.
      if (left === 0)
        log.warn('Too many tokens were refused: further ones are not logged for a minute', { ...fields, why });
      return left > 0 ? undefined : Math.ceil(endsMs / 1_000);
    },
  };
}
