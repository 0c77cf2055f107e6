/** Thrown by each step of a dead process. */
export class Dead extends Error {}

/** A process that stops before and after each call to shared storage until the test lets it continue. */
export interface SteppedProcess {
  /** Continues to the next stop. False if the process has ended. */
  advance(): Promise<boolean>;
  /** Stops the process for good. A call that it has already made keeps its effect. */
  kill(): Promise<void>;
}

/** Wraps `target` so that the process stops before and after each call. */
export type Seen = <T extends object>(target: T) => T;

export function steppedProcess(work: (seen: Seen) => Promise<void>): SteppedProcess {
  const waiting: { go: () => void; die: (error: Error) => void }[] = [];
  let busy = 0;
  let dead = false;
  let ended = false;
  let failure: unknown;
  const stop = (): Promise<void> =>
    dead ? Promise.reject(new Dead()) : new Promise((go, die) => waiting.push({ go, die }));
  const seen: Seen = (target) =>
    new Proxy(target, {
      get: (_, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return async (...args: readonly unknown[]) => {
          await stop();
          busy += 1;
          try {
            return await Reflect.apply(value, target, args);
          } finally {
            busy -= 1;
            await stop();
          }
        };
      },
    });
  work(seen)
    .catch((error: unknown) => {
      if (!(error instanceof Dead)) failure = error;
    })
    .finally(() => {
      ended = true;
    });
  const settle = async (): Promise<void> => {
    do await new Promise((resolve) => setImmediate(resolve));
    while (busy > 0 || (waiting.length === 0 && !ended));
    if (failure !== undefined) throw failure;
  };
  return {
    advance: async () => {
      await settle();
      waiting.shift()?.go();
      await settle();
      return !ended;
    },
    kill: async () => {
      await settle();
      dead = true;
      for (const { die } of waiting.splice(0)) die(new Dead());
      await settle();
    },
  };
}
