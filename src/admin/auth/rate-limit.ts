import type { Context } from 'hono';
import type { Clock } from '../../base/clock.ts';
import type { Env } from '../hono-env.ts';
import { problem } from '../problem.ts';
import { addressBlock } from './client.ts';
import type { Principal } from './tokens.ts';
import { createWindowCounter, type WindowCount } from './window-counter.ts';

const WINDOW_MS = 60_000;

/** Limits requests by principal, or by address if there is no principal. */
export type RateLimit = ReturnType<typeof createRateLimit>;

/**
 * Counts in memory: a counter in Redis would cost a round trip per request, and pass a flood on to Redis.
 *
 * @param perMinute requests per token, account, or address of an unauthenticated client
 */
export function createRateLimit(perMinute: number, clock: Clock) {
  const requests = createWindowCounter(() => clock.now(), { most: perMinute, windowMs: WINDOW_MS });
  const judge = (context: Context<Env>, { left, endsMs }: WindowCount): Response | undefined => {
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
    /** Counts a request. Returns the refusal if it exceeds the limit. */
    principal: (context: Context<Env>, { subject }: Principal): Response | undefined =>
      judge(context, requests.count(`principal ${subject}`)),
    address: (context: Context<Env>): Response | undefined =>
      judge(context, requests.count(`address ${addressBlock(context.get('client').address)}`)),
  };
}
