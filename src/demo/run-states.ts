import { DocketError } from '../base/error.ts';
import type { RunEvent } from '../run/run-events.ts';

type EndState = Extract<RunEvent, { type: 'finished' }>['state'];

/** The states that runs end in, in order. A run that waits for people ends several times. */
export type RunStates = ReturnType<typeof runStates>;

export function runStates(signal: AbortSignal) {
  const states = new Map<string, EndState[]>();
  const listeners = new Set<() => void>();
  return {
    record: (run: string, state: EndState): void => {
      states.set(run, [...(states.get(run) ?? []), state]);
      for (const listener of [...listeners]) listener();
    },
    /**
     * Resolves with the first wanted state of the run after the first `seen` ones, and the number of states up to it.
     * Rejects with `run.cancelled` if the demo is stopped.
     */
    next: (
      run: string,
      seen: number,
      wanted: (state: EndState) => boolean = () => true,
    ): Promise<{ readonly state: EndState; readonly seen: number }> =>
      new Promise((resolve, reject) => {
        const stop = () => {
          listeners.delete(look);
          reject(new DocketError('run.cancelled', 'The demo was cancelled.'));
        };
        const look = () => {
          const known = states.get(run) ?? [];
          const found = known.findIndex((state, index) => index >= seen && wanted(state));
          const state = known[found];
          if (state === undefined) return;
          listeners.delete(look);
          signal.removeEventListener('abort', stop);
          resolve({ state, seen: found + 1 });
        };
        if (signal.aborted) return stop();
        listeners.add(look);
        signal.addEventListener('abort', stop, { once: true });
        look();
      }),
  };
}
