import type { OnFetchEvent } from '../fetch-events.ts';

/**
 * Answers that have come, so that a retried or resumed run spends tokens only on what it lacks.
 * Keyed by run and call; values are the checked JSON bodies.
 */
export interface ResponseStore {
  get(run: string, call: string): Promise<StoredResponse | undefined>;
  /** False: there is no room for it, and a try that comes later has to ask again. */
  put(run: string, call: string, answer: StoredResponse): Promise<boolean>;
  /** The run has its files, or has ended: its answers may go. */
  delete(run: string): Promise<void>;
}

export interface StoredResponse {
  readonly body: unknown;
  readonly correlationId: string | null;
  /** Epoch ms at which it came. */
  readonly at: number;
  /** The run that asked for it, where that was another one (`max_age`). */
  readonly askedBy?: string | undefined;
}

/** Answers of an inline run: they last as long as the process. */
export function memoryResponseStore(): ResponseStore {
  const runs = new Map<string, Map<string, StoredResponse>>();
  return {
    get: async (run, call) => runs.get(run)?.get(call),
    put: async (run, call, answer) => {
      const answers = runs.get(run) ?? new Map<string, StoredResponse>();
      runs.set(run, answers.set(call, answer));
      return true;
    },
    delete: async (run) => void runs.delete(run),
  };
}

/** The answers of one try of a run, and how long its calls wait for their tokens in place. */
export interface StoreUntilFull {
  readonly responses: ResponseStore;
  /** Without an end once an answer was not kept. Read it when it is needed: it changes. */
  readonly maxWaitMs: number;
}

/**
 * Keeps the answers of a try as long as there is room for them. The first one that has none is told, and none is kept
 * after it, so that those kept are the first ones. From then on the try waits for its tokens in place: it would come back
 * from a sleep without those answers, and ask for them again and again.
 */
export function storeUntilFull({
  responses,
  maxWaitMs,
  observe,
}: StoreUntilFull & { readonly observe: OnFetchEvent }): StoreUntilFull {
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
    get maxWaitMs() {
      return full ? Number.POSITIVE_INFINITY : maxWaitMs;
    },
  };
}
