/**
 * Caches the results of a slow pure function. Results are shared and must not be mutated.
 *
 * @param compute the function; its errors are not cached, and its arguments must be JSON
 * @param maxEntries how many results to keep; the oldest is evicted first
 */
export function memoize<Args extends readonly unknown[], Answer>(
  compute: (...args: Args) => Answer,
  maxEntries: number,
): (...args: Args) => Answer {
  const cache = new Map<string, Answer>();
  return (...args) => {
    const key = JSON.stringify(args);
    const cached = cache.get(key);
    if (cached !== undefined) return cached;
    const answer = compute(...args);
    cache.set(key, answer);
    const [oldest] = cache.size > maxEntries ? cache.keys() : [];
    if (oldest !== undefined) cache.delete(oldest);
    return answer;
  };
}
