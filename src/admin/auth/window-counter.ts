/** Maximum number of keys: a client with many addresses must not fill the memory. */
const MAX_KEYS = 10_000;

/** Counts by key, in fixed windows. A window starts with the first count of its key. */
export interface WindowCounter {
  count(key: string): WindowCount;
}

export interface WindowCount {
  /** Counts left in the window; negative above the limit. */
  readonly left: number;
  /** Ms until the window ends. */
  readonly endsMs: number;
}

/**
 * Counts in memory: each process limits floods on its own.
 *
 * @param now epoch ms
 */
export function createWindowCounter(
  now: () => number,
  { most, windowMs }: { readonly most: number; readonly windowMs: number },
): WindowCounter {
  const windows = new Map<string, { count: number; readonly until: number }>();
  return {
    count: (key) => {
      const open = windows.get(key);
      const window = open !== undefined && open.until > now() ? open : { count: 0, until: now() + windowMs };
      window.count += 1;
      if (window.count === 1) {
        windows.delete(key);
        if (windows.size >= MAX_KEYS) {
          const [oldest] = windows.keys();
          if (oldest !== undefined) windows.delete(oldest);
        }
        windows.set(key, window);
      }
      return { left: most - window.count, endsMs: window.until - now() };
    },
  };
}
