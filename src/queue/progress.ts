import { type DocketError, toDocketError } from '../base/error.ts';
import type { Observe } from '../run/event.ts';
import type { RunRecord, RunStore } from '../run/record.ts';
import type { RunResult } from '../run/result.ts';
import type { RunProgress } from './stored-record.ts';

/** A run's record kept up to date by what the run says of itself. */
export interface Progress {
  readonly observe: Observe;
  /** Resolves when everything observed so far is written, or could not be. */
  settled(): Promise<void>;
  /** The counts so far, of all tries. */
  calls(): RunRecord['calls'];
}

/**
 * One write at a time, each with the latest state: a run of a thousand calls must not queue up a thousand writes.
 * A failed write is told to `failed` and made up for by the next one; what decides anything is written by the worker itself.
 */
export function recordProgress(store: RunStore, record: RunRecord, failed: (error: DocketError) => void): Progress {
  let calls = record.calls;
  const deliveries = new Map(record.deliveries.map((row) => [`${row.target} ${row.recipient}`, row]));
  let change: Partial<RunProgress> = {};
  let writing: Promise<void> | undefined;

  const write = async (): Promise<void> => {
    while (Object.keys(change).length > 0) {
      const next = change;
      change = {};
      try {
        await store.update(record.id, next);
      } catch (error) {
        failed(toDocketError(error));
      }
    }
    writing = undefined;
  };
  const put = (part: Partial<RunProgress>): void => {
    change = { ...change, ...part };
    writing ??= write();
  };

  const observe: Observe = (event) => {
    switch (event.type) {
      case 'planned':
        calls = { ...calls, planned: event.calls };
        return put({ calls });
      case 'fetched':
        calls = event.saved ? { ...calls, saved: calls.saved + 1 } : { ...calls, made: calls.made + 1 };
        return put({ calls });
      case 'delivered': {
        const { target, recipient, state, detail } = event;
        deliveries.set(`${target} ${recipient}`, { target, recipient, state, detail });
        return put({ deliveries: [...deliveries.values()] });
      }
      default:
        return;
    }
  };
  return { observe, settled: async () => writing, calls: () => calls };
}

/** The last word of a run that came to its end. */
export function resultFields(result: RunResult, calls: RunRecord['calls']): Partial<RunProgress> {
  return {
    state: result.state,
    calls,
    files: result.files.map(({ name, bytes, sha256 }) => ({ name, bytes, sha256 })),
    deliveries: result.receipts.map(({ target, recipient, state, detail }) => ({ target, recipient, state, detail })),
    error: null,
    until: null,
  };
}
