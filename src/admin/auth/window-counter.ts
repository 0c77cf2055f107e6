/** Keys that are remembered: whoever has many addresses must not fill the memory. */
const MAX_KEYS = 10_000;

/** Counts by key, in windows of a fixed length that begin with a key's first count. */
export interface WindowCounter {
  /** Counts one more. */
  count(key: string): WindowCount;
  /** What `count` would say without counting. */
  peek(key: string): WindowCount;
}

export interface WindowCount {
  /** How many more there may be in the window; negative when there were too many. */
  readonly left: number;
  /** Ms until the window ends. */
  readonly endsMs: number;
}

/**
 * Of one process: what it holds off is a flood, which any number of processes may each hold off by themselves.
 *
 * @param now epoch ms
 */
export function createWindowCounter(
  now: () => number,
  { most, windowMs }: { readonly most: number; readonly windowMs: number },
): WindowCounter {
  const windows = new Map<string, { count: number; readonly until: number }>();
  const open = (key: string) => {
    const window = windows.get(key);
    return window !== undefined && window.until > now() ? window : undefined;
  };
  const counted = (window: { readonly count: number; readonly until: number }): WindowCount => ({
    left: most - window.count,
    endsMs: window.until - now(),
  });
  return {
    peek: (key) => counted(open(key) ?? { count: 0, until: now() + windowMs }),
    count: (key) => {
      const window = open(key) ?? { count: 0, until: now() + windowMs };
      window.count += 1;
      if (window.count === 1) {
        windows.delete(key);
        if (windows.size >= MAX_KEYS) {
          const [oldest] = windows.keys();
          if (oldest !== undefined) windows.delete(oldest);
        }
        windows.set(key, window);
      }
      return counted(window);
    },
  };
}
