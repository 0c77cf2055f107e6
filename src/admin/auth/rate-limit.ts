import type { Context } from 'hono';
import type { Clock } from '../../base/clock.ts';
import type { Env } from '../env.ts';
import { problem } from '../problem.ts';
import { senderOf } from './client.ts';
import { type Counted, throttle } from './throttle.ts';
import type { Principal } from './tokens.ts';

const WINDOW_MS = 60_000;

/** Holds off floods: by token for whoever has one, by address for everybody else. */
export interface RateLimit {
  /** Counts a request; the refusal when there were too many within a minute. */
  principal(context: Context<Env>, principal: Principal): Response | undefined;
  address(context: Context<Env>): Response | undefined;
}

/**
 * Counts in this process: a map of numbers costs a request nothing, whereas a count in Redis would cost it a round trip,
 * and the flood would reach Redis.
 *
 * @param perMinute requests of one token, or of one address without any
 */
export function rateLimit(perMinute: number, clock: Clock): RateLimit {
  const requests = throttle(() => clock.now(), { most: perMinute, windowMs: WINDOW_MS });
  const judge = (context: Context<Env>, { left, endsMs }: Counted): Response | undefined => {
    const seconds = Math.ceil(endsMs / 1_000);
    const headers = {
      'RateLimit-Policy': `"requests";q=${perMinute};w=${WINDOW_MS / 1_000}`,
      RateLimit: `"requests";r=${Math.max(0, left)};t=${seconds}`,
    };
    if (left < 0) {
      const detail = { expected: `at most ${perMinute} requests a minute`, next: 'Wait, or raise DOCKET_ADMIN_RATE.' };
      return problem('request.throttled', detail, { ...headers, 'Retry-After': String(seconds) });
    }
    for (const [name, value] of Object.entries(headers)) context.header(name, value);
    return undefined;
  };
  return {
    principal: (context, { name }) => judge(context, requests.count(`token ${name}`)),
    address: (context) => judge(context, requests.count(`address ${senderOf(context.get('client').address)}`)),
  };
}
