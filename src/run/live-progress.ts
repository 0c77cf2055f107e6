import type { RunEvent } from './run-events.ts';
import type { RunRecord } from './run-record.ts';

/** Stages as users see them: `seal` is part of `render`. */
export const PROGRESS_STAGES = ['plan', 'fetch', 'render', 'deliver'] as const;

/**
 * Progress of an active run. Its worker reports it at most once a second. It expires a minute after the last report.
 */
export interface LiveProgress {
  readonly stage: (typeof PROGRESS_STAGES)[number];
  /** Number of answered calls, and of all calls in the plan. Both are 0 before there is a plan. */
  readonly done: number;
  readonly of: number;
  /** The key's remaining tokens after the last call; null before the first call. */
  readonly tokens: number | null;
  /** Number of calls ahead in the key's queue while the run waits for a token; otherwise null. */
  readonly ahead: number | null;
  /** When the last response is expected, epoch ms. Null if unknown, or once it was received. */
  readonly finish: number | null;
  /** When this was reported, epoch ms. */
  readonly at: number;
}

/** A run with its live progress, which is null unless a worker runs it. */
export interface RunSnapshot {
  readonly record: RunRecord;
  readonly live: LiveProgress | null;
}

/** Derives the progress of an attempt from its events. */
export interface ProgressTracker {
  /** Returns whether the progress changed. */
  observe(event: RunEvent): boolean;
  /** @param at epoch ms */
  at(at: number): LiveProgress;
}

export function progressTracker(): ProgressTracker {
  const waiting = new Map<string, number>();
  let live: Omit<LiveProgress, 'at' | 'ahead'> = { stage: 'plan', done: 0, of: 0, tokens: null, finish: null };
  const change = (part: Partial<typeof live>): true => {
    live = { ...live, ...part };
    return true;
  };
  return {
    observe: (event) => {
      switch (event.type) {
        case 'begun': {
          const stage = event.stage === 'seal' ? 'render' : event.stage;
          if (stage === live.stage) return false;
          waiting.clear();
          return change({ stage, ...(stage === 'fetch' ? {} : { finish: null }) });
        }
        case 'planned':
          return change({ of: event.calls });
        case 'waiting':
          waiting.set(event.call, event.ahead);
          return change({
            tokens: event.tokens,
            finish: live.finish === null ? null : Math.max(live.finish, event.until),
          });
        case 'granted':
          return waiting.delete(event.call);
        case 'fetched': {
          waiting.delete(event.call);
          const { done, of, finish, tokens } = event;
          return change({ done, of, finish, tokens: tokens ?? live.tokens });
        }
        default:
          return false;
      }
    },
    at: (at) => ({ ...live, ahead: waiting.size === 0 ? null : Math.min(...waiting.values()), at }),
  };
}
