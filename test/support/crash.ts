/** Thrown when the process dies. Every later call of the process fails as well. */
export class Crash extends Error {
  override readonly name = 'Crash';
}

export interface CrashPlan {
  /** The number of the call to a guarded port at which the process dies. */
  readonly at: number;
  readonly when: 'before' | 'after';
}

/**
 * Guards ports so that the process "dies" before or after the n-th call to any of them. The effect of that call stays.
 * `calls` counts all calls, and so the plans to try.
 */
export function crashing(plan: CrashPlan | undefined): {
  guard<Port extends object>(port: Port): Port;
  calls(): readonly string[];
} {
  const calls: string[] = [];
  let dead = false;
  const die = (): never => {
    dead = true;
    throw new Crash(`at ${plan?.at} ${plan?.when}`);
  };
  return {
    calls: () => calls,
    guard: (port) =>
      new Proxy(port, {
        get: (target, name, receiver) => {
          const method: unknown = Reflect.get(target, name, receiver);
          if (typeof method !== 'function') return method;
          return async (...args: unknown[]) => {
            if (dead) throw new Crash('after death');
            const mine = calls.push(String(name)) - 1 === plan?.at;
            if (mine && plan?.when === 'before') die();
            const answer: unknown = await Reflect.apply(method, target, args);
            if (mine && plan?.when === 'after') die();
            if (dead) throw new Crash('after death');
            return answer;
          };
        },
      }),
  };
}
