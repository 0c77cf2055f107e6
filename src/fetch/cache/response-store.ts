import type { OnFetchEvent } from '../fetch-events.ts';

/**
 * Keeps responses by run and call, so that a retried or resumed run spends tokens only on missing ones. Values are
 * validated JSON bodies.
 */
export interface ResponseStore {
  get(run: string, call: string): Promise<StoredResponse | undefined>;
  /** Returns false if a limit is reached and nothing was stored: a later attempt must request it again. */
  put(run: string, call: string, response: StoredResponse): Promise<boolean>;
  /** Called when the run has its files, or has ended. */
  delete(run: string): Promise<void>;
}

export interface StoredResponse {
  readonly body: unknown;
  readonly correlationId: string | null;
  /** Epoch ms at which it was received. */
  readonly at: number;
  /** The other run that requested it (`max_age`); absent if this run did. */
  readonly askedBy?: string | undefined;
}

/** Stores the responses of inline runs until the process ends. */
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

/** The responses of one attempt of a run, and how long its calls wait for tokens before they snooze. */
export interface StoreUntilFull {
  readonly responses: ResponseStore;
  /** Becomes infinite once a response could not be stored. It changes, so read it at each use. */
  readonly maxWaitMs: number;
}

/**
 * Stores the responses of an attempt until the store refuses one. That one is reported as `not_kept`, and later ones
 * are not stored. `maxWaitMs` then becomes infinite: a run that snoozed would have to request the missing responses
 * again each time.
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
        // Of several concurrent puts only one reports it.
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
