import type { Context } from 'hono';
import type { Clock } from '../../base/clock.ts';
import type { ErrorJson } from '../../base/error.ts';
import type { Log, LogFields } from '../../base/log.ts';
import type { Env } from '../hono-env.ts';
import { addressBlock } from './client.ts';
import { createWindowCounter } from './window-counter.ts';

/** Maximum refusals (tokens and accounts) per address and window. */
const MAX_REFUSALS = 10;
const WINDOW_MS = 60_000;

/**
 * Counts, by address, the rejected tokens of requests and of the sign-in form, and the rejected sign-ins with accounts.
 */
export type LoginThrottle = ReturnType<typeof createLoginThrottle>;

/** Why a sign-in with an account was refused. */
export interface RefusedAccount {
  readonly why: string;
  /** Name of the account, if the provider confirmed it. */
  readonly who?: string;
  readonly error?: ErrorJson;
}

/**
 * Valid tokens are never throttled: clients behind a proxy share an address, and one that guesses must not lock out the
 * rest.
 */
export function createLoginThrottle({ clock, log }: { readonly clock: Clock; readonly log: Log }) {
  const refusals = createWindowCounter(() => clock.now(), { most: MAX_REFUSALS, windowMs: WINDOW_MS });
  const record = (context: Context<Env>, messages: { one: string; last: string }, about: LogFields) => {
    const { address } = context.get('client');
    const { left, endsMs } = refusals.count(addressBlock(address));
    const fields = { from: address, path: context.req.path.slice(0, 200), ...about };
    if (left > 0) log.warn(messages.one, fields);
    // Logged once: further guesses must not fill the log.
    if (left === 0) log.warn(messages.last, fields);
    return left > 0 ? undefined : Math.ceil(endsMs / 1_000);
  };
  return {
    /** Logs a refused token. Returns the seconds to wait if the address has exceeded the limit. */
    recordRefusal: (context: Context<Env>, why: 'unknown' | 'expired'): number | undefined =>
      record(context, TOKEN_MESSAGES, { event: 'token.refused', why }),
    /** Does the same for a sign-in with an account. */
    recordRefusedAccount: (context: Context<Env>, refusal: RefusedAccount): number | undefined =>
      record(context, ACCOUNT_MESSAGES, { event: 'session.refused', ...refusal }),
  };
}

const TOKEN_MESSAGES = {
  one: 'A token was refused',
  last: 'Too many tokens were refused: further ones are not logged for a minute',
};
const ACCOUNT_MESSAGES = {
  one: 'A sign-in with an account was refused',
  last: 'Too many sign-ins were refused: further ones are not logged for a minute',
};
