/**
 * Whatever opens, closes, in reverse. A composition registers each part's `close` as soon as the part is open; when a
 * later part fails to open, `close()` still lets go of all the earlier ones.
 */
export interface Scope {
  /** Registers how to let go of `part` and returns it. */
  use<Part>(part: Part, close: (part: Part) => unknown): Part;
  /** Closes everything, last opened first, each even when another failed; then throws the first failure. Idempotent. */
  close(): Promise<void>;
}

export function createScope(): Scope {
  const closers: (() => unknown)[] = [];
  return {
    use: (part, close) => {
      closers.push(() => close(part));
      return part;
    },
    close: async () => {
      const failures: unknown[] = [];
      for (let closer = closers.pop(); closer !== undefined; closer = closers.pop()) {
        try {
          await closer();
        } catch (failure) {
          failures.push(failure);
        }
      }
      if (failures.length > 0) throw failures[0];
    },
  };
}
