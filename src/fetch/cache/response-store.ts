import type { OnFetchEvent } from '../fetch-events.ts';

/**
 * Responses by run and call, so that a retried or resumed run spends tokens only on missing ones. Values are validated
 * JSON bodies.
 */
export interface ResponseStore {
  get(run: string, call: string): Promise<StoredResponse | undefined>;
  /** False: not stored, because a limit is reached; a later attempt must request it again. */
  put(run: string, call: string, response: StoredResponse): Promise<boolean>;
  /** Called when the run has its files or has ended. */
  delete(run: string): Promise<void>;
}

export interface StoredResponse {
  readonly body: unknown;
  readonly correlationId: string | null;
  /** Epoch ms at which it was received. */
  readonly at: number;
  /** The run that requested it, if it was another one (`max_age`). */
  readonly askedBy?: string | undefined;
}

/** Responses of inline runs, for the life of the process. */
export function memoryResponseStore(): ResponseStore {
  const runs = new Map<string, Map<string, StoredResponse>>();
  return {
    get: async (run, call) => runs.get(run)?.get(call),
    put: async (run, call, response) => {
      const responses = runs.get(run) ?? new Map<string, StoredResponse>();
      runs.set(run, responses.set(call, response));
      return true;
    },
    delete: async (run) => void runs.delete(run),
  };
}

/** The responses of one attempt of a run, and how long its calls wait for tokens without snoozing. */
export interface StoreUntilFull {
  readonly responses: ResponseStore;
  /** Infinite once a response was not stored. Read it at each use: it changes. */
  readonly maxWaitMs: number;
}

/**
 * Stores the responses of an attempt until one is refused. That one is reported as `not_kept`, later ones are not stored,
 * and `maxWaitMs` becomes infinite: after a snooze the run would have to request the missing responses again and again.
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
      put: async (run, call, response) => {
        if (full) return false;
        const stored = await responses.put(run, call, response);
        // Of several concurrent puts one reports.
        if (!stored && !full) {
          full = true;
          observe({ type: 'not_kept', call });
        }
        return stored;
      },
    },
    get maxWaitMs() {
      return full ? Number.POSITIVE_INFINITY : maxWaitMs;
    },
  };
}
