import type { ResponseStore, StoredAnswer } from './response-store.ts';

/** Answers of an inline run: they last as long as the process. */
export function memoryStore(): ResponseStore {
  const runs = new Map<string, Map<string, StoredAnswer>>();
  return {
    get: async (run, call) => runs.get(run)?.get(call),
    put: async (run, call, answer) => {
      const answers = runs.get(run) ?? new Map<string, StoredAnswer>();
      runs.set(run, answers.set(call, answer));
      return true;
    },
    drop: async (run) => void runs.delete(run),
  };
}
