/** Thrown by each call of a dead process. */
export class Killed extends Error {}

/**
 * A process that dies at a step, or in which something else happens at a step. A step is the moment before or after a call
 * to shared storage. A dead process does nothing more.
 */
export interface ProcessLife {
  step(): Promise<void>;
  readonly isDead: () => boolean;
  /** The number of steps so far. */
  readonly steps: () => number;
}

export function processLife(at?: number, event: 'dies' | (() => Promise<void>) = 'dies'): ProcessLife {
  let steps = 0;
  let dead = false;
  return {
    isDead: () => dead,
    steps: () => steps,
    step: async () => {
      if (dead) throw new Killed('dead');
      steps += 1;
      if (steps !== at) return;
      if (event !== 'dies') return event();
      dead = true;
      throw new Killed('killed');
    },
  };
}

/** The object as the process uses it. @param nested properties that are such objects, or methods that return one */
export function seenBy<T extends object>(life: ProcessLife, target: T, nested: readonly string[] = []): T {
  return new Proxy(target, {
    get: (_, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value === 'object' && value !== null && nested.includes(String(name))) return seenBy(life, value);
      if (typeof value !== 'function') return value;
      if (nested.includes(String(name))) {
        return (...args: readonly unknown[]) => seenBy(life, Object(Reflect.apply(value, target, args)));
      }
      return async (...args: readonly unknown[]) => {
        await life.step();
        const result: unknown = await Reflect.apply(value, target, args);
        await life.step();
        return result;
      };
    },
  });
}
