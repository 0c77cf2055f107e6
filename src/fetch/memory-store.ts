import type { ResponseStore, StoredResponse } from './response-store.ts';

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
