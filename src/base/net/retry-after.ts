import { HOUR_MS, SECOND_MS } from '../time.ts';

/** Longer waits count as a server error. */
export const MAX_RETRY_AFTER_MS = HOUR_MS;

/**
 * Parses `Retry-After` into ms to wait, at most an hour. Undefined when it is missing or unreadable. Accepts seconds
 * (specification §8, RFC 9110 §10.2.3), or an HTTP date, which some proxies send. A date is compared with the
 * response's own `Date`, because clocks may differ.
 */
export function parseRetryAfter(header: string | undefined, date: string | undefined, now: number): number | undefined {
  const text = header?.trim();
  if (text === undefined || text === '') return undefined;
  if (/^\d+(\.\d+)?$/.test(text)) return Math.min(Math.ceil(Number(text) * SECOND_MS), MAX_RETRY_AFTER_MS);
  // Accepts only the HTTP form of a date, because `Date.parse` would read "-5" or "1e9" as a year.
  if (!/^[A-Z][a-z]{2,8},? /.test(text)) return undefined;
  const until = Date.parse(text);
  if (Number.isNaN(until)) return undefined;
  const serverDate = date === undefined ? Number.NaN : Date.parse(date);
  return Math.min(Math.max(0, until - (Number.isNaN(serverDate) ? now : serverDate)), MAX_RETRY_AFTER_MS);
}
