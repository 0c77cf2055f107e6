/** Closes resources in reverse order of opening, even if a later one failed to open. */
export interface Scope {
  /** Registers how to close `part`, and returns it. */
  use<Part>(part: Part, close: (part: Part) => unknown): Part;
  /** Registers `part.close()`, and returns it. */
  add<Part extends { close(): unknown }>(part: Part): Part;
  /**
   * Closes all parts, last opened first. If one fails, closes the others and then throws the first failure. Idempotent.
   */
  close(): Promise<void>;
}

export function createScope(): Scope {
  const closers: (() => unknown)[] = [];
  const use: Scope['use'] = (part, close) => {
    closers.push(() => close(part));
    return part;
  };
  return {
    use,
    add: (part) => use(part, (opened) => opened.close()),
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

/** Runs `work` with a scope that is closed afterwards. */
export async function withScope<T>(work: (scope: Scope) => Promise<T>): Promise<T> {
  const scope = createScope();
  try {
    return await work(scope);
  } finally {
    await scope.close();
  }
}
