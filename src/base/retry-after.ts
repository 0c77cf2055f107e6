/** The longest wait that is believed: a larger one is a fault of who asks for it, and an hour later we ask again. */
export const MAX_RETRY_AFTER_MS = 3_600_000;

/**
 * `Retry-After` → ms to wait, at most an hour; undefined when it is missing or cannot be read.
 * It is seconds (specification §8, RFC 9110 §10.2.3) or an HTTP date, which a proxy may send: that is measured against the `Date` of the
 * same answer, because the two clocks need not agree.
 */
export function retryAfterMs(header: string | undefined, date: string | undefined, now: number): number | undefined {
  const text = header?.trim();
  if (text === undefined || text === '') return undefined;
  if (/^\d+(\.\d+)?$/.test(text)) return Math.min(Math.ceil(Number(text) * 1000), MAX_RETRY_AFTER_MS);
  // Only the HTTP form: `Date.parse` would read "-5" or "1e9" as some year.
  if (!/^[A-Z][a-z]{2,8},? /.test(text)) return undefined;
  const until = Date.parse(text);
  if (Number.isNaN(until)) return undefined;
  const told = date === undefined ? Number.NaN : Date.parse(date);
  return Math.min(Math.max(0, until - (Number.isNaN(told) ? now : told)), MAX_RETRY_AFTER_MS);
}
