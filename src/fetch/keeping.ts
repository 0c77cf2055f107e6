import type { ObserveFetch } from './event.ts';
import type { ResponseStore } from './response-store.ts';

/** The answers of one try of a run, and how long its calls wait for their tokens in place. */
export interface Keeping {
  readonly responses: ResponseStore;
  /** Without an end once an answer was not kept. Read it when it is needed: it changes. */
  readonly patienceMs: number;
}

/**
 * Keeps the answers of a try as long as there is room for them. The first one that has none is told, and none is kept
 * after it, so that those kept are the first ones. From then on the try waits for its tokens in place: it would come back
 * from a sleep without those answers, and ask for them again and again.
 */
export function keepAnswers({ responses, patienceMs, observe }: Keeping & { readonly observe: ObserveFetch }): Keeping {
  let full = false;
  return {
    responses: {
      ...responses,
      put: async (run, call, answer) => {
        if (full) return false;
        const kept = await responses.put(run, call, answer);
        // Of several that come at once, one tells.
        if (!kept && !full) {
          full = true;
          observe({ type: 'not_kept', call });
        }
        return kept;
      },
    },
    get patienceMs() {
      return full ? Number.POSITIVE_INFINITY : patienceMs;
    },
  };
}
