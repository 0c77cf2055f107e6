/** Keys that are remembered: whoever has many addresses must not fill the memory. */
const KEYS = 10_000;

/** Counts by key, in windows of a fixed length that begin with a key's first count. */
export interface Throttle {
  /** Counts one more. */
  count(key: string): Counted;
  /** What `count` would say without counting. */
  look(key: string): Counted;
}

export interface Counted {
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
export function throttle(
  now: () => number,
  { most, windowMs }: { readonly most: number; readonly windowMs: number },
): Throttle {
  const windows = new Map<string, { count: number; readonly until: number }>();
  const open = (key: string) => {
    const window = windows.get(key);
    return window !== undefined && window.until > now() ? window : undefined;
  };
  const counted = (window: { readonly count: number; readonly until: number }): Counted => ({
    left: most - window.count,
    endsMs: window.until - now(),
  });
  return {
    look: (key) => counted(open(key) ?? { count: 0, until: now() + windowMs }),
    count: (key) => {
      const window = open(key) ?? { count: 0, until: now() + windowMs };
      window.count += 1;
      if (window.count === 1) {
        windows.delete(key);
        if (windows.size >= KEYS) {
          const [oldest] = windows.keys();
          if (oldest !== undefined) windows.delete(oldest);
        }
        windows.set(key, window);
      }
      return counted(window);
    },
  };
}
